//! What is wrong with a configuration, and what to do about it.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

use super::origin::Origin;
use super::source::SourceError;

/// One thing that is wrong with one value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    pub origin: Origin,
    pub key: String,
    pub what: String,
    /// The command that helps.
    pub remedy: String,
}

/// A configuration that can't be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error(transparent)]
    Source(#[from] SourceError),
    #[error("{first}{}", others(*more))]
    Invalid { first: Problem, more: usize },
    #[error("{} may be read by others (mode {mode:04o}), but holds keys", path.display())]
    OpenToOthers { path: PathBuf, mode: u32 },
    #[error(
        "no model is configured: {} HOLON_MODEL, model.default in {}, or --model of `run`, for example {}; \
             `holon demo` needs none", missing(own_server.as_ref()), path.display(), example(own_server.as_ref())
    )]
    NoModel {
        path: PathBuf,
        /// A key is there, but not for a server of which a default model is known.
        own_server: Option<OwnServer>,
    },
}

/// A provider with a key whose server is another than the provider's own: which models it has, nobody knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnServer {
    pub provider: String,
    /// Where the key comes from.
    pub key: String,
}

fn missing(own_server: Option<&OwnServer>) -> String {
    match own_server {
        Some(OwnServer { provider, key }) => format!(
            "{key} is set, but the base URL of {provider} is not the public one, so there is no default; \
             name a model of that server with"
        ),
        None => "set OPENAI_API_KEY or ANTHROPIC_API_KEY, or name a model with".to_owned(),
    }
}

fn example(own_server: Option<&OwnServer>) -> String {
    own_server
        .map_or_else(|| "local/qwen3".to_owned(), |OwnServer { provider, .. }| format!("{provider}/qwen3"))
}

impl SettingsError {
    /// The first of the problems, if there is one.
    pub(super) fn first(problems: Vec<Problem>) -> Result<(), Self> {
        let more = problems.len().saturating_sub(1);
        match problems.into_iter().next() {
            Some(first) => Err(Self::Invalid { first, more }),
            None => Ok(()),
        }
    }

    /// The next command to try.
    pub fn hint(&self) -> String {
        match self {
            Self::Source(_) => "holon config doctor".to_owned(),
            Self::Invalid { first, .. } => first.remedy.clone(),
            Self::OpenToOthers { path, .. } => format!("chmod 600 {}", quoted(&path.display().to_string())),
            Self::NoModel { .. } => "holon init".to_owned(),
        }
    }
}

impl Problem {
    /// The same complaint, wherever it stands by now.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.key == other.key && self.what == other.what
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Default => {}
            Origin::Key { .. } | Origin::File { .. } | Origin::Environment { .. } | Origin::Flag { .. } => {
                write!(f, "{}: ", self.origin)?;
            }
        }
        write!(f, "{}: {}", self.key, self.what)
    }
}

impl std::error::Error for Problem {}

fn others(more: usize) -> String {
    match more {
        0 => String::new(),
        1 => "; and one more problem".to_owned(),
        more => format!("; and {more} more problems"),
    }
}

/// A word for a shell.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
