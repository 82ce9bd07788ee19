//! Makes a backup, also while a runtime writes the home. First the ledger, at one moment, then the files: what a record names was
//! written before it, so it is there.

use std::fmt::Display;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use holon_ledger::error::LedgerError;
use holon_ledger::read::{Reader, VerifyError, VerifyReport};
use holon_ledger::sqlite::Copied;
use holon_platform::{build, clock};
use rustix::fs::OFlags;
use rustix::io::Errno;
use serde::Serialize;
use toml_edit::{DocumentMut, Item};

use super::{
    AGENTS, CONFIG, CREDENTIALS, DESCRIPTION, Description, FILES, FOLDERS, FORMAT, HOME, LEDGER, MEMORY_KEY,
    shown,
};
use crate::archive::{self, About, ArchiveError, Draft, DraftError, Writer};
use crate::home::Home;
use crate::ledger_check;

/// Files that are named among those that were left out; the others are counted.
const NAMED: usize = 20;

/// What is to be backed up where.
#[derive(Debug)]
pub struct Request<'a> {
    pub home: &'a Home,
    /// Its own files, where its ledger is in one of several cells of a database.
    pub of_cell: &'a Home,
    /// The file to make, or a folder that is there: the file in it is named after the time.
    pub to: &'a Path,
    pub credentials: bool,
    /// Whether the ledger is checked as a whole, and the archive read again.
    pub verify: bool,
}

/// A backup that was made.
#[derive(Debug, Serialize)]
pub struct Made {
    pub path: PathBuf,
    pub size_bytes: u64,
    pub files: u64,
    pub ledger: Copied,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<VerifyReport>,
    pub left_out: LeftOut,
}

/// What could not be copied, or not at one moment.
#[derive(Debug, Default, Serialize)]
pub struct LeftOut {
    pub count: u64,
    /// The first of them, with the reason.
    pub first: Vec<String>,
}

