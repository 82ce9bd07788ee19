//! Addresses of triggers (contract: work.md, External triggers; decisions.md, 9): `<base>/callbacks/wake/<token>`. A
//! token names an agent and a generation, signed with the key of the home, so that it can be shown again without being
//! stored. Which generation is in force, the agent knows.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use hmac::{Hmac, KeyInit, Mac};
use holon_core::AgentId;
use holon_core::ids::ExternalTriggerId;
use sha2::Sha256;

use crate::home::Home;
use crate::{entropy, hex, seal};

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
        let made = entropy::key().and_then(|key| make(&path, &key).map(|()| Self::new(&key)));
        made.map_err(|source| KeyError::Unusable { path, source })
    }

    /// The home's own, where there is one.
    ///
    /// # Errors
    /// A file that holds something else, or that others may read.
    pub fn known(home: &Home) -> Result<Option<Self>, KeyError> {
        let path = home.trigger_key();
        let unusable = |source| KeyError::Unusable { path: path.clone(), source };
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(unusable(error)),
        };
        let mode = file.metadata().map_err(unusable)?.permissions().mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(KeyError::OpenToOthers { path, mode });
        }
        let mut text = String::new();
        file.take(4 * DIGITS as u64).read_to_string(&mut text).map_err(unusable)?;
        let key = text.trim();
        match hex::read::<{ DIGITS / 2 }>(key) {
            Some(_) => Ok(Some(Self::new(key))),
            None => Err(KeyError::NoKey { path }),
        }
    }

    fn new(key: &str) -> Self {
        // It takes keys of any length.
        Self(Hmac::new_from_slice(key.as_bytes()).unwrap_or_else(|_| unreachable!("HMAC takes every key")))
    }

    fn token(&self, agent: &AgentId, generation: u64) -> String {
        let digest = self.signed(agent, generation).finalize().into_bytes();
        format!("{agent}.{generation}.{}", seal::seal(&digest.into()))
    }

    fn read(&self, token: &str) -> Option<(AgentId, u64)> {
        let mut parts = token.splitn(3, '.');
        let (agent, generation) = (parts.next()?, parts.next()?);
        let digest = seal::unseal(parts.next()?)?;
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

/// Whole and on the disk, or not there: addresses that were given away have to stay what they are.
fn make(path: &Path, key: &str) -> io::Result<()> {
    let draft = path.with_extension("key.draft");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(key.as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

#[cfg(test)]
mod tests {
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
