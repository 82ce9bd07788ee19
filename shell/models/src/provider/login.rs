//! The login of the `codex` program, which is read and never written: whoever renewed it here would end it there.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use holon_facts::Wall;
use serde_json::Value;

/// Most bytes of the file.
const FILE_BYTES: u64 = 256 << 10;
const CLAIMS: &str = "https://api.openai.com/auth";

/// What requests show.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Login {
    pub(crate) token: String,
    pub(crate) account: Option<String>,
    expires: Option<Wall>,
}

impl Login {
    /// Reads the file as it is now.
    ///
    /// # Errors
    /// What is wrong with it, and what mends that: nothing of its contents.
    pub(crate) fn read(path: &Path, now: Wall) -> Result<Self, String> {
        let mend = |problem: &str| format!("the login in {} {problem}; run `codex login`", path.display());
        let mut text = String::new();
        let file = File::open(path).map_err(|error| {
            let missing = error.kind() == ErrorKind::NotFound;
            if missing { mend("is not there") } else { mend(&format!("can't be read ({})", error.kind())) }
        })?;
        if !file.metadata().is_ok_and(|about| about.is_file()) {
            return Err(mend("is not a file"));
        }
        file.take(FILE_BYTES).read_to_string(&mut text).map_err(|_| mend("is not text"))?;
        let root: Value = serde_json::from_str(&text).map_err(|_| mend("is not JSON"))?;
        let login = Self::of(&root).ok_or_else(|| mend("has no tokens.access_token"))?;
        match login.expires {
            Some(expires) if expires <= now => Err(mend("has expired")),
            Some(_) | None => Ok(login),
        }
    }

    fn of(root: &Value) -> Option<Self> {
        let text = |path: &str| root.pointer(path).and_then(Value::as_str).filter(|text| !text.is_empty());
        let token = text("/tokens/access_token")?.to_owned();
        let claims = claims_of(&token);
        let identity = text("/tokens/id_token").and_then(claims_of);
        let account_of = |claims: &Value| {
            let account = claims.get(CLAIMS)?.get("chatgpt_account_id")?.as_str()?;
            Some(account.to_owned())
        };
        let account = text("/tokens/account_id").map(ToOwned::to_owned);
        let account = account.or_else(|| account_of(claims.as_ref()?)).or_else(|| account_of(&identity?));
        let expires = claims.as_ref().and_then(|claims| claims.get("exp")?.as_i64());
        Some(Self { token, account, expires: expires.map(|seconds| Wall(seconds.saturating_mul(1_000_000))) })
    }
}

/// The logins that were refused last, by provider; none where there was none that could be shown.
#[derive(Default)]
pub(crate) struct RefusedLogins(Mutex<BTreeMap<String, Option<Login>>>);

impl RefusedLogins {
    pub(crate) fn note(&self, provider: &str, login: Option<Login>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(provider.to_owned(), login);
    }

    /// Whether a login is another one than was refused.
    pub(crate) fn is_other(&self, provider: &str, login: &Login) -> bool {
        let refused = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        refused.get(provider).is_none_or(|refused| refused.as_ref() != Some(login))
    }
}

/// What a JSON web token claims; who signed it is the server's business.
fn claims_of(token: &str) -> Option<Value> {
    let payload = token.split('.').nth(1)?;
    holon_facts::json::read(&URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NOW: Wall = Wall(1_000_000_000);

    fn token(claims: &Value) -> String {
        format!("canary.{}.x", URL_SAFE_NO_PAD.encode(claims.to_string()))
    }

    #[test]
    fn a_login_has_a_token_and_an_account() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("auth.json");
        let read = |root: &Value| {
            std::fs::write(&path, root.to_string()).unwrap();
            Login::read(&path, NOW)
        };
        let good = token(&json!({"exp": 2_000, CLAIMS: {"chatgpt_account_id": "acc"}}));
        let login = read(&json!({"tokens": {"access_token": good}})).ok().unwrap();
        assert_eq!((login.token, login.account.as_deref()), (good, Some("acc")));
        let own = json!({"tokens": {"access_token": "opaque", "account_id": "mine"}});
        assert_eq!(read(&own).ok().unwrap().account.as_deref(), Some("mine"));
        let late = token(&json!({"exp": 1_000}));
        for (root, problem) in [
            (json!({"tokens": {"access_token": late}}), "has expired"),
            (json!({"OPENAI_API_KEY": "canary"}), "has no tokens.access_token"),
            (json!({"tokens": {"access_token": 7}}), "has no tokens.access_token"),
            (json!("canary"), "has no tokens.access_token"),
        ] {
            let error = read(&root).err().unwrap();
            assert!(error.contains(problem) && error.ends_with("run `codex login`"), "{error}");
            assert!(error.contains("auth.json") && !error.contains("canary"), "{error}");
        }
        std::fs::write(&path, "canary").unwrap();
        assert!(Login::read(&path, NOW).err().unwrap().contains("is not JSON"));
        let missing = Login::read(&folder.path().join("none"), NOW).err().unwrap();
        assert!(missing.contains("is not there"), "{missing}");
        assert!(Login::read(folder.path(), NOW).err().unwrap().contains("is not a file"));
    }
}
