//! Where a value comes from.

use std::fmt;
use std::path::{Path, PathBuf};

use holon_platform::Environment;
use serde::Serialize;

/// Where a value comes from, strongest last.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Origin {
    Default,
    /// The default of whoever has this key: a variable, or the name of a credential.
    Key {
        key: String,
    },
    File {
        path: PathBuf,
        line: usize,
    },
    Environment {
        variable: String,
    },
    Flag {
        flag: String,
    },
}

impl Origin {
    /// Where the home that [`Home::find`](crate::home::Home::find) finds is named.
    pub fn of_home(flag: Option<&Path>, environment: &Environment) -> Self {
        match (flag, environment.get("HOLON_HOME")) {
            (Some(_), _) => Self::Flag { flag: "--home".to_owned() },
            (None, Some(_)) => Self::variable("HOLON_HOME"),
            (None, None) => Self::Default,
        }
    }

    pub(crate) fn variable(name: &str) -> Self {
        Self::Environment { variable: name.to_owned() }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::Key { key } => write!(f, "default for {key}"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Environment { variable } => write!(f, "environment variable {variable}"),
            Self::Flag { flag } => write!(f, "flag {flag}"),
        }
    }
}
