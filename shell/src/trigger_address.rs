//! Addresses of triggers (contract: work.md, External triggers; decisions.md, 9): `<base>/callbacks/wake/<token>`. A
//! token names an agent and a generation, signed with the key of the home, so that it can be shown again without being
//! stored. Which generation is in force, the agent knows.

use std::io;
use std::path::PathBuf;

use hmac::{Hmac, KeyInit, Mac};
use holon_facts::AgentId;
use holon_facts::ids::ExternalTriggerId;
use holon_platform::hex;
use holon_text::trigger_signature;
use sha2::Sha256;

use crate::home::Home;
use crate::home::secret::{self, SecretError};

/// The route that takes deliveries.
pub const ROUTE: &str = "/callbacks/wake/";
/// Hexadecimal digits of a key.
const DIGITS: usize = 64;

/// Where the runtime of a home is reached, and what its addresses are signed with.
#[derive(Clone)]
pub struct TriggerAddresses {
    base: String,
    key: TriggerKey,
}

/// The key of a home. Whoever has it can wake every agent.
#[derive(Clone)]
pub struct TriggerKey(Hmac<Sha256>);

/// A key that can't be used. Nothing of it is repeated.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    #[error("the key of trigger addresses {} can't be read or made: {source}", path.display())]
    Unusable { path: PathBuf, source: io::Error },
    #[error("the key of trigger addresses {} may be read by others (mode {mode:04o})", path.display())]
    OpenToOthers { path: PathBuf, mode: u32 },
    #[error("{} holds no key of trigger addresses: {DIGITS} hexadecimal digits", path.display())]
    NoKey { path: PathBuf },
}

impl TriggerAddresses {
    /// `base` is how others reach the runtime, for example `https://holon.example`.
    pub fn new(base: &str, key: TriggerKey) -> Self {
        Self { base: base.trim_end_matches('/').to_owned(), key }
    }

    /// Where this generation of an agent's trigger is reached.
    pub fn url(&self, agent: &AgentId, generation: u64) -> String {
        format!("{}{ROUTE}{}", self.base, self.key.token(agent, generation))
    }

    /// Whose address a token belongs to, and of which generation; none for what was never signed here.
    pub fn read(&self, token: &str) -> Option<(AgentId, u64)> {
        self.key.read(token)
    }
}

impl TriggerKey {
    /// The home's own; made where there is none. Only who has the home may call this.
    ///
    /// # Errors
    /// As [`TriggerKey::known`]; and where none can be made.
    pub fn of(home: &Home) -> Result<Self, KeyError> {
        if let Some(known) = Self::known(home)? {
            return Ok(known);
        }
        let path = home.trigger_key();
        let made = secret::make(&path).map(|key| Self::new(&key));
        made.map_err(|source| KeyError::Unusable { path, source })
    }

    /// The home's own, where there is one.
    ///
    /// # Errors
    /// A file that holds something else, or that others may read.
    pub fn known(home: &Home) -> Result<Option<Self>, KeyError> {
        Ok(Self::text(home)?.map(|key| Self::new(&key)))
    }

    /// The same key on all nodes that share a database, made of what they know each other by.
    pub fn of_nodes(secret: &str) -> Self {
        Self::new(&format!("trigger addresses {secret}"))
    }

    /// One that nobody has: where nothing is served, no address is made or read.
    pub fn unused() -> Self {
        Self::new("")
    }

    /// The same as it stands in its file, for the one place that keeps it out of what is shown.
    ///
    /// # Errors
    /// As [`TriggerKey::known`].
    pub fn text(home: &Home) -> Result<Option<String>, KeyError> {
        let path = home.trigger_key();
        let known = secret::known(&path, 4 * DIGITS).map_err(|error| match error {
            SecretError::Unusable(source) => KeyError::Unusable { path: path.clone(), source },
            SecretError::OpenToOthers { mode } => KeyError::OpenToOthers { path: path.clone(), mode },
        })?;
        match known {
            Some(key) if hex::read::<{ DIGITS / 2 }>(&key).is_none() => Err(KeyError::NoKey { path }),
            known => Ok(known),
        }
    }

    fn new(key: &str) -> Self {
        // It takes keys of any length.
        Self(Hmac::new_from_slice(key.as_bytes()).unwrap_or_else(|_| unreachable!("HMAC takes every key")))
    }

    fn token(&self, agent: &AgentId, generation: u64) -> String {
        let digest = self.signed(agent, generation).finalize().into_bytes();
        format!("{agent}.{generation}.{}", trigger_signature::write(&digest.into()))
    }

    fn read(&self, token: &str) -> Option<(AgentId, u64)> {
        let mut parts = token.splitn(3, '.');
        let (agent, generation) = (parts.next()?, parts.next()?);
        let digest = trigger_signature::read(parts.next()?)?;
        let (agent, number) = (AgentId::new(agent).ok()?, generation.parse().ok()?);
        // In constant time; and of all ways to write a number, only the one that was signed.
        self.signed(&agent, number).verify_slice(&digest).ok()?;
        (u64::to_string(&number) == generation).then_some((agent, number))
    }

    fn signed(&self, agent: &AgentId, generation: u64) -> Hmac<Sha256> {
        self.0.clone().chain_update(format!("{agent} {} {generation}", ExternalTriggerId::OF_AGENT))
    }
}

impl KeyError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Unusable { path, .. } => format!("ls -l {}", path.display()),
            Self::OpenToOthers { path, .. } => format!("chmod 600 {}", path.display()),
            Self::NoKey { path } => {
                format!("bring it back from a backup, or: rm {}; every address changes then", path.display())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn agent(name: &str) -> AgentId {
        AgentId::new(name).unwrap()
    }

    #[test]
    fn a_token_says_whose_it_is_and_nobody_else_can_write_one() {
        let key = TriggerKey::new("00");
        let addresses = TriggerAddresses::new("http://127.0.0.1:7878/", key);
        let url = addresses.url(&agent("main"), 2);
        let token = url.strip_prefix("http://127.0.0.1:7878/callbacks/wake/").unwrap();
        assert_eq!(addresses.read(token), Some((agent("main"), 2)));
        assert_eq!(addresses.url(&agent("main"), 2), url, "it is always the same");
        let signature = token.rsplit_once('.').unwrap().1;
        for wrong in [
            format!("other.2.{signature}"),
            format!("main.3.{signature}"),
            format!("main.02.{signature}"),
            format!("main.2.{}", signature.replacen('a', "b", 1).replacen('1', "2", 1)),
            format!("{token}0"),
            "main.2".to_owned(),
            String::new(),
        ] {
            assert_eq!(addresses.read(&wrong), None, "{wrong}");
        }
        assert_eq!(TriggerKey::new("01").read(token), None, "a home has its own key");
    }

    #[test]
    fn a_home_keeps_its_key() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        let token = TriggerKey::of(&home).unwrap().token(&agent("main"), 1);
        assert_eq!(TriggerKey::of(&home).unwrap().token(&agent("main"), 1), token);
        let path = home.trigger_key();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        assert!(matches!(TriggerKey::of(&home), Err(KeyError::OpenToOthers { .. })));
        fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        fs::write(&path, "canary").unwrap();
        let error = TriggerKey::of(&home).err().unwrap();
        assert!(error.hint().contains("backup") && !error.to_string().contains("canary"), "{error}");
    }
}
