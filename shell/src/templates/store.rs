//! Copies of templates in the home of the runtime, each under the hash of its files: what an agent on record was made
//! from is there, whatever becomes of the template.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use holon_facts::content::ContentId;
use holon_facts::template::{AgentTemplate, TemplateOrigin};
use holon_platform::entropy;
use sha2::{Digest, Sha256};

use super::content::unusable;
use super::{Found, Reach, Selector, Template, TemplateError, Templates};
use crate::skills::install::{self, Destination, Lock, Source};

/// The folder of skills in a copy, and in the home of an agent.
pub(super) const SKILLS: &str = "skills";
/// How the name of an unfinished copy begins.
const DRAFT: &str = ".draft-";

impl Templates {
    /// Takes a template into the home, whole and on the disk or not at all; which one it is.
    ///
    /// # Errors
    /// When there is no such template, or it can't be used or kept.
    pub async fn keep(&self, selector: &Selector, reach: Reach) -> Result<AgentTemplate, TemplateError> {
        make_folder(&self.store)?;
        let (template, origin, commit) = match selector {
            Selector::GitHub(address) if reach == Reach::Everywhere => {
                let (template, commit) = self.fetched(address, &self.store).await?;
                (template, TemplateOrigin::GitHub, commit)
            }
            Selector::Id(_) | Selector::Folder(_) | Selector::GitHub(_) => {
                let Found { template, origin, .. } = self.find(selector)?;
                (template, origin, None)
            }
        };
        let draft = Draft::new(&self.store)?;
        let root = draft.0.join(SKILLS);
        for named in &template.skill_refs {
            self.install(named, reach, &root).await?;
        }
        write(&draft.0.join("AGENTS.md"), template.instructions.as_bytes())?;
        let skills = Lock::read(&root)
            .map_err(|problem| TemplateError::Fetch { what: root.display().to_string(), problem })?;
        let hash = hash_of(&template.instructions, &skills);
        let kept = self.kept(&hash);
        if !kept.is_dir() {
            let renamed = fs::rename(&draft.0, &kept);
            // Somebody else has kept the same one meanwhile.
            renamed.or_else(|problem| if kept.is_dir() { Ok(()) } else { Err(unusable(&kept, problem)) })?;
            sync(&self.store)?;
        }
        Ok(AgentTemplate { selector: selector.to_string(), origin, commit, hash })
    }

    /// A folder of the runtime's own to fetch into.
    ///
    /// # Errors
    /// It can't be made.
    pub fn scratch(&self) -> Result<Draft, TemplateError> {
        make_folder(&self.store)?;
        Draft::new(&self.store)
    }

    /// What a selector names, wherever that is: nothing stays of what is fetched for a look.
    ///
    /// # Errors
    /// When there is none, or it can't be used or fetched.
    pub async fn look(&self, selector: &Selector) -> Result<Found, TemplateError> {
        let Selector::GitHub(address) = selector else { return self.find(selector) };
        let (template, _) = self.fetched(address, &std::env::temp_dir()).await?;
        Ok(Found { template, origin: TemplateOrigin::GitHub, path: None })
    }

    /// Whether the skills that a template names can be had: each is fetched as for an agent, and nothing of it is kept.
    ///
    /// # Errors
    /// The first one that can't be had.
    pub async fn check_skills(&self, template: &Template) -> Result<(), TemplateError> {
        if template.skill_refs.is_empty() {
            return Ok(());
        }
        let draft = Draft::new(&std::env::temp_dir())?;
        for named in &template.skill_refs {
            self.install(named, Reach::Everywhere, &draft.0.join(SKILLS)).await?;
        }
        Ok(())
    }

