//! Where skills are looked for: the first of each scope's folders that is there, and no other (contract: Skill Discovery
//! And Activation Contract).

use std::path::{Path, PathBuf};

use holon_facts::skill::SkillScope;
use holon_supervise::confine::Readable;

/// Folders of the user and of a workspace, in their order.
const SHARED: [&str; 3] = [".agents/skills", ".codex/skills", ".claude/skills"];
/// Those of an agent stand before them.
const OWN: &str = "skills";

/// Whose skills are looked for.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    pub agent_home: &'a Path,
    pub anchor: &'a Path,
    /// The user's skills are for the default agent alone.
    pub user: Option<&'a Roots>,
    /// No operator trusts the workspace: its skills are counted, and none is offered.
    pub untrusted: bool,
    pub readable: &'a Readable,
}

/// The folders of one scope.
#[derive(Debug, Clone)]
pub struct Roots {
    pub scope: SkillScope,
    /// In the order in which they are looked for.
    pub folders: Vec<PathBuf>,
    /// Nothing outside of this folder is taken.
    pub within: Option<PathBuf>,
}

impl Roots {
    /// Those of the user, in their home, or the one that the configuration names.
    pub fn of_user(home: Option<&Path>, configured: Option<&Path>) -> Self {
        let folders = match (configured, home) {
            (Some(folder), _) => vec![folder.to_owned()],
            (None, Some(home)) => below(home),
            (None, None) => Vec::new(),
        };
        Self { scope: SkillScope::User, folders, within: None }
    }

    pub fn of_agent(home: &Path) -> Self {
        let mut folders = vec![home.join(OWN)];
        folders.extend(below(home));
        Self { scope: SkillScope::Agent, folders, within: None }
    }

    pub fn of_workspace(anchor: &Path) -> Self {
        let within = Some(anchor.canonicalize().unwrap_or_else(|_| anchor.to_owned()));
        Self { scope: SkillScope::Workspace, folders: below(anchor), within }
    }

    /// The one that counts, and those behind it that are there and do not.
    pub fn first(&self) -> (Option<&Path>, Vec<&Path>) {
        let mut there = self.folders.iter().map(PathBuf::as_path).filter(|folder| folder.is_dir());
        (there.next(), there.collect())
    }

    /// Where a skill of the scope is installed: into the one that counts, or the first. It does not lead out of that
    /// folder, into which commands of an agent can put links.
    ///
    /// # Errors
    /// There is none, or it leads elsewhere.
    pub fn for_install(&self, inside: Option<&Path>) -> Result<PathBuf, String> {
        let root = self.first().0.or_else(|| self.folders.first().map(PathBuf::as_path));
        let root = root.ok_or("no home of the user is known: set HOME")?;
        // Where there is no home yet, there is no link in it.
        let Some(inside) = inside.filter(|inside| inside.exists()) else { return Ok(root.to_owned()) };
        let there = root.ancestors().find_map(|folder| folder.canonicalize().ok());
        let inside = inside.canonicalize().unwrap_or_else(|_| inside.to_owned());
        match there.is_some_and(|there| there.starts_with(&inside)) {
            true => Ok(root.to_owned()),
            false => Err(format!("{} leads out of {}", root.display(), inside.display())),
        }
    }
}

fn below(folder: &Path) -> Vec<PathBuf> {
    SHARED.iter().map(|name| folder.join(name)).collect()
}

impl Place<'_> {
    /// What is looked at, in the order of precedence.
    pub(super) fn roots(&self) -> Vec<Roots> {
        let mut roots = Vec::new();
        // An agent that works in its home has its own skills there, and no others.
        if self.anchor != self.agent_home {
            roots.push(Roots::of_workspace(self.anchor));
        }
        roots.push(Roots::of_agent(self.agent_home));
        roots.extend(self.user.cloned());
        roots
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_first_folder_of_a_scope_counts() {
        let home = tempfile::tempdir().unwrap();
        let agent = Roots::of_agent(home.path());
        assert_eq!(agent.first().0, None);
        assert_eq!(agent.for_install(Some(home.path())), Ok(home.path().join("skills")));
        for name in [".claude/skills", ".agents/skills"] {
            fs::create_dir_all(home.path().join(name)).unwrap();
        }
        let (first, behind) = agent.first();
        assert_eq!(first, Some(&*home.path().join(".agents/skills")));
        assert_eq!(behind, [home.path().join(".claude/skills")]);
        let user = Roots::of_user(Some(home.path()), Some(Path::new("/elsewhere")));
        assert_eq!(user.for_install(None), Ok("/elsewhere".into()));
        assert!(Roots::of_user(None, None).for_install(None).is_err());
        std::os::unix::fs::symlink("/", home.path().join("skills")).unwrap();
        assert!(agent.for_install(Some(home.path())).unwrap_err().contains("leads out of"));
    }
}
