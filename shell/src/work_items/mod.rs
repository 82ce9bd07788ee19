//! Work items as agents and operators see them (contract: work.md, Work items): the same shapes in the results of
//! tools and over HTTP.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use holon_api::{ItemState, PlanArtifact, WorkItemSnapshot};
use holon_core::agent::work::WorkItem;
use holon_facts::ids::WorkItemId;
use holon_facts::{AgentId, ContentId};
use holon_platform::{beneath, clock};
use holon_text::Texts;

/// Characters of a plan that are shown.
const PREVIEW: usize = 1_600;
/// Bytes of a plan that are looked at.
const PLAN_BYTES: u64 = 4 << 20;

/// How much of an item is shown.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    pub in_focus: bool,
    pub todo_list: bool,
}

/// An item. `home` is the agent's.
pub fn snapshot(
    texts: &Texts,
    agent: &AgentId,
    home: &Path,
    item: &WorkItem,
    shown: Shown,
) -> WorkItemSnapshot {
    let report = item.result_summary.as_ref();
    WorkItemSnapshot {
        work_item_id: item.id,
        agent_id: agent.clone(),
        workspace_id: item.workspace_id.clone(),
        revision: item.revision,
        objective: item.objective.clone(),
        state: if item.completed_at.is_none() { ItemState::Open } else { ItemState::Completed },
        scheduling_state: item.state(),
        plan_status: item.plan_status,
        in_focus: shown.in_focus,
        // A plan that can't be read is none to show: the item is there all the same.
        plan_artifact: plan_artifact(texts, home, item.id).ok(),
        todo_list: shown.todo_list.then(|| item.todo_list.clone()),
        blocked_by: item.blocked_by.clone(),
        wait: item.wait.clone(),
        recheck_at: item.recheck.as_ref().and_then(|recheck| recheck.recheck_at),
        recheck_consumed_at: item.recheck.as_ref().and_then(|recheck| recheck.recheck_consumed_at),
        stalled_at: item.stalled.as_ref().map(|stall| stall.at),
        stall_reason: item.stalled.as_ref().map(|stall| stall.reason),
        deferred_until: item.debt.deferred(clock::now().wall).filter(|_| item.is_runnable()),
        completion_report: report.map(|report| {
            texts.resolve(report).map_or_else(|_| report.preview().to_owned(), |whole| whole.to_string())
        }),
        created_at: item.created_at,
        updated_at: item.updated_at,
        completed_at: item.completed_at,
    }
}

fn plan_artifact(texts: &Texts, home: &Path, item: WorkItemId) -> io::Result<PlanArtifact> {
    let file = beneath::open(home, &name(item))?;
    let metadata = file.metadata()?;
    let bytes = beginning(file)?;
    let whole = texts.redact(&String::from_utf8_lossy(&bytes));
    let preview: String = whole.chars().take(PREVIEW).collect();
    Ok(PlanArtifact {
        path: plan(home, item).display().to_string(),
        hash: holon_text::hash(&bytes),
        bytes: metadata.len(),
        updated_at: clock::wall_of(metadata.modified()?),
        preview_complete: metadata.len() <= PLAN_BYTES && preview.len() == whole.len(),
        preview,
    })
}

/// Of the beginning of a plan; none where there is no such file. A link is none.
///
/// # Errors
/// When it can't be read.
pub fn hash_of_plan(home: &Path, item: WorkItemId) -> io::Result<Option<ContentId>> {
    let none = [ErrorKind::NotFound, ErrorKind::IsADirectory, ErrorKind::InvalidInput];
    match beneath::open(home, &name(item)) {
        Err(error) if none.contains(&error.kind()) => Ok(None),
        file => Ok(Some(holon_text::hash(&beginning(file?)?))),
    }
}

