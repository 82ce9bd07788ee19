//! The control token: whoever has it may do everything.

use std::fmt;
use std::path::{Path, PathBuf};

use holon_platform::Environment;

use crate::home::Home;
use crate::home::secret::{self, SecretError};

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
    #[error("the token file {} can't be read or made: {problem}", path.display())]
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
        let unreadable = |problem: &dyn fmt::Display| TokenError::Unreadable {
            path: path.to_owned(),
            problem: problem.to_string(),
        };
        let known = secret::known(path, 4 * MOST).map_err(|error| match error {
            SecretError::Unusable(error) => unreadable(&error),
            SecretError::OpenToOthers { mode } => TokenError::OpenToOthers { path: path.to_owned(), mode },
        })?;
        let text = known.ok_or_else(|| unreadable(&"there is no such file"))?;
        Self::new(&path.display().to_string(), &text)
    }

    /// The one that a home has of its own; none where no runtime of it was ever started.
    ///
    /// # Errors
    /// As [`Token::read`].
    pub fn known(home: &Home) -> Result<Option<Self>, TokenError> {
        let path = home.control_token();
        if path.symlink_metadata().is_err() { Ok(None) } else { Self::read(&path).map(Some) }
    }

    /// The same, made where there is none. Only who has the home may call this.
    ///
    /// # Errors
    /// As [`Token::read`]; and where none can be made.
    pub fn of(home: &Home) -> Result<Self, TokenError> {
        if let Some(known) = Self::known(home)? {
            return Ok(known);
        }
        let path = home.control_token();
        let made = secret::make(&path);
        made.map(Self).map_err(|error| TokenError::Unreadable { path, problem: error.to_string() })
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

impl TokenError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Unfit { .. } => "openssl rand -hex 32 makes one".to_owned(),
            Self::Unreadable { path, .. } => format!("ls -l {}", path.display()),
            Self::OpenToOthers { path, .. } => format!("chmod 600 {}", path.display()),
        }
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

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
    fn a_home_makes_its_token_once() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        assert_eq!(Token::known(&home), Ok(None));
        let token = Token::of(&home).unwrap();
        assert_eq!(Token::of(&home), Ok(token.clone()));
        assert_eq!((Token::known(&home), token.expose().len()), (Ok(Some(token)), 64));
        let mode = std::fs::metadata(home.control_token()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
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
