//! What is left of a ledger that lost something: the pages that are whole are put together in a draft, the draft is
//! checked like any ledger, and only then it takes the ledger's place. The files as they were are kept aside.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use holon_facts::Record;
use holon_platform::clock;
use serde::Serialize;

use super::loss;
use super::wal::{self, Take, Wal};
use crate::durability::Durability;
use crate::error::LedgerError;
use crate::read::{Reader, verify};
use crate::rows::head::{self, Head, HeadFile, Kept};
use crate::rows::link::{self, BatchRow};
use crate::rows::schema;

/// What a ledger lost, and what is left of it.
#[derive(Debug, Clone, Serialize)]
pub struct Loss {
    pub ledger: PathBuf,
    /// What is wrong with its files.
    pub problem: String,
    /// What was acknowledged last, where that is known.
    pub acknowledged: Option<Head>,
    /// Where what is whole ends; none when nothing is left.
    pub left: Option<Head>,
}

/// A ledger that goes on without what it lost.
#[derive(Debug, Clone, Serialize)]
pub struct Recovered {
    #[serde(flatten)]
    pub loss: Loss,
    /// Where the damaged files are kept.
    pub kept: PathBuf,
}

/// Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("{path}: {source}", path = path.display())]
    Files { path: PathBuf, source: io::Error },
    #[error(
        "nothing that holds together can be made of {path} ({loss}): {problem}. Nothing was changed; put a backup in its \
         place, or begin anew in another home",
        path = path.display()
    )]
    Hopeless { path: PathBuf, loss: String, problem: String },
}

/// What can be made of the files.
struct Draft {
    left: Option<Head>,
    /// None when nothing is left.
    file: Option<PathBuf>,
}

/// Checks one record after the other, and says what is wrong with one.
pub type RecordCheck = Box<dyn FnMut(&Record) -> Result<(), String>>;
/// Makes a check for each draft that is tried.
type CheckRecords<'a> = &'a mut dyn FnMut() -> RecordCheck;

impl Loss {
    /// Whether everything that was acknowledged is in what is left.
    pub fn is_nothing(&self) -> bool {
        match (&self.acknowledged, &self.left) {
            (Some(head), Some(left)) => head.batch == left.batch && head.link == left.link,
            (Some(_) | None, None) | (None, Some(_)) => false,
        }
    }
}

/// What a ledger has lost; none when it is in order. Its files stay as they are.
///
/// # Errors
/// When nothing that is whole can be found, or the files can't be read.
pub fn examine(path: &Path, check: CheckRecords<'_>) -> Result<Option<Loss>, RecoverError> {
    let Some(problem) = problem(path)? else { return Ok(None) };
    let (loss, draft) = attempt(path, problem, check)?;
    discard(draft.file.as_deref());
    Ok(Some(loss))
}

/// Lets a ledger go on without what it lost; none when it is in order.
///
/// # Errors
/// When nothing that is whole can be found, or the files can't be written.
pub fn recover(path: &Path, check: CheckRecords<'_>) -> Result<Option<Recovered>, RecoverError> {
    let Some(problem) = problem(path)? else { return Ok(None) };
    let (loss, draft) = attempt(path, problem, check)?;
    let kept = replace(path, &loss, draft.file.as_deref())
        .inspect_err(|_| discard(draft.file.as_deref()))
        .map_err(files(path))?;
    Ok(Some(Recovered { loss, kept }))
}

fn files(path: &Path) -> impl Fn(io::Error) -> RecoverError {
    move |source| RecoverError::Files { path: path.to_owned(), source }
}

fn problem(path: &Path) -> Result<Option<String>, RecoverError> {
    match loss::check_end(path) {
        Ok(()) => Ok(None),
        Err(LedgerError::Lost { problem, .. }) => Ok(Some(problem)),
        // Pages that do not fit together: the write-ahead log may be why.
        Err(error @ LedgerError::Damaged { .. }) => Ok(Some(error.to_string())),
        Err(error) => Err(error.into()),
    }
}

fn attempt(path: &Path, problem: String, check: CheckRecords<'_>) -> Result<(Loss, Draft), RecoverError> {
    let acknowledged = match head::read(path).map_err(files(path))? {
        Kept::Head(head) => Some(*head),
        Kept::Nothing | Kept::Unreadable => None,
    };
    let draft = best(path, &problem, check)?;
    let loss = Loss { ledger: path.to_owned(), problem, acknowledged, left: draft.left.clone() };
    Ok((loss, draft))
}

