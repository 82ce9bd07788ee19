//! Instruction files and the execution environment, read when a turn begins.

use std::path::{Path, PathBuf};

use holon_facts::execution::{ExecutionPolicy, ExecutionProfile, ExecutionSnapshot, GitHead};
use holon_facts::outcome::{InstructionSource, LoadedContext};
use holon_facts::workspace::ExecutionBinding;
use holon_platform::{clock, spawn};
use holon_supervise::confine::Readable;
use holon_text::{Texts, hash};

use super::instructions::{Source, Unreadable, read_memory, read_sources};
use super::tool::CommandEnvironment;
use crate::skills::Skills;
use crate::templates::TemplateError;
use crate::workplace::{self, HeldBack};

/// What a turn needs to begin, and is not to be had.
#[derive(Debug, thiserror::Error)]
pub enum ContextError {
    #[error(transparent)]
    Home(#[from] TemplateError),
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    #[error("reading the instructions was interrupted: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

/// What is looked at beside instruction files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Looks {
    /// Skills of the user.
    pub user_skills: bool,
    /// Skills of the workspace are not offered.
    pub untrusted: bool,
    /// Files that differ from the last commit.
    pub work_tree: bool,
}

/// Reads what the beginning of a turn needs, once `make` has made what of the agent's home is missing. An absent file is no
/// instructions.
pub(super) async fn load(
    texts: &Texts,
    make: impl FnOnce() -> Result<PathBuf, TemplateError> + Send + 'static,
    binding: ExecutionBinding,
    commands: &CommandEnvironment,
    policy: Option<ExecutionPolicy>,
    external_trigger: bool,
    (skills, held_back, looks, readable): (&Skills, HeldBack<'_>, Looks, Readable),
) -> Result<LoadedContext, ContextError> {
    let started = clock::now();
    let anchor = PathBuf::from(&binding.workspace_anchor);
    let (looking, root) = (commands.clone(), PathBuf::from(&binding.execution_root));
    let (skills, secrets) = (skills.clone(), texts.shared_secrets());
    let Looks { user_skills, untrusted, work_tree } = looks;
    let read = spawn::blocking(move || {
        let home = make()?;
        let mut sources = read_sources(&home, &anchor, &readable, &secrets)?;
        sources.extend(read_memory(&home, &secrets));
        let offered = skills.find(&home, &anchor, (user_skills, untrusted), &readable);
        let looked = (sources, offered, workplace::git_head(&root, &readable), looking.programs().to_vec());
        Ok::<_, ContextError>((home, looked))
    });
    let (agent_home, (found, offered, git, programs)) = read.await??;
    let work_tree = match &git {
        Some(GitHead::Branch { .. } | GitHead::Detached { .. }) if work_tree => {
            let installed = programs.iter().any(|program| program == "git");
            Some(workplace::work_tree(Path::new(&binding.execution_root), held_back, installed).await)
        }
        Some(GitHead::Branch { .. } | GitHead::Detached { .. } | GitHead::NoRepository) | None => None,
    };
    let sources = found
        .into_iter()
        .map(|Source { scope, path, text, imported_by }| InstructionSource {
            scope,
            path: path.display().to_string(),
            content_id: Some(hash(texts.redact(&text).as_bytes())),
            content: texts.take(&text),
            imported_by: imported_by.map(|by| by.display().to_string()),
        })
        .collect();
    let shell = commands.default_shell();
    let platform = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    let bare = ExecutionSnapshot::host_local(binding, agent_home.display().to_string(), platform, shell);
    let variables = commands.chosen().to_vec();
    let execution = ExecutionSnapshot { external_trigger, variables, git, work_tree, programs, ..bare };
    let (execution, skills) = (boundaries(execution, policy), offered.catalogue(texts));
    Ok(LoadedContext { sources, execution, context_build_ms: clock::since(started), skills, tools: None })
}

fn boundaries(execution: ExecutionSnapshot, policy: Option<ExecutionPolicy>) -> ExecutionSnapshot {
    let Some(policy) = policy else { return execution };
    ExecutionSnapshot { profile: ExecutionProfile::Confined, policy, ..execution }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use holon_facts::outcome::SourceScope;
    use holon_text::Secrets;

    use super::*;

    fn texts() -> Texts {
        Texts::new(Secrets::default(), Box::new(|_| Ok(None)))
    }

    fn binding(root: &Path) -> ExecutionBinding {
        let at = |path: &Path| path.display().to_string();
        ExecutionBinding::project(at(root), at(&root.join("sub")))
    }

    async fn sources(home: &Path, root: &Path) -> Result<Vec<(SourceScope, String)>, ContextError> {
        let texts = texts();
        let (commands, skills) = (CommandEnvironment::new([]), Skills::default());
        let looks = Looks { user_skills: true, untrusted: false, work_tree: false };
        let held_back = HeldBack { supervisor: Path::new("holon"), policy: None };
        let beside = (&skills, held_back, looks, Readable::default());
        let home = home.to_owned();
        let context = load(&texts, move || Ok(home), binding(root), &commands, None, false, beside).await?;
        let whole = |source: &InstructionSource| texts.resolve(&source.content).unwrap().to_string();
        Ok(context.sources.iter().map(|source| (source.scope, whole(source))).collect())
    }

    #[tokio::test]
    async fn reads_the_roots_and_never_the_current_folder() {
        let (home, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(root.path().join("sub")).unwrap();
        fs::write(root.path().join("sub/AGENTS.md"), "of the folder").unwrap();
        assert!(sources(home.path(), root.path()).await.unwrap().is_empty());
        fs::write(home.path().join("AGENTS.md"), "of the agent").unwrap();
        fs::write(root.path().join("CLAUDE.md"), "second choice").unwrap();
        let found = sources(home.path(), root.path()).await.unwrap();
        assert_eq!(
            found,
            [(SourceScope::Agent, "of the agent".into()), (SourceScope::Workspace, "second choice".into())]
        );
        fs::write(root.path().join("AGENTS.md"), "of the workspace").unwrap();
        let found = sources(home.path(), root.path()).await.unwrap();
        assert_eq!(found[1], (SourceScope::Workspace, "of the workspace".into()));
        assert_eq!(found.len(), 2);
    }

    #[tokio::test]
    async fn memory_files_follow_the_instructions_unless_they_are_blank() {
        let (home, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(home.path().join("memory")).unwrap();
        let write = |name: &str, text: &str| fs::write(home.path().join("memory").join(name), text).unwrap();
        write("self.md", "");
        write("operator.md", " \n");
        write("other.md", "searched, and not shown");
        assert!(sources(home.path(), root.path()).await.unwrap().is_empty());
        write("operator.md", "prefers short answers");
        write("self.md", &"ä".repeat(8_001));
        let found = sources(home.path(), root.path()).await.unwrap();
        assert!(found.iter().all(|(scope, _)| *scope == SourceScope::Memory), "{found:?}");
        assert_eq!(found[0].1.matches('ä').count(), 8_000);
        assert!(found[0].1.contains("memory/self.md is longer; the first 8000 characters"), "{}", found[0].1);
        assert_eq!(found[1].1, "prefers short answers");
        write("self.md", &"ä".repeat(40_000));
        assert_eq!(sources(home.path(), root.path()).await.unwrap()[0].1.matches('ä').count(), 8_000);
        fs::remove_file(home.path().join("memory/self.md")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", home.path().join("memory/self.md")).unwrap();
        assert_eq!(sources(home.path(), root.path()).await.unwrap()[0].1, "[not shown: it is a link]");
    }

    #[tokio::test]
    async fn long_files_are_cut_between_characters_and_say_so() {
        let (home, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(home.path().join("AGENTS.md"), "ä".repeat(40_000) + "x").unwrap();
        let found = sources(home.path(), root.path()).await.unwrap();
        assert!(found[0].1.contains("the file has 80001 bytes, the first 65536 are shown"));
        assert!(!found[0].1.contains('\u{FFFD}'));
    }

    #[tokio::test]
    async fn a_file_that_can_not_be_read_is_an_error_that_names_it() {
        let (home, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir(root.path().join("AGENTS.md")).unwrap();
        let error = sources(home.path(), root.path()).await.unwrap_err().to_string();
        assert!(error.contains(&root.path().join("AGENTS.md").display().to_string()), "{error}");
    }
}
