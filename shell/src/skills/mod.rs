//! Skills on the disk: where they are looked for, what their `SKILL.md` says, and which of them an agent is offered
//! (contract: context.md, Skills). What becomes of the catalogue, the core decides.

mod catalogue;
mod front_matter;
mod given;
pub mod install;
mod named;
mod roots;
mod scan;

use std::path::Path;

use holon_platform::Environment;
use holon_supervise::confine::Readable;

pub use catalogue::{Found, Listing, Standing, find};
pub use given::{GiveError, may_name};
pub(crate) use named::named;
pub use roots::{Place, Roots};
pub use scan::{Cache, Manifest};

/// Where a runtime looks for skills beside the homes of its agents, and what it has read.
#[derive(Debug, Clone, Default)]
pub struct Skills {
    /// What git and its like are given.
    pub environment: Environment,
    /// What `https://github.com` stands for.
    pub github_url: String,
    /// Folders of the user.
    pub user: Option<Roots>,
    pub cache: Cache,
}

impl Skills {
    /// What there is for an agent: the user's skills are for the default agent alone, and those of a workspace that no
    /// operator trusts are not offered. Links are followed to what the agent could read itself.
    pub fn find(
        &self,
        agent_home: &Path,
        anchor: &Path,
        (user_skills, untrusted): (bool, bool),
        readable: &Readable,
    ) -> Listing {
        let user = self.user.as_ref().filter(|_| user_skills);
        find(Place { agent_home, anchor, user, untrusted, readable }, &self.cache)
    }
}