/// A backup that was not made.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    #[error(transparent)]
    Draft(#[from] DraftError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error("the copy of the ledger is not in order, and no backup was made: {0}")]
    NotInOrder(#[from] VerifyError),
    #[error("{path} can't be read: {source}", path = shown(path))]
    Read { path: PathBuf, source: io::Error },
    #[error("the backup can't be written: {0}")]
    Write(#[source] io::Error),
    #[error("the backup is not what was written, and was not kept: {0}")]
    Archive(#[from] ArchiveError),
}

impl MakeError {
    /// Whether there was no room for it.
    pub fn is_full(&self) -> bool {
        match self {
            Self::Draft(DraftError::Write { source, .. })
            | Self::Read { source, .. }
            | Self::Write(source) => archive::is_full(source),
            Self::Ledger(error) => matches!(error, LedgerError::Full),
            Self::Archive(error) => error.is_full(),
            Self::Draft(_) | Self::NotInOrder(_) => false,
        }
    }
}

/// Makes a backup of a home.
///
/// # Errors
/// When the ledger is not in order, or something can't be read or written. Nothing is left behind then.
pub fn make(request: &Request<'_>) -> Result<Made, MakeError> {
    let made_at = clock::now().wall;
    let path = target(request.to, &made_at.to_string());
    let draft = Draft::begin(&path)?;
    let copy = draft.aside();
    let copied = request.of_cell.ledger().copy(&copy)?;
    let verified = match request.verify {
        true => Some(ledger_check::verify(&Reader::of_copy(&copy)?)?),
        false => None,
    };
    let description = Description {
        format: FORMAT,
        build: build::id().to_owned(),
        made_at,
        home_dir: request.home.root().display().to_string(),
        ledger: copied.clone(),
        credentials: request.credentials,
    };
    let (files, left_out) = pack(request, &draft, &copy, &description)?;
    if request.verify {
        archive::read::<ArchiveError>(draft.path(), &mut |_| Ok(()))?;
    }
    let size_bytes = draft.place()?;
    Ok(Made { path, size_bytes, files, ledger: copied, verified, left_out })
}

/// Writes the archive, and removes the copy of the ledger.
fn pack(
    request: &Request<'_>,
    draft: &Draft,
    copy: &Path,
    description: &Description,
) -> Result<(u64, LeftOut), MakeError> {
    let mut pack = Pack::begin(draft, description).map_err(MakeError::Write)?;
    pack.file(copy, &Path::new(HOME).join(LEDGER))?;
    fs::remove_file(copy).map_err(MakeError::Write)?;
    pack.home(request)?;
    let Pack { writer, files, left_out } = pack;
    writer.finish().and_then(|mut out| out.flush()).map_err(MakeError::Write)?;
    Ok((files, left_out))
}

/// The file to make.
fn target(to: &Path, made_at: &str) -> PathBuf {
    if !to.is_dir() {
        return to.to_owned();
    }
    let stamp: String = made_at.chars().filter(char::is_ascii_alphanumeric).collect();
    to.join(format!("holon-backup-{stamp}.tar.zst"))
}

/// A configuration without what names a database and a folder that nodes share. One that can't be read stays as it is.
fn without_database(text: &str) -> String {
    let Ok(mut config) = text.parse::<DocumentMut>() else { return text.to_owned() };
    if let Some(store) = config.get_mut("store").and_then(Item::as_table_like_mut) {
        store.remove("url");
        store.remove("agents");
    }
    config.to_string()
}

/// Puts files of a home into an archive.
struct Pack<'a> {
    writer: Writer<BufWriter<&'a File>>,
    files: u64,
    left_out: LeftOut,
}

impl<'a> Pack<'a> {
    fn begin(draft: &'a Draft, description: &Description) -> io::Result<Self> {
        let mut writer = Writer::describing(draft, DESCRIPTION, description)?;
        writer.folder(Path::new(HOME))?;
        Ok(Self { writer, files: 0, left_out: LeftOut::default() })
    }

    /// Everything but the ledger.
    fn home(&mut self, request: &Request<'_>) -> Result<(), MakeError> {
        let home = request.home;
        let credentials = request.credentials.then_some(CREDENTIALS);
        for name in FILES.into_iter().chain(credentials) {
            let from = match name {
                MEMORY_KEY => request.of_cell.root().join(name),
                _ => home.root().join(name),
            };
            let to = Path::new(HOME).join(name);
            if name == CONFIG && home.database().is_some() {
                self.config(&from, &to)?;
            } else if from.is_file() {
                self.file(&from, &to)?;
            }
        }
        for name in FOLDERS {
            let from = if name == AGENTS { home.agents() } else { home.root().join(name) };
            if from.is_dir() {
                self.folder(&from, &Path::new(HOME).join(name))?;
            }
        }
        Ok(())
    }

    /// The configuration of a home whose ledger was in a database: in the backup it is a file.
    fn config(&mut self, from: &Path, to: &Path) -> Result<(), MakeError> {
        let text = match fs::read_to_string(from) {
            Ok(text) => text,
            Err(error) => return self.without(from, &error),
        };
        let text = without_database(&text);
        let cut = self.writer.file(to, About::default(), text.len() as u64, text.as_bytes());
        cut.map_err(MakeError::Write)?;
        self.files += 1;
        Ok(())
    }

    /// A folder with everything in it, by name.
    fn folder(&mut self, from: &Path, to: &Path) -> Result<(), MakeError> {
        self.writer.folder(to).map_err(MakeError::Write)?;
        let listed = fs::read_dir(from).and_then(|entries| {
            entries.map(|entry| entry.map(|entry| entry.file_name())).collect::<io::Result<Vec<_>>>()
        });
        let mut names = match listed {
            Ok(names) => names,
            Err(error) => return self.without(from, &error),
        };
        names.sort();
        for name in names {
            let (from, to) = (from.join(&name), to.join(&name));
            let about = match from.symlink_metadata() {
                Ok(about) => about,
                Err(error) => {
                    self.without(&from, &error)?;
                    continue;
                }
            };
            if about.is_dir() {
                self.folder(&from, &to)?;
            } else if about.is_symlink() {
                match fs::read_link(&from) {
                    Ok(target) => self.writer.link(&to, &target).map_err(MakeError::Write)?,
                    Err(error) => self.without(&from, &error)?,
                }
            } else if about.is_file() {
                self.file(&from, &to)?;
            } else {
                self.leave_out(&from, "neither file, folder nor link");
            }
        }
        Ok(())
    }

    fn file(&mut self, from: &Path, to: &Path) -> Result<(), MakeError> {
        // What has become a link or a pipe meanwhile is neither followed nor waited for.
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(i32::try_from(flags.bits()).unwrap_or(0));
        let opened = options.open(from).and_then(|file| file.metadata().map(|about| (file, about)));
        let (file, metadata) = match opened {
            Ok(opened) => opened,
            Err(error) => return self.without(from, &error),
        };
        if !metadata.is_file() {
            self.leave_out(from, "it is no file any more");
            return Ok(());
        }
        let about = About {
            modified: metadata
                .modified()
                .ok()
                .and_then(|at| at.duration_since(UNIX_EPOCH).ok())
                .map_or(0, |since| since.as_secs()),
            executable: metadata.permissions().mode() & 0o100 != 0,
        };
        let cut = self.writer.file(to, about, metadata.len(), file).map_err(MakeError::Write)?;
        self.files += 1;
        if cut {
            self.leave_out(from, "it was cut while it was copied");
        }
        Ok(())
    }

    /// What is gone meanwhile belongs to a later moment; what this user may not read is named.
    fn without(&mut self, path: &Path, error: &io::Error) -> Result<(), MakeError> {
        match Errno::from_io_error(error) {
            Some(Errno::NOENT) => Ok(()),
            // What has become something else since it was listed, and what no path is short enough for, is named too.
            Some(
                Errno::ACCESS
                | Errno::PERM
                | Errno::LOOP
                | Errno::NXIO
                | Errno::NAMETOOLONG
                | Errno::NOTDIR
                | Errno::ISDIR,
            ) => {
                self.leave_out(path, error);
                Ok(())
            }
            Some(_) | None => Err(MakeError::Read { path: path.to_owned(), source: error.kind().into() }),
        }
    }

    fn leave_out(&mut self, path: &Path, why: impl Display) {
        self.left_out.count += 1;
        if self.left_out.first.len() < NAMED {
            self.left_out.first.push(format!("{}: {why}", shown(path)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_keeps_everything_but_its_database() {
        let text = "# mine\n[store]\nurl = \"postgres://db/holon\"\nlabels = [\"gpu\"] # here\nagents = \"/srv\"\n\n[limits]\n";
        let without = "# mine\n[store]\nlabels = [\"gpu\"] # here\n\n[limits]\n";
        assert_eq!(without_database(text), without);
        assert_eq!(without_database("store.url = \"postgres://db/holon\"\n"), "");
        assert_eq!(without_database("[store"), "[store");
    }
}
