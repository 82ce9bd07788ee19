//! The mark of a home that was restored. The original may still be at work: its commands, its timers, those who call it back. So
//! no runtime starts here before an operator has accepted that.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use holon_facts::Wall;
use serde::{Deserialize, Serialize};

use crate::home::Home;

/// What `restored.json` of a home says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Mark {
    /// Whether everything of the backup is there.
    pub(super) whole: bool,
    pub(super) backup: PathBuf,
    /// The home that the backup is of.
    pub(super) of_home: String,
    pub(super) made_at: Wall,
    pub(super) restored_at: Wall,
}

/// Why no runtime may start in a home.
#[derive(Debug, thiserror::Error)]
pub enum Unaccepted {
    #[error("the backup {backup} was not restored to its end into {home}", backup = backup.display(), home = home.display())]
    Unfinished { home: PathBuf, backup: PathBuf },
    #[error(
        "{home} was restored from a backup that was made of {of_home} at {made_at}: if that home is still in use, both would \
         talk to the same models and repositories, act on the same timers and end each other's commands",
        home = home.display()
    )]
    Restored { home: PathBuf, of_home: String, made_at: Wall },
    #[error("{path} can't be read: {source}", path = path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

impl Unaccepted {
    /// What to do.
    pub fn hint(&self) -> String {
        match self {
            Self::Unfinished { backup, .. } => format!("holon ledger restore {}, again", backup.display()),
            Self::Restored { .. } => {
                "stop the other runtime for good, then holon daemon start --accept-restored".to_owned()
            }
            Self::Unreadable { path, .. } => format!("the rights of {}", path.display()),
        }
    }
}

/// Where the mark of a home is.
pub(super) fn path_of(home: &Home) -> PathBuf {
    home.root().join("restored.json")
}

/// Whether a runtime may start in this home.
///
/// # Errors
/// When it was restored, and nobody has accepted that.
pub fn may_start(home: &Home) -> Result<(), Unaccepted> {
    let path = path_of(home);
    let unreadable = |source| Unaccepted::Unreadable { path: path.clone(), source };
    match read(&path).map_err(unreadable)? {
        None => Ok(()),
        Some(Mark { whole: false, backup, .. }) => {
            Err(Unaccepted::Unfinished { home: home.root().to_owned(), backup })
        }
        Some(Mark { of_home, made_at, .. }) => {
            Err(Unaccepted::Restored { home: home.root().to_owned(), of_home, made_at })
        }
    }
}

/// Takes the mark of a restored home away; only who has the home may call this. Says whether there was one.
///
/// # Errors
/// When the restore did not end, or the mark can't be removed.
pub fn accept(home: &Home) -> Result<bool, Unaccepted> {
    match may_start(home) {
        Ok(()) => Ok(false),
        Err(Unaccepted::Restored { .. }) => {
            let path = path_of(home);
            fs::remove_file(&path)
                .and_then(|()| File::open(home.root())?.sync_all())
                .map_err(|source| Unaccepted::Unreadable { path, source })?;
            Ok(true)
        }
        Err(error) => Err(error),
    }
}

pub(super) fn read(path: &Path) -> io::Result<Option<Mark>> {
    match fs::read(path) {
        Ok(text) => Ok(Some(holon_facts::json::read(&text)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a mark, so that it outlives the end of the machine.
pub(super) fn write(home: &Home, mark: &Mark) -> io::Result<()> {
    let path = path_of(home);
    let draft = home.run_file("restored.draft");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    serde_json::to_writer_pretty(&mut file, mark)?;
    file.write_all(b"\n")?;
    file.sync_all()?;
    fs::rename(&draft, &path)?;
    File::open(home.root())?.sync_all()
}
