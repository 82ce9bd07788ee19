//! The control token: whoever has it may do everything.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::settings::Environment;

/// The variable that holds the token.
pub const VARIABLE: &str = "HOLON_CONTROL_TOKEN";
/// Shortest token: a shorter one could neither be kept secret nor be redacted.
const LEAST: usize = 16;
/// Longest token; it travels in a header.
const MOST: usize = 512;

/// A control token. It is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// A token that can't be used. Nothing of it is repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    #[error("the control token of {origin} must be {LEAST} to {MOST} visible ASCII characters")]
    Unfit { origin: String },
    #[error("the token file {} can't be read: {problem}", path.display())]
    Unreadable { path: PathBuf, problem: String },
    #[error("the token file {} may be read by others (mode {mode:04o}): chmod 600 makes it private", path.display())]
    OpenToOthers { path: PathBuf, mode: u32 },
}

impl Token {
    /// A token from a flag or a variable.
    ///
    /// # Errors
    /// What is too short, too long, or could not stand in a header.
    pub fn new(origin: &str, text: &str) -> Result<Self, TokenError> {
        let text = text.trim();
        let fits = (LEAST..=MOST).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if !fits {
            return Err(TokenError::Unfit { origin: origin.to_owned() });
        }
        Ok(Self(text.to_owned()))
    }

    /// The token in a file: all of it, without the space around it.
    ///
    /// # Errors
    /// Also a file that others may read.
    pub fn read(path: &Path) -> Result<Self, TokenError> {
        let unreadable = |error: std::io::Error| TokenError::Unreadable {
            path: path.to_owned(),
            problem: error.to_string(),
        };
        let file = File::open(path).map_err(unreadable)?;
        let mode = file.metadata().map_err(unreadable)?.permissions().mode() & 0o7777;
        if mode & 0o077 != 0 {
            return Err(TokenError::OpenToOthers { path: path.to_owned(), mode });
        }
        let mut text = String::new();
        file.take(4 * MOST as u64).read_to_string(&mut text).map_err(unreadable)?;
        Self::new(&path.display().to_string(), &text)
    }

    /// The token that is configured: flag over variable over file.
    ///
    /// # Errors
    /// The one that counts can't be used.
    pub fn find(
        flag: Option<&str>,
        environment: &Environment,
        file: Option<&Path>,
    ) -> Result<Option<Self>, TokenError> {
        match (flag, environment.get(VARIABLE), file) {
            (Some(flag), _, _) => Self::new("--token", flag).map(Some),
            (None, Some(variable), _) => Self::new(VARIABLE, variable).map(Some),
            (None, None, Some(file)) => Self::read(file).map(Some),
            (None, None, None) => Ok(None),
        }
    }

    /// The token itself, for the one place that compares or sends it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_taken_from_where_it_counts_most() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        std::fs::write(&file, "  canary-of-the-file-0\n").unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        let variable = Environment::new([(VARIABLE.to_owned(), "canary-of-the-variable".to_owned())]);
        let find = |flag, environment: &Environment| {
            Token::find(flag, environment, Some(&file)).unwrap().unwrap().expose().to_owned()
        };
        assert_eq!(find(Some("canary-of-the-flag"), &variable), "canary-of-the-flag");
        assert_eq!(find(None, &variable), "canary-of-the-variable");
        assert_eq!(find(None, &Environment::default()), "canary-of-the-file-0");
        assert_eq!(Token::find(None, &Environment::default(), None), Ok(None));
    }

    #[test]
    fn what_is_no_token_is_refused_without_repeating_it() {
        for wrong in ["canary-short", "", "canary with spaces in it", "canary-ä-0123456789", &"c".repeat(513)]
        {
            let error = Token::new("--token", wrong).unwrap_err();
            assert_eq!(error, TokenError::Unfit { origin: "--token".into() });
            assert!(!error.to_string().contains("canary"));
        }
        let shown = format!("{:?}", Token::new("--token", "canary-0123456789").unwrap());
        assert!(!shown.contains("canary"), "{shown}");
    }

    #[test]
    fn a_file_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("token");
        assert!(matches!(Token::read(&file), Err(TokenError::Unreadable { .. })));
        std::fs::write(&file, "canary-0123456789").unwrap();
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o640)).unwrap();
        assert!(matches!(Token::read(&file), Err(TokenError::OpenToOthers { mode: 0o640, .. })));
    }
}