fn beginning(file: File) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(PLAN_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A plan that was not written. Nothing of it is there.
#[derive(Debug, thiserror::Error)]
#[error("{}: {source}", path.display())]
pub struct PlanError {
    path: PathBuf,
    source: io::Error,
}

impl PlanError {
    /// Whether it would be written if there were space for it.
    pub fn is_full(&self) -> bool {
        matches!(self.source.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
    }
}

/// Writes the first plan of an item: it is there whole or not at all.
///
/// # Errors
/// With the path, when it can't be written.
pub fn write_plan(home: &Path, item: WorkItemId, text: &str) -> Result<(), PlanError> {
    let path = plan(home, item);
    put(&path, text.as_bytes()).map_err(|source| PlanError { path, source })
}

fn put(path: &Path, text: impl Read) -> io::Result<()> {
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    let Some(folder) = path.parent() else { return Err(ErrorKind::InvalidInput.into()) };
    std::fs::create_dir_all(folder)?;
    let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
    let draft = folder.join(format!(".plan.md.{}-{number}.draft", std::process::id()));
    let put = write(&draft, text).and_then(|()| std::fs::rename(&draft, path));
    if put.is_err() {
        // One that can't be removed is in nobody's way.
        std::fs::remove_file(&draft).unwrap_or_default();
    }
    put
}

fn write(draft: &Path, mut text: impl Read) -> io::Result<()> {
    let mut file = File::create(draft)?;
    io::copy(&mut text, &mut file)?;
    file.sync_all()
}

/// Where the plan of an item is.
pub fn plan(home: &Path, item: WorkItemId) -> PathBuf {
    home.join(name(item))
}

/// The same below the home.
fn name(item: WorkItemId) -> PathBuf {
    PathBuf::from(format!("work-items/{item}/plan.md"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use holon_text::Secrets;

    use super::*;

    #[test]
    fn a_plan_is_there_whole_or_not_at_all() {
        /// A disk that becomes full in the middle.
        struct Full(bool);
        impl Read for Full {
            fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
                if std::mem::replace(&mut self.0, true) {
                    return Err(ErrorKind::StorageFull.into());
                }
                buffer[..4].copy_from_slice(b"STEP");
                Ok(4)
            }
        }
        let home = tempfile::tempdir().unwrap();
        let (item, path) = (WorkItemId(1), plan(home.path(), WorkItemId(1)));
        let names = || fs::read_dir(path.parent().unwrap()).unwrap().count();
        let source = put(&path, Full(false)).unwrap_err();
        assert!(PlanError { path: path.clone(), source }.is_full());
        assert_eq!((path.exists(), names()), (false, 0));
        write_plan(home.path(), item, "STEP ONE").unwrap();
        assert!(put(&path, Full(false)).is_err());
        assert_eq!((fs::read_to_string(&path).unwrap().as_str(), names()), ("STEP ONE", 1));
        // What can't be replaced leaves no draft.
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        let error = write_plan(home.path(), item, "STEP ONE").unwrap_err();
        assert!(!error.is_full() && error.to_string().contains("plan.md"), "{error}");
        assert_eq!(names(), 1);
    }

    #[test]
    fn a_plan_is_a_file_of_the_home_and_no_link() {
        let home = tempfile::tempdir().unwrap();
        let texts = Texts::new(Secrets::default(), Box::new(|_| Ok(None)));
        let item = WorkItemId(1);
        let shown = || plan_artifact(&texts, home.path(), item).ok().map(|plan| plan.preview);
        let hash = || hash_of_plan(home.path(), item).unwrap();
        assert_eq!((shown(), hash()), (None, None));
        write_plan(home.path(), item, "own").unwrap();
        assert_eq!((shown().as_deref(), hash()), (Some("own"), Some(holon_text::hash(b"own"))));
        let (path, elsewhere) = (plan(home.path(), item), home.path().join("elsewhere"));
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("plan.md"), "foreign").unwrap();
        fs::remove_file(&path).unwrap();
        symlink(elsewhere.join("plan.md"), &path).unwrap();
        assert_eq!((shown(), hash()), (None, None));
        let folder = path.parent().unwrap();
        fs::remove_dir_all(folder).unwrap();
        symlink(&elsewhere, folder).unwrap();
        assert_eq!((shown(), hash()), (None, None));
        fs::remove_file(folder).unwrap();
        fs::create_dir(folder).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert_eq!((shown(), hash()), (None, None));
    }
}
