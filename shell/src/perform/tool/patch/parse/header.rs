//! What git says of a file before its hunks, or instead of them.

use super::{Action, FilePatch, Refusal, SHAPE, path, rejected};

#[derive(Debug, Default)]
pub(super) struct Header {
    /// Line of the patch with `diff --git`, from 1.
    pub(super) line: usize,
    /// As they stand in that line, prefixes and all.
    names: Option<(String, String)>,
    kind: Kind,
    from: Option<String>,
    to: Option<String>,
    pub(super) executable: Option<bool>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Kind {
    #[default]
    Modified,
    Created,
    Deleted,
    Renamed,
    Copied,
}

impl Header {
    pub(super) fn named(text: &str, line: usize) -> Self {
        let names = text.strip_prefix("diff --git ").and_then(|names| path::pair(names.trim_end()));
        Self { line, names, ..Self::default() }
    }

    /// One line below `diff --git`; what says nothing about the file is passed over.
    pub(super) fn read(&mut self, line: &str) -> Result<(), Refusal> {
        let after = |prefix: &str| line.strip_prefix(prefix).map(str::trim_end);
        if let Some(mode) = after("new file mode ") {
            self.kind = Kind::Created;
            self.executable = Some(executable(mode)?);
        } else if let Some(mode) = after("deleted file mode ") {
            self.kind = Kind::Deleted;
            executable(mode)?;
        } else if let Some(mode) = after("new mode ") {
            self.executable = Some(executable(mode)?);
        } else if let Some(mode) = after("old mode ") {
            executable(mode)?;
        } else if let Some(from) = after("rename from ") {
            (self.kind, self.from) = (Kind::Renamed, Some(path::name(from)?));
        } else if let Some(from) = after("copy from ") {
            (self.kind, self.from) = (Kind::Copied, Some(path::name(from)?));
        } else if let Some(to) = after("rename to ").or_else(|| after("copy to ")) {
            self.to = Some(path::name(to)?);
        } else if line.starts_with("GIT binary patch") || line.starts_with("Binary files ") {
            let message = format!("{}: binary patches are not supported", self.shown());
            return Err(rejected(message).hint("leave the file out of the patch and create it by a command"));
        }
        Ok(())
    }

    fn shown(&self) -> String {
        let name = self.to.as_deref().or_else(|| self.names.as_ref().map(|(_, new)| new.as_str()));
        name.map_or_else(
            || format!("line {}", self.line),
            |name| name.strip_prefix("b/").unwrap_or(name).to_owned(),
        )
    }

    /// A file that has no hunks: it is empty, or only its name or its mode changes.
    pub(super) fn without_hunks(self) -> Result<FilePatch<'static>, Refusal> {
        let (line, executable) = (self.line, self.executable);
        if self.kind == Kind::Modified && executable.is_none() {
            let message = format!("line {line}: no change follows the diff --git line of {}", self.shown());
            return Err(rejected(message).hint(SHAPE));
        }
        let action = self.action()?;
        Ok(FilePatch { line, action, hunks: Vec::new(), executable, whole: false })
    }

    /// What happens to the file, where no `---` and `+++` lines say it.
    pub(super) fn action(self) -> Result<Action, Refusal> {
        let unnamed = || {
            rejected(format!("line {}: the paths can't be separated", self.line))
                .hint("add --- and +++ lines, or rename from and rename to")
        };
        let names = self.names.clone().map(|(old, new)| path::without_prefixes(Some(old), Some(new), true));
        let (old, new) = names.unwrap_or_default();
        match self.kind {
            Kind::Modified => super::action(Some(old.ok_or_else(unnamed)?), Some(new.ok_or_else(unnamed)?)),
            Kind::Created => Ok(Action::Create { path: new.ok_or_else(unnamed)? }),
            Kind::Deleted => Ok(Action::Delete { path: old.ok_or_else(unnamed)? }),
            Kind::Renamed | Kind::Copied => self.moved(),
        }
    }

    fn moved(self) -> Result<Action, Refusal> {
        let (Some(from), Some(to)) = (self.from, self.to) else {
            let message = format!("line {}: a rename or copy names only one of its two paths", self.line);
            return Err(rejected(message).hint("write rename from and rename to"));
        };
        if from == to {
            return Err(rejected(format!("line {}: {from} would become itself", self.line)).hint(SHAPE));
        }
        Ok(if self.kind == Kind::Copied { Action::Copy { from, to } } else { Action::Rename { from, to } })
    }

    /// What happens to the file, where `---` and `+++` lines follow that name the same.
    pub(super) fn agreed(self, old: Option<String>, new: Option<String>) -> Result<Action, Refusal> {
        match self.kind {
            Kind::Modified => super::action(old, new),
            // Models leave the path on both sides of a file that is created or deleted.
            Kind::Created => super::action(None, new),
            Kind::Deleted => super::action(old, None),
            Kind::Renamed | Kind::Copied => self.moved(),
        }
    }

    /// Whether it says all of a file, and `---` and `+++` lines after it name another one.
    pub(super) fn is_of_another(&self, old: Option<&String>, new: Option<&String>) -> bool {
        match self.kind {
            Kind::Renamed | Kind::Copied => old != self.from.as_ref() || new != self.to.as_ref(),
            Kind::Modified | Kind::Created | Kind::Deleted => false,
        }
    }

    /// Refuses `---` and `+++` lines, the first of them in line `at`, that name another file than the one that
    /// is made, deleted or given a mode here: which of the two is meant can't be known.
    pub(super) fn same_names(
        &self,
        at: usize,
        old: Option<&String>,
        new: Option<&String>,
    ) -> Result<(), Refusal> {
        let names = self.names.clone().map(|(old, new)| path::without_prefixes(Some(old), Some(new), true));
        let (own_old, own_new) = names.unwrap_or_default();
        let (own, named, line) = match self.kind {
            Kind::Modified if self.executable.is_none() => return Ok(()),
            Kind::Renamed | Kind::Copied => return Ok(()),
            Kind::Created | Kind::Modified => (own_new, new, at + 1),
            Kind::Deleted => (own_old, old, at),
        };
        let Some(own) = own.filter(|own| Some(own) != named) else { return Ok(()) };
        let named = named.map_or("/dev/null", String::as_str);
        let message = format!(
            "{named}: line {line} of the patch names it, and the diff --git line {} {own}",
            self.line
        );
        Err(rejected(message)
            .hint("write the same path in both, or begin the other file with a diff --git line of its own"))
    }
}

/// What a mode of git means; links and submodules are no files that a patch can write.
fn executable(mode: &str) -> Result<bool, Refusal> {
    match mode {
        "100644" | "100664" | "100600" => Ok(false),
        "100755" | "100775" | "100700" => Ok(true),
        "120000" => Err(rejected("symbolic links can't be created, changed or deleted by a patch")
            .hint("use ln -s, or rm")),
        "160000" => Err(rejected("submodules can't be changed by a patch").hint("use git")),
        _ => {
            Err(rejected(format!("{mode:?} is not a mode of a file"))
                .hint("use 100644, or 100755 for a program"))
        }
    }
}
