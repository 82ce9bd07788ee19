//! Which commit a binary is built from.
//!
//! A build script would make its whole package again at each commit. A macro is expanded where it stands: it names the
//! files of git that change with a commit as sources of that one crate, and so a commit builds the small crates of the
//! binaries again, and no library.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use proc_macro::TokenStream;

/// Names the commit where no git is asked, for packagers.
const OVERRIDE: &str = "HOLON_BUILD_COMMIT";
/// Digits of a commit that are shown.
const DIGITS: usize = 12;
/// What a build is made of; anything else in the repository changes no binary.
const SOURCES: [&str; 4] = [":/core", ":/shell", ":/Cargo.toml", ":/Cargo.lock"];

/// `Some("0123456789ab")`, with `-modified` behind it where sources differ from the commit; `None` where nobody knows.
#[proc_macro]
pub fn commit(_: TokenStream) -> TokenStream {
    let folder = PathBuf::from(variable("CARGO_MANIFEST_DIR").unwrap_or_default());
    let repository = Repository { folder: &folder };
    let named = variable(OVERRIDE).filter(|named| !named.is_empty());
    let commit = named.or_else(|| repository.commit());
    let mut code = format!("{{ const _: ::core::option::Option<&str> = option_env!({OVERRIDE:?}); ");
    for file in repository.files() {
        let _infallible = write!(code, "const _: &[u8] = include_bytes!({:?}); ", file.display().to_string());
    }
    let _infallible = match commit {
        Some(commit) => write!(code, "::core::option::Option::Some({commit:?}) }}"),
        None => write!(code, "::core::option::Option::None::<&'static str> }}"),
    };
    code.parse().unwrap_or_default()
}

#[expect(clippy::disallowed_methods, reason = "the compiler's environment, not the runtime's")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

struct Repository<'a> {
    folder: &'a Path,
}

impl Repository<'_> {
    /// None where git does not know the sources: an archive, or a copy inside of a repository of something else.
    fn commit(&self) -> Option<String> {
        self.git(&["ls-files", "--error-unmatch", "Cargo.toml"])?;
        let commit = self.git(&["rev-parse", "HEAD"])?;
        let commit = commit.get(..DIGITS)?;
        let status = ["--no-optional-locks", "status", "--porcelain", "--"];
        let changes = self.git(&[&status[..], &SOURCES].concat())?;
        Some(format!("{commit}{}", if changes.is_empty() { "" } else { "-modified" }))
    }

    /// The files of git that a commit changes.
    fn files(&self) -> Vec<PathBuf> {
        let branch = self.git(&["symbolic-ref", "-q", "HEAD"]);
        let names = ["HEAD"].into_iter().chain(branch.as_deref()).chain(["packed-refs"]);
        let path = |name: &str| Some(self.folder.join(self.git(&["rev-parse", "--git-path", name])?));
        names.filter_map(path).filter(|path| path.is_file()).collect()
    }

    fn git(&self, words: &[&str]) -> Option<String> {
        let mut git = Command::new("git");
        // A hook of another repository may be what builds.
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
            git.env_remove(name);
        }
        let output = git.arg("-C").arg(self.folder).args(words).output().ok()?;
        let text = String::from_utf8(output.stdout).ok()?;
        output.status.success().then(|| text.trim_end().to_owned())
    }
}