/// The draft that reaches furthest among those that hold together.
fn best(path: &Path, problem: &str, check: CheckRecords<'_>) -> Result<Draft, RecoverError> {
    let wal = Wal::read(path).map_err(files(path))?;
    let nothing_there = std::fs::metadata(path).map_or(0, |file| file.len()) == 0;
    let mut best: Option<Draft> = None;
    let mut why = "no page is left".to_owned();
    for (take, name) in [(Take::Sound, "sound"), (Take::Valid, "valid"), (Take::None, "file")] {
        let draft = path.with_extension(format!("draft-{name}"));
        if !assemble(path, &draft, wal.as_ref(), take).map_err(files(&draft))? {
            discard(Some(&draft));
            continue;
        }
        match holds(&draft, check()) {
            Ok(left)
                if best
                    .as_ref()
                    .and_then(|best| best.left.as_ref())
                    .is_none_or(|best| left.batch > best.batch) =>
            {
                discard(best.and_then(|best| best.file).as_deref());
                best = Some(Draft { left: Some(left), file: Some(draft) });
            }
            Ok(_) => discard(Some(&draft)),
            Err(error) => {
                why = error;
                discard(Some(&draft));
            }
        }
    }
    match best {
        Some(best) => Ok(best),
        None if nothing_there => Ok(Draft { left: None, file: None }),
        None => Err(RecoverError::Hopeless { path: path.to_owned(), loss: problem.to_owned(), problem: why }),
    }
}

/// The file with pages of its write-ahead log; false when there is no page at all.
fn assemble(path: &Path, draft: &Path, wal: Option<&Wal>, take: Take) -> io::Result<bool> {
    match std::fs::copy(path, draft) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => drop(File::create(draft)?),
        Err(error) => return Err(error),
    }
    let mut options = OpenOptions::new();
    let file = options.read(true).write(true).mode(0o600).open(draft)?;
    if let Some(wal) = wal {
        let log = File::open(wal::path_of(path))?;
        let mut page = vec![0_u8; wal.page_size()];
        let (pages, size) = wal.pages(take);
        for from in pages {
            log.read_exact_at(&mut page, from.offset)?;
            file.write_all_at(&page, u64::from(from.number.saturating_sub(1)) * page.len() as u64)?;
        }
        if let Some(size) = size {
            file.set_len(u64::from(size) * page.len() as u64)?;
        }
    }
    file.sync_all()?;
    Ok(file.metadata()?.len() > 0)
}

/// Where a draft ends, if it holds together.
fn holds(draft: &Path, mut laws: RecordCheck) -> Result<Head, String> {
    let reader = Reader::of_copy(draft).map_err(|error| error.to_string())?;
    let checked =
        reader.read(|source| source.first("PRAGMA integrity_check(1)", &[], |row| row.get::<String>(0)));
    match checked {
        Ok(Some(verdict)) if verdict == "ok" => {}
        Ok(verdict) => return Err(verdict.unwrap_or_default()),
        Err(error) => return Err(error.to_string()),
    }
    // A ledger whose first transaction is not whole is an empty one.
    if reader.read(schema::version).map_err(|error| error.to_string())? == 0 {
        return Ok(Head::of(&BatchRow::START));
    }
    verify(&reader, &mut *laws).map_err(|error| error.to_string())?;
    reader.read(link::newest).map(|newest| Head::of(&newest)).map_err(|error| error.to_string())
}

/// Keeps the files as they are, and puts the draft in their place. Whenever that is cut short, the next start finds
/// either the damage or what was made of it.
fn replace(path: &Path, loss: &Loss, draft: Option<&Path>) -> io::Result<PathBuf> {
    let kept = keep(path, loss)?;
    match draft {
        Some(draft) => std::fs::rename(draft, path)?,
        None => remove(path)?,
    }
    remove(&wal::path_of(path))?;
    remove(&wal::index_of(path))?;
    remove(&head::path_of(path))?;
    if let Some(left) = &loss.left {
        let file = HeadFile::open(path, Durability::Full);
        file.begin(left.clone())?;
        file.sync()?;
    }
    sync_folder(path)?;
    Ok(kept)
}

/// The files as they are, in a folder beside.
fn keep(path: &Path, loss: &Loss) -> io::Result<PathBuf> {
    let stamp: String = clock::now().wall.to_string().chars().filter(char::is_ascii_alphanumeric).collect();
    let folder = path.with_extension(format!("damaged-{stamp}"));
    std::fs::create_dir(&folder)?;
    for file in [path.to_owned(), wal::path_of(path), head::path_of(path)] {
        let Some(name) = file.file_name().filter(|_| file.exists()) else { continue };
        let to = folder.join(name);
        if std::fs::hard_link(&file, &to).is_err() {
            std::fs::copy(&file, &to)?;
        }
    }
    let mut options = OpenOptions::new();
    let mut report = options.write(true).create_new(true).mode(0o600).open(folder.join("loss.json"))?;
    serde_json::to_writer_pretty(&mut report, loss)?;
    report.write_all(b"\n")?;
    report.sync_all()?;
    sync_folder(&folder.join("loss.json"))?;
    Ok(folder)
}

fn remove(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

/// A draft that nobody needs.
fn discard(draft: Option<&Path>) {
    if let Some(draft) = draft {
        remove(draft).unwrap_or_default();
    }
}
