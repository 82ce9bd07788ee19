//! Templates: a folder with standing instructions and skills that a new agent begins with (contract: context.md, Templates
//! and agent home). A template is taken into the home of the runtime before the agent is on record, under the hash of
//! its files; the agent's own home is made from that copy, as often as that takes.

mod apply;
mod built_in;
mod content;
mod seed;
mod selector;
mod store;

use std::io;
use std::path::{Path, PathBuf};

use holon_facts::ids::TemplateId;
use holon_facts::template::TemplateOrigin;
use holon_platform::Environment;
use holon_text::nearest::did_you_mean;

pub use self::apply::{instructions_of_default, make_home};
pub use self::content::Template;
pub use self::seed::{Seeded, seed};
pub use self::selector::Selector;
pub use self::store::Draft;
use crate::home::{Home, HomeError};
use crate::skills::install::InstallError;

/// Templates that a list shows.
const LISTED: usize = 256;

/// A template that can't be used. Nothing was made.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    #[error("{got:?} names no template: give the id of one, an absolute folder, or its address on GitHub")]
    NoSelector { got: String },
    #[error("there is no template {id}{near}")]
    Unknown { id: TemplateId, near: String },
    #[error("{}: {problem}", path.display())]
    Invalid { path: PathBuf, problem: String },
    #[error("{} can't be read or written: {problem}", path.display())]
    Unusable { path: PathBuf, problem: io::Error },
    /// It, or a part of it, can't be fetched.
    #[error("{what}: {}", worded(problem))]
    Fetch { what: String, problem: InstallError },
    #[error("{what} would have to be fetched, which only an operator can ask for")]
    Remote { what: String },
    #[error(transparent)]
    Home(#[from] HomeError),
}

/// What keeps something from being fetched, where it need not be a skill.
fn worded(problem: &InstallError) -> String {
    if let InstallError::Source { problem, .. } = problem { problem.clone() } else { problem.to_string() }
}

impl TemplateError {
    /// What to do about a part that can't be fetched.
    pub fn fetch_hint(problem: &InstallError) -> &'static str {
        match problem {
            InstallError::Source { .. } => {
                "name a folder that is there, or https://github.com/OWNER/REPO/tree/REF/PATH"
            }
            InstallError::Unreachable { .. } => {
                "nobody is asked for a password: fetch a private repository yourself, and name its folder"
            }
            InstallError::Slow { .. } => "try again, or fetch the repository yourself and name its folder",
            InstallError::Exists { .. } => "name each skill once in skills.json",
            InstallError::Missing { .. } => "name a folder that is there",
            InstallError::Invalid { .. }
            | InstallError::Unknown { .. }
            | InstallError::Unmanaged { .. }
            | InstallError::Modified { .. } => "correct it where it comes from, then try again",
            InstallError::File { .. } => "check the file and its permissions",
        }
    }
}

/// How far whoever asks for a template may reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// An operator: repositories of others are fetched.
    Everywhere,
    /// An agent: nothing is fetched for it.
    ThisMachine,
}

/// Where templates are: those of the user by id, and copies of those that agents were made from.
#[derive(Debug, Clone)]
pub struct Templates {
    folder: Option<PathBuf>,
    store: PathBuf,
    environment: Environment,
    github_url: String,
}

/// A template with its name.
#[derive(Debug, Clone)]
pub struct Found {
    pub template: Template,
    pub origin: TemplateOrigin,
    /// None for one of this build.
    pub path: Option<PathBuf>,
}

/// A line of the list.
#[derive(Debug)]
pub struct Listed {
    pub id: TemplateId,
    pub found: Result<Found, TemplateError>,
}

impl Templates {
    /// Those of the user who started this process, and of that home.
    pub fn new(home: &Home, environment: &Environment) -> Self {
        let in_home = Self::in_home(home);
        let user = environment.get("HOME").filter(|home| !home.is_empty());
        let folder = user.map(|user| Path::new(user).join(".agents/templates"));
        Self { folder, environment: environment.clone(), ..in_home }
    }

    /// With another place of repositories than GitHub's own.
    #[must_use]
    pub fn with_github(self, github_url: &str) -> Self {
        Self { github_url: github_url.to_owned(), ..self }
    }

    /// Those of this build, and of that home.
    pub fn in_home(home: &Home) -> Self {
        let github_url = selector::GITHUB.trim_end_matches('/').to_owned();
        Self {
            folder: None,
            store: home.root().join("templates"),
            environment: Environment::default(),
            github_url,
        }
    }

    /// The folder of the user's templates; none where nobody knows whose they would be.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// What a selector of this machine names.
    ///
    /// # Errors
    /// When there is none, or it can't be used.
    pub fn find(&self, selector: &Selector) -> Result<Found, TemplateError> {
        match selector {
            Selector::Id(id) => self.of_id(id),
            Selector::Folder(path) => {
                let template = Template::in_folder(path)?;
                Ok(Found { template, origin: TemplateOrigin::Folder, path: Some(path.clone()) })
            }
            Selector::GitHub(address) => Err(TemplateError::Remote { what: address.clone() }),
        }
    }

    /// One of the user's folder comes before one of this build.
    fn of_id(&self, id: &TemplateId) -> Result<Found, TemplateError> {
        if let Some(path) = self.folder.as_ref().map(|folder| folder.join(id.as_str()))
            && path.symlink_metadata().is_ok()
        {
            let template = Template::in_folder(&path)?;
            let same = built_in::of(id).is_some_and(|built_in| built_in == template);
            let origin = if same { TemplateOrigin::BuiltIn } else { TemplateOrigin::User };
            return Ok(Found { template, origin, path: Some(path) });
        }
        if let Some(template) = built_in::of(id) {
            return Ok(Found { template, origin: TemplateOrigin::BuiltIn, path: None });
        }
        let known = self.ids()?;
        let near = did_you_mean(id.as_str(), known.iter().map(TemplateId::as_str));
        Err(TemplateError::Unknown { id: id.clone(), near })
    }

    /// All that an id names, in order.
    ///
    /// # Errors
    /// When the folder can't be read.
    pub fn list(&self) -> Result<Vec<Listed>, TemplateError> {
        let listed = |id: TemplateId| Listed { found: self.of_id(&id), id };
        Ok(self.ids()?.into_iter().map(listed).collect())
    }

    fn ids(&self) -> Result<Vec<TemplateId>, TemplateError> {
        let mut ids: Vec<TemplateId> = built_in::ids().collect();
        if let Some(folder) = &self.folder {
            let unusable = |problem| TemplateError::Unusable { path: folder.clone(), problem };
            match folder.read_dir() {
                Ok(entries) => {
                    for entry in entries.take(LISTED) {
                        let name = entry.map_err(unusable)?.file_name();
                        ids.extend(name.to_str().and_then(|name| TemplateId::new(name).ok()));
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(unusable(error)),
            }
        }
        ids.sort();
        ids.dedup();
        Ok(ids)
    }
}

#[cfg(test)]
mod tests;
