//! Which build this is. The binaries say so first: a commit builds them again, and not this library.

use std::sync::OnceLock;

static COMMIT: OnceLock<&'static str> = OnceLock::new();
static VERSION: OnceLock<String> = OnceLock::new();
static ID: OnceLock<String> = OnceLock::new();

/// Says from which commit the binary is built; what was said first stands.
pub fn of_commit(commit: Option<&'static str>) {
    if let Some(commit) = commit {
        let _second = COMMIT.set(commit);
    }
}

/// The version, and the commit where it is known: `0.1.0 (0123456789ab)`.
pub fn version() -> &'static str {
    VERSION.get_or_init(|| {
        let version = env!("CARGO_PKG_VERSION");
        COMMIT.get().map_or_else(|| version.to_owned(), |commit| format!("{version} ({commit})"))
    })
}

/// Names this build in what it writes: decisions and stored states of another one may differ.
pub fn id() -> &'static str {
    ID.get_or_init(|| format!("holon {}", version()))
}
