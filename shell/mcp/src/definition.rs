//! A server as its owner describes it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use holon_facts::{ContentId, Millis};
use holon_text::hash;
use serde::Serialize;

use crate::proposal::Proposal;

/// Everything that decides what is started or reached, and how long it is waited for.
#[derive(Clone, PartialEq, Eq, Serialize)]
pub struct Definition {
    /// `[a-z0-9][a-z0-9-]{0,31}`; of one that a workspace proposes, [`Proposal::id`].
    pub name: String,
    /// Where a workspace proposes it: it starts only as long as that is approved.
    pub proposal: Option<Proposal>,
    pub reach: Reach,
    pub revision: Revision,
    /// From the start of the program, or of the connection, to the list of tools.
    pub start_timeout: Millis,
    pub call_timeout: Millis,
    /// A program that nobody has called for so long is ended.
    pub idle: Millis,
    /// Each agent has a process, or a connection, of its own.
    pub per_agent: bool,
    /// What it asks of its user during a call is passed on with the result, instead of being refused unseen.
    pub passes_on: bool,
    /// The tools that are offered, by the server's own names; none where all are.
    pub tools: Option<Vec<String>>,
}

/// How a server is reached.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reach {
    /// A program of this machine, over its standard input and output.
    Program {
        command: String,
        args: Vec<String>,
        /// Its whole environment.
        environment: BTreeMap<String, String>,
        folder: PathBuf,
    },
    /// Over HTTP.
    Address { url: String, headers: BTreeMap<String, String> },
    /// It is described in a way that can't be used, for this reason.
    Nowhere { problem: String },
}

/// Which revision of the protocol is spoken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub enum Revision {
    /// The newest that both know.
    #[default]
    #[serde(rename = "auto")]
    Newest,
    #[serde(rename = "2026-07-28")]
    V20260728,
    #[serde(rename = "2025-11-25")]
    V20251125,
    #[serde(rename = "2025-06-18")]
    V20250618,
}

impl Revision {
    /// As the configuration names them.
    pub const WORDS: &'static [&'static str] = &["auto", "2026-07-28", "2025-11-25", "2025-06-18"];

    pub const ALL: [Self; 4] = [Self::Newest, Self::V20260728, Self::V20251125, Self::V20250618];

    pub fn name(self) -> &'static str {
        match self {
            Self::Newest => "auto",
            Self::V20260728 => "2026-07-28",
            Self::V20251125 => "2025-11-25",
            Self::V20250618 => "2025-06-18",
        }
    }
}

impl Definition {
    /// Stands for all of it: of two that differ in anything the digests differ.
    pub fn digest(&self) -> ContentId {
        // A map with other keys than texts is the one thing that could not be written.
        hash(serde_json::to_string(self).unwrap_or_default().as_bytes())
    }

    /// The same without what a program gets of the runtime's own variables: another terminal makes no other server.
    pub(crate) fn digest_of_own(&self, inherited: &BTreeMap<String, String>) -> ContentId {
        let mut own = self.clone();
        if let Reach::Program { environment, .. } = &mut own.reach {
            environment.retain(|name, value| inherited.get(name) != Some(value));
        }
        own.digest()
    }
}

#[cfg(test)]
impl Definition {
    /// A server of tests.
    pub(crate) fn example(name: &str, reach: Reach) -> Self {
        Self {
            name: name.into(),
            proposal: None,
            reach,
            revision: Revision::Newest,
            start_timeout: Millis::seconds(30),
            call_timeout: Millis::seconds(60),
            idle: Millis::minutes(10),
            per_agent: false,
            passes_on: false,
            tools: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_changed_changes_the_digest() {
        let program = |command: &str, variables: &[(&str, &str)]| {
            let environment =
                variables.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
            let (command, args, folder) = (command.into(), Vec::new(), "/".into());
            Definition::example("files", Reach::Program { command, args, environment, folder })
        };
        let inherited = |terminal: &str| BTreeMap::from([("TERM".to_owned(), terminal.to_owned())]);
        let digest = |one: &Definition| one.digest_of_own(&inherited("xterm"));
        let one = program("a", &[("KEY", "1"), ("TERM", "xterm")]);
        assert_eq!(one.digest(), program("a", &[("KEY", "1"), ("TERM", "xterm")]).digest());
        assert_eq!(digest(&one), digest(&program("a", &[("KEY", "1"), ("TERM", "xterm")])));
        let elsewhere = program("a", &[("KEY", "1"), ("TERM", "dumb")]);
        assert_eq!(digest(&one), elsewhere.digest_of_own(&inherited("dumb")));
        for other in [
            program("b", &[("KEY", "1"), ("TERM", "xterm")]),
            program("a", &[("KEY", "2"), ("TERM", "xterm")]),
            // Its owner gives it another one.
            elsewhere,
            Definition { tools: Some(Vec::new()), ..one.clone() },
        ] {
            assert!(one.digest() != other.digest() && digest(&one) != digest(&other));
        }
    }
}
