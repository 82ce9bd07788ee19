//! Where and how tools run, as the model and the operator are notified (contract: decisions.md, 25): what is said to be
//! enforced the performer has found to be.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::workspace::ExecutionBinding;

names! {
    /// How far commands are trusted.
    #[derive(Default)]
    ExecutionProfile {
        /// As far as the user that the runtime runs as.
        #[default]
        HostLocal "host_local",
        /// They may write below some folders only.
        Confined "confined",
    }
}

names! {
    /// How much of a boundary is enforced against a command.
    Enforcement { NotEnforced "not_enforced", Partly "partly_enforced", Enforced "enforced" }
}

/// The boundaries around commands. It claims what the kernel does, and no more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionPolicy {
    /// That they read nothing outside of the execution root.
    pub paths: Enforcement,
    /// That they change files below `writable` only.
    pub writes: Enforcement,
    /// That they reach no server.
    pub network: Enforcement,
    /// That they don't see what the runtime's user could.
    pub secrets: Enforcement,
    /// That processes of others are safe from them, and that what they start is held back as they are.
    pub child_processes: Enforcement,
    /// Folders below which they may write; empty where nothing is enforced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writable: Vec<String>,
    /// What commands can do all the same, in words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gaps: Vec<String>,
}

impl ExecutionPolicy {
    /// Of `host_local`.
    pub const NONE: Self = Self {
        paths: Enforcement::NotEnforced,
        writes: Enforcement::NotEnforced,
        network: Enforcement::NotEnforced,
        secrets: Enforcement::NotEnforced,
        child_processes: Enforcement::NotEnforced,
        writable: Vec::new(),
        gaps: Vec::new(),
    };

    fn is_none(&self) -> bool {
        *self == Self::NONE
    }
}

impl Default for ExecutionPolicy {
    fn default() -> Self {
        Self::NONE
    }
}

/// What git has checked out where commands begin, as its files show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "head", rename_all = "snake_case")]
pub enum GitHead {
    NoRepository,
    Branch {
        name: String,
    },
    Detached {
        /// The beginning of its id.
        commit: String,
    },
}

impl fmt::Display for GitHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRepository => f.write_str("no repository"),
            Self::Branch { name } => write!(f, "on branch {name}"),
            Self::Detached { commit } => write!(f, "detached at {commit}"),
        }
    }
}

/// How the files of a working tree stand to its last commit, as git counts them; an untracked folder counts once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum WorkTree {
    /// No file differs.
    Clean,
    Changed {
        files: u64,
    },
    /// Git gave no number.
    Unknown {
        reason: WorkTreeUnknown,
    },
}

names! {
    /// Why git did not count.
    WorkTreeUnknown { NoGit "no_git", Slow "slow", Refused "refused" }
}

impl fmt::Display for WorkTree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = match self {
            Self::Clean => return f.write_str("no changed files"),
            Self::Changed { files: 1 } => return f.write_str("1 changed file"),
            Self::Changed { files } => return write!(f, "{files} changed files"),
            Self::Unknown { reason: WorkTreeUnknown::NoGit } => "git is not installed",
            Self::Unknown { reason: WorkTreeUnknown::Slow } => "git took too long to count",
            Self::Unknown { reason: WorkTreeUnknown::Refused } => "git refused to count",
        };
        write!(f, "changed files are not known: {why}")
    }
}

/// Where tools run, as the model is shown.
#[omit_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExecutionSnapshot {
    pub binding: ExecutionBinding,
    #[serde(default, skip_serializing_if = "crate::is_default")]
    pub profile: ExecutionProfile,
    #[serde(default, skip_serializing_if = "ExecutionPolicy::is_none")]
    pub policy: ExecutionPolicy,
    pub agent_home: String,
    pub platform: String,
    pub shell: String,
    /// Names of the variables that an operator chose for commands, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
    /// Whether commands find the address of the agent's trigger while there is one.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub external_trigger: bool,
    /// Where its files can be read. Earlier builds left it out.
    pub git: Option<GitHead>,
    /// Counted where an episode began with it, and the workspace is trusted. Earlier builds did not count.
    pub work_tree: Option<WorkTree>,
    /// Programs that commands find, of those that are looked for, in their order. Earlier builds left them out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub programs: Vec<String>,
}

/// Names of variables that the prompt shows.
const SHOWN_VARIABLES: usize = 64;

impl ExecutionSnapshot {
    /// With nothing enforced.
    pub fn host_local(
        binding: ExecutionBinding,
        agent_home: impl Into<String>,
        platform: impl Into<String>,
        shell: impl Into<String>,
    ) -> Self {
        Self {
            binding,
            profile: ExecutionProfile::HostLocal,
            policy: ExecutionPolicy::NONE,
            agent_home: agent_home.into(),
            platform: platform.into(),
            shell: shell.into(),
            variables: Vec::new(),
            external_trigger: false,
            git: None,
            work_tree: None,
            programs: Vec::new(),
        }
    }

    /// Whether the same holds for commands: they themselves change what is checked out and its files, and that lasts no
    /// longer than the next of them.
    pub fn holds_like(&self, other: &Self) -> bool {
        let Self {
            binding,
            profile,
            policy,
            agent_home,
            platform,
            shell,
            variables,
            external_trigger,
            git: _,
            work_tree: _,
            programs,
        } = self;
        *binding == other.binding
            && *profile == other.profile
            && *policy == other.policy
            && *agent_home == other.agent_home
            && *platform == other.platform
            && *shell == other.shell
            && *variables == other.variables
            && *external_trigger == other.external_trigger
            && *programs == other.programs
    }

    /// Of the boundaries, for the model.
    pub fn boundaries(&self) -> String {
        let around = self.around_commands();
        if self.variables.is_empty() {
            return around;
        }
        let named = self.variables.iter().take(SHOWN_VARIABLES).map(String::as_str).collect::<Vec<_>>();
        let others = self.variables.len() - named.len();
        let others = if others > 0 { format!(" and {others} more") } else { String::new() };
        format!(
            "{around}\nCommands also find these variables, by their operator's choice: {}{others}",
            named.join(", ")
        )
    }

    fn around_commands(&self) -> String {
        let ExecutionPolicy { paths, writes, network, secrets, child_processes, .. } = &self.policy;
        match self.profile {
            ExecutionProfile::HostLocal => {
                "Execution profile: host_local (paths, network and processes are not_enforced)".into()
            }
            ExecutionProfile::Confined => format!(
                "Execution profile: confined (writes {writes}, network {network}, child processes {child_processes}, paths \
                 {paths}, secrets {secrets})\nCommands and patches can write only below: {}",
                self.policy.writable.join(", ")
            ),
        }
    }
}
