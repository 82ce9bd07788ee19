//! Instruction files and the execution environment, read when a turn begins (contract: providers.md,
//! Instructions). Files come from their stable roots only, never from the folder that commands run in.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use holon_facts::execution::{ExecutionPolicy, ExecutionProfile, ExecutionSnapshot};
use holon_facts::outcome::{InstructionSource, SourceScope};
use holon_facts::workspace::ExecutionBinding;
use holon_platform::spawn;
use holon_text::{Texts, hash};

use super::tool::CommandEnvironment;
use crate::workplace;

/// Longest part of an instruction file that the model sees, in bytes.
pub const INSTRUCTION_BYTES: usize = 64 << 10;

/// An instruction file that is there and can't be read.
#[derive(Debug, thiserror::Error)]
pub enum ContextError {
    #[error("instructions at {} can't be read: {problem}; repair or remove the file, then try again", path.display())]
    Unreadable { path: PathBuf, problem: io::Error },
    #[error("reading the instructions was interrupted: {0}")]
    Interrupted(#[from] tokio::task::JoinError),
}

/// Reads what the beginning of a turn needs. An absent file is no instructions.
pub(super) async fn load(
    texts: &Texts,
    agent_home: PathBuf,
    binding: ExecutionBinding,
    commands: &CommandEnvironment,
    policy: Option<ExecutionPolicy>,
    external_trigger: bool,
) -> Result<(Vec<InstructionSource>, ExecutionSnapshot), ContextError> {
    let (home, anchor) = (agent_home.clone(), PathBuf::from(&binding.workspace_anchor));
    let (looking, root) = (commands.clone(), PathBuf::from(&binding.execution_root));
    let (found, git, programs) = spawn::blocking(move || {
        let sources = read_sources(&home, &anchor)?;
        Ok::<_, ContextError>((sources, workplace::git_head(&root), looking.programs().to_vec()))
    })
    .await??;
    let sources = found
        .into_iter()
        .map(|(scope, path, text)| InstructionSource {
            scope,
            path: path.display().to_string(),
            content_id: Some(hash(texts.redact(&text).as_bytes())),
            content: texts.take(&text),
        })
        .collect();
    let shell = commands.default_shell();
    let platform = format!("{} {}", std::env::consts::OS, std::env::consts::ARCH);
    let bare = ExecutionSnapshot::host_local(binding, agent_home.display().to_string(), platform, shell);
    let variables = commands.chosen().to_vec();
    let execution = ExecutionSnapshot { external_trigger, variables, git, programs, ..bare };
    Ok((sources, boundaries(execution, policy)))
}

fn boundaries(execution: ExecutionSnapshot, policy: Option<ExecutionPolicy>) -> ExecutionSnapshot {
    let Some(policy) = policy else { return execution };
    ExecutionSnapshot { profile: ExecutionProfile::Confined, policy, ..execution }
}

type Source = (SourceScope, PathBuf, String);

fn read_sources(agent_home: &Path, anchor: &Path) -> Result<Vec<Source>, ContextError> {
    let mut found = Vec::new();
    let own = agent_home.join("AGENTS.md");
    if let Some(text) = read(&own)? {
        found.push((SourceScope::Agent, own.clone(), text));
    }
    for name in ["AGENTS.md", "CLAUDE.md"] {
        let path = anchor.join(name);
        if path == own {
            break;
        }
        if let Some(text) = read(&path)? {
            found.push((SourceScope::Workspace, path, text));
            break;
        }
    }
    Ok(found)
}

fn read(path: &Path) -> Result<Option<String>, ContextError> {
    match read_bounded(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(problem) => Err(ContextError::Unreadable { path: path.to_owned(), problem }),
    }
}

fn read_bounded(path: &Path) -> io::Result<String> {
    // Asked before opening: opening a pipe would wait for a writer.
    let about = std::fs::metadata(path)?;
    if !about.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(INSTRUCTION_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() <= INSTRUCTION_BYTES {
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    let end = (0..=INSTRUCTION_BYTES).rev().find(|&at| bytes[at] & 0xC0 != 0x80).unwrap_or(0);
    let shown = String::from_utf8_lossy(&bytes[..end]);
    Ok(format!("{shown}\n[… cut here: the file has {} bytes, the first {end} are shown …]\n", about.len()))
}

#[cfg(test)]
mod tests {
    use holon_text::Secrets;

    use super::*;
    use std::fs;

    fn texts() -> Texts {
        Texts::new(Secrets::default(), Box::new(|_| Ok(None)))
    }

    fn binding(root: &Path) -> ExecutionBinding {
        let at = |path: &Path| path.display().to_string();
        ExecutionBinding::project(at(root), at(&root.join("sub")))
    }

    async fn sources(home: &Path, root: &Path) -> Result<Vec<(SourceScope, String)>, ContextError> {
        let texts = texts();
        let (sources, _) =
            load(&texts, home.to_owned(), binding(root), &CommandEnvironment::new([]), None, false).await?;
        let whole = |source: &InstructionSource| texts.resolve(&source.content).unwrap().to_string();
        Ok(sources.iter().map(|source| (source.scope, whole(source))).collect())
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
