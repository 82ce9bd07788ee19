//! What patches do to files. Helpers here, one file per subject.

mod basics;
mod crash;
mod envelope;
mod fuzz;
#[cfg(target_os = "linux")]
mod links;
mod names;
mod property;
mod wrapped;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use holon_supervise::confine::Report;

use super::*;

/// A folder to work in, and one for journals.
struct Place {
    root: tempfile::TempDir,
    journals: tempfile::TempDir,
}

type Told = (String, &'static str, usize, usize);
/// Path, mode and text of everything there is.
type Listing = Vec<(String, u32, Vec<u8>)>;

impl Place {
    fn with(files: &[(&str, &str)]) -> Self {
        let place = Self { root: tempfile::tempdir().unwrap(), journals: tempfile::tempdir().unwrap() };
        for (name, text) in files {
            let path = place.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn root(&self) -> Root {
        Root::open(&self.root.path().display().to_string(), false).unwrap()
    }

    /// Held back or not, a patch does the same.
    fn changed(&self, patch: &str) -> Result<Vec<Changed>, Refusal> {
        let confined = patch.len().is_multiple_of(2) && Report::of_this_kernel().landlock > 0;
        let changed = apply(&self.root(), patch, self.journals.path(), &AtomicBool::new(false), confined);
        assert_eq!(fs::read_dir(self.journals.path()).unwrap().count(), 0, "a journal stayed");
        changed
    }

    fn apply(&self, patch: &str) -> Result<Vec<Told>, Refusal> {
        let told = |file: Changed| (file.path, file.change, file.added, file.removed);
        Ok(self.changed(patch)?.into_iter().map(told).collect())
    }

    /// The refusal of a patch, which has changed nothing.
    fn refusal(&self, patch: &str) -> Refusal {
        let before = self.listing();
        let refusal = self.changed(patch).unwrap_err();
        assert_eq!(before, self.listing(), "a refused patch changes nothing");
        refusal
    }

    fn refused(&self, patch: &str) -> (ToolErrorKind, String) {
        let refusal = self.refusal(patch);
        (refusal.0.kind, format!("{} ({})", refusal.0.message, refusal.0.hint.unwrap_or_default()))
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn mode(&self, name: &str) -> u32 {
        fs::metadata(self.path(name)).unwrap().permissions().mode() & 0o7777
    }

    fn set_mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn listing(&self) -> Listing {
        let mut all = Vec::new();
        list(self.root.path(), self.root.path(), &mut all);
        all.sort();
        all
    }

    fn names(&self) -> Vec<String> {
        self.listing().into_iter().map(|(name, _, _)| name).collect()
    }
}

fn list(root: &Path, folder: &Path, all: &mut Listing) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let about = path.symlink_metadata().unwrap();
        let name = path.strip_prefix(root).unwrap().display().to_string();
        all.push((name, about.permissions().mode() & 0o7777, fs::read(&path).unwrap_or_default()));
        if about.is_dir() {
            list(root, &path, all);
        }
    }
}

const ONE: &str = "one\ntwo\nthree\nfour\nfive\n";
