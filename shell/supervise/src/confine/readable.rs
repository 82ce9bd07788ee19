//! Which files the runtime reads on behalf of an agent: those that commands of the agent can read. Links are the agent's to
//! make, so what counts is where a file that is open really is.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use holon_platform::{beneath, regular};

use super::Hidden;

/// What can be read for one agent; by default everything, as under `host_local`.
#[derive(Debug, Clone, Default)]
pub struct Readable(Option<Hidden>);

impl Readable {
    /// Everything but a folder, of which some parts can be read all the same.
    pub(super) fn but(hidden: Hidden) -> Self {
        Self(Some(hidden))
    }

    /// The same, and what is below this folder, which an operator has named.
    #[must_use]
    pub fn and(&self, folder: &Path) -> Self {
        let mut readable = self.clone();
        if let Some(hidden) = &mut readable.0 {
            hidden.shown.push(folder.canonicalize().unwrap_or_else(|_| folder.to_owned()));
        }
        readable
    }

    /// Opens a regular file, wherever links lead, if the agent could read it.
    ///
    /// # Errors
    /// As [`regular::open`]; the agent could not read it.
    pub fn open(&self, path: &Path) -> io::Result<File> {
        Ok(self.open_at(path)?.0)
    }

    /// The same with where the file really is.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_at(&self, path: &Path) -> io::Result<(File, PathBuf)> {
        let file = regular::open(path)?;
        let real = regular::location(&file)?;
        if self.allows(&real) {
            return Ok((file, real));
        }
        Err(hidden())
    }

    /// Opens one by the path that it really has.
    ///
    /// # Errors
    /// As [`beneath::open_real`]; the agent could not read it.
    pub fn open_real(&self, path: &Path) -> io::Result<File> {
        if self.allows(path) { beneath::open_real(path) } else { Err(hidden()) }
    }

    /// Whether a file that is there can be read. One of `/proc` shows the process that opens it, which is the runtime.
    fn allows(&self, real: &Path) -> bool {
        if real.starts_with("/proc") {
            return false;
        }
        let Some(Hidden { folder, shown }) = &self.0 else { return true };
        let below = |shown: &PathBuf| shown.starts_with(folder) && real.starts_with(shown);
        !real.starts_with(folder) || shown.iter().any(below)
    }
}

fn hidden() -> io::Error {
    let problem = "it leads to the runtime's own files, which this agent can't read";
    io::Error::new(ErrorKind::PermissionDenied, problem)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_link_leads_to_what_the_agent_can_read_and_no_further() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        for name in ["home/agents/a/own", "home/agents/b/foreign", "home/key", "work/file", "user/skill"] {
            fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            fs::write(at(name), name).unwrap();
        }
        // A folder around the hidden one shows nothing of it.
        let shown = vec![at("home/agents/a"), at("")];
        let readable = Readable::but(Hidden { folder: at("home"), shown });
        let link = at("work/link");
        let read = |readable: &Readable, to: &Path| {
            fs::remove_file(&link).ok();
            symlink(to, &link).unwrap();
            readable
                .open(&link)
                .map(|file| io::read_to_string(file).unwrap())
                .map_err(|problem| problem.kind())
        };
        for name in ["home/agents/a/own", "work/file", "user/skill"] {
            assert_eq!(read(&readable, &at(name)).as_deref(), Ok(name));
        }
        for name in ["home/agents/b/foreign", "home/key", "home/agents/a/../../key"] {
            assert_eq!(read(&readable, &at(name)), Err(ErrorKind::PermissionDenied), "{name}");
            assert!(read(&Readable::default(), &at(name)).is_ok(), "{name}");
        }
        symlink(at("home/agents/b"), at("home/agents/a/way")).unwrap();
        assert_eq!(read(&readable, &at("home/agents/a/way/foreign")), Err(ErrorKind::PermissionDenied));
        assert!(read(&readable.and(&at("home/agents/b")), &at("home/agents/a/way/foreign")).is_ok());
        for readable in [&readable, &Readable::default()] {
            assert!(read(readable, Path::new("/proc/self/environ")).is_err());
        }
    }
}