    /// A template of a repository, and its commit. It is fetched into a folder below `place`, which is gone afterwards.
    async fn fetched(
        &self,
        address: &str,
        place: &Path,
    ) -> Result<(Template, Option<String>), TemplateError> {
        let failed = |problem| TemplateError::Fetch { what: address.to_owned(), problem };
        let source = Source::parse(address, None, &self.github_url).map_err(failed)?;
        let staging = Draft::new(place)?;
        let fetched = install::fetch(&self.environment, &source, &staging.0).await.map_err(failed)?;
        // Nobody knows the folder into which it was fetched.
        let of_address = |error| {
            let TemplateError::Invalid { path, problem } = error else { return error };
            let path = path.strip_prefix(&fetched.folder).map_or_else(
                |_| address.into(),
                |file| {
                    if file == Path::new("") { address.into() } else { Path::new(address).join(file) }
                },
            );
            TemplateError::Invalid { path, problem }
        };
        Ok((Template::in_folder(&fetched.folder).map_err(of_address)?, fetched.commit))
    }

    /// A skill of a template, in its copy.
    async fn install(&self, named: &str, reach: Reach, root: &Path) -> Result<(), TemplateError> {
        let failed = |problem| TemplateError::Fetch { what: format!("the skill {named}"), problem };
        let source = Source::parse(named, None, &self.github_url).map_err(failed)?;
        if reach == Reach::ThisMachine && matches!(source, Source::Git(_)) {
            return Err(TemplateError::Remote { what: format!("the skill {named}") });
        }
        make_folder(root)?;
        let scratch = Draft::new(root)?;
        let place = Destination { root, scratch: &scratch.0, bound: None };
        install::install(&self.environment, &source, None, place).await.map_err(failed)?;
        Ok(())
    }

    /// Removes what processes that died have left unfinished. Only who has the home may call this.
    ///
    /// # Errors
    /// When it can't be removed; it is in nobody's way.
    pub fn remove_drafts(&self) -> Result<(), TemplateError> {
        let entries = match self.store.read_dir() {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(problem) => return Err(unusable(&self.store, problem)),
        };
        for path in entries.flatten().map(|entry| entry.path()) {
            if path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(DRAFT)) {
                fs::remove_dir_all(&path).map_err(|problem| unusable(&path, problem))?;
            }
        }
        Ok(())
    }

    /// Where a template is kept that was taken in.
    pub(super) fn kept(&self, hash: &ContentId) -> PathBuf {
        self.store.join(hash.to_string())
    }
}

/// A folder that becomes a copy; dropping it removes what is left of it.
pub struct Draft(PathBuf);

impl Draft {
    pub fn path(&self) -> &Path {
        &self.0
    }

    fn new(store: &Path) -> Result<Self, TemplateError> {
        let name = entropy::name().map_err(|problem| unusable(store, problem))?;
        let path = store.join(format!("{DRAFT}{name}"));
        make_folder(&path)?;
        Ok(Self(path))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // It is gone where it was renamed; what can't be removed is in nobody's way.
        fs::remove_dir_all(&self.0).unwrap_or_default();
    }
}

pub(super) fn make_folder(path: &Path) -> Result<(), TemplateError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(|problem| unusable(path, problem))
}

/// A new file, on the disk.
fn write(path: &Path, bytes: &[u8]) -> Result<(), TemplateError> {
    let written = File::create_new(path).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_data()
    });
    written.map_err(|problem| unusable(path, problem))
}

/// A file in place of whatever is there, whole at every moment.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> Result<(), TemplateError> {
    let name = entropy::name().map_err(|problem| unusable(path, problem))?;
    let draft = path.with_extension(format!("{name}.draft"));
    write(&draft, bytes)?;
    fs::rename(&draft, path).map_err(|problem| unusable(path, problem))
}

fn sync(folder: &Path) -> Result<(), TemplateError> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(|problem| unusable(folder, problem))
}

/// Of the instructions, and of the names and contents of the skills in a copy. When and from where those were installed is
/// none of the template's business.
fn hash_of(instructions: &str, skills: &Lock) -> ContentId {
    let mut hash = Sha256::new();
    hash.update((instructions.len() as u64).to_le_bytes());
    hash.update(instructions);
    for (name, entry) in &skills.skills {
        hash.update((name.len() as u64).to_le_bytes());
        hash.update(name);
        hash.update(entry.digest.0);
    }
    ContentId(hash.finalize().into())
}
