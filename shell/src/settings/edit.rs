//! Changing a file of the configuration: one at a time, keeping comments and order, and whole or not at all.

use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use holon_platform::{Environment, entropy};
use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

use super::source::{Source, SourceError, implicit_table, split};
use super::{Problem, Settings, SettingsError, credentials};
use crate::home::{Home, HomeError};

/// How often a lock is tried, and how long is waited between.
const TRIES: u32 = 250;
const BETWEEN: Duration = Duration::from_millis(20);

/// A file that is being changed. Nobody else changes one of this home meanwhile.
pub struct Editor {
    before: Source,
    document: DocumentMut,
    /// The file itself, where the path is a link to it.
    target: PathBuf,
    mode: u32,
    _lock: File,
}

/// A change that can't be made.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error(transparent)]
    Home(#[from] HomeError),
    #[error("another command has been changing the configuration of {} for seconds", home.display())]
    Busy { home: PathBuf },
    #[error("{} can't be written: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error("{name} is not the name of a key")]
    BadName { name: String },
    #[error("{name} is a value in the file, not a table")]
    NotATable { name: String },
}

impl From<SourceError> for EditError {
    fn from(error: SourceError) -> Self {
        Self::Settings(error.into())
    }
}

impl Editor {
    /// Opens `config.toml`.
    pub fn config(home: &Home) -> Result<Self, EditError> {
        Self::open(home, &home.config(), |source| Ok(source.mode.unwrap_or(0o600)))
    }

    /// Opens `credentials.toml`, which stays its owner's alone.
    pub fn credentials(home: &Home) -> Result<Self, EditError> {
        Self::open(home, &home.credentials(), |source| credentials::private(source).map(|()| 0o600))
    }

    fn open(
        home: &Home,
        path: &Path,
        mode: impl FnOnce(&Source) -> Result<u32, SettingsError>,
    ) -> Result<Self, EditError> {
        home.create()?;
        let lock = lock(home)?;
        let before = Source::read(path)?;
        let mode = mode(&before)?;
        let document = before.parse()?.into_mut();
        // A link to a file elsewhere stays one.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        Ok(Self { before, document, target, mode, _lock: lock })
    }

    /// Puts a value at a dotted name. What stands around it, comments among it, stays.
    pub fn set(&mut self, name: &str, mut value: Value) -> Result<(), EditError> {
        let bad_name = || EditError::BadName { name: name.to_owned() };
        let path = split(name).ok_or_else(bad_name)?;
        let (last, tables) = path.split_last().ok_or_else(bad_name)?;
        let first = if tables.is_empty() { Table::new() } else { self.first_table() };
        let mut table: &mut dyn TableLike = self.document.as_table_mut();
        for (depth, part) in tables.iter().enumerate() {
            let new = if depth + 1 < tables.len() { implicit_table() } else { Item::Table(first.clone()) };
            let item = table.entry(part).or_insert(new);
            let not_a_table = || EditError::NotATable { name: tables[..=depth].join(".") };
            table = item.as_table_like_mut().ok_or_else(not_a_table)?;
        }
        match table.get_mut(last).and_then(Item::as_value_mut) {
            Some(old) => {
                *value.decor_mut() = old.decor().clone();
                *old = value;
            }
            None => {
                value.decor_mut().clear();
                drop(table.insert(last, Item::Value(value)));
            }
        }
        Ok(())
    }

    /// An empty table. In a file of nothing but comments it comes after them: they describe what follows.
    fn first_table(&mut self) -> Table {
        let mut table = Table::new();
        let comments = self.document.trailing().as_str().unwrap_or_default().trim_end();
        if self.document.as_table().is_empty() && !comments.is_empty() {
            table.decor_mut().set_prefix(format!("{comments}\n\n"));
            self.document.set_trailing("");
        }
        table
    }

    /// Takes a value or a whole table away; says whether there was one.
    pub fn unset(&mut self, name: &str) -> Result<bool, EditError> {
        let path = split(name).ok_or_else(|| EditError::BadName { name: name.to_owned() })?;
        let removed = remove(self.document.as_table_mut(), &path);
        // What is left of a provider or a server without any option would look like one.
        if let (true, [tables @ .., provider, _]) = (removed, path.as_slice())
            && let Some(groups) = at(self.document.as_table_mut(), tables)
            && groups.get(provider).and_then(Item::as_table_like).is_some_and(TableLike::is_empty)
        {
            groups.remove(provider);
        }
        Ok(removed)
    }

    /// Whether the file has something at a dotted name.
    pub fn has(&self, name: &str) -> bool {
        let Some(path) = split(name) else { return false };
        let mut item = Some(self.document.as_item());
        for part in &path {
            item = item.and_then(|item| item.as_table_like()).and_then(|table| table.get(part));
        }
        item.is_some()
    }

    /// What is wrong with `config.toml` after the change: first what was fine before it, then the rest. The
    /// environment does not count: the file must be fine without it.
    pub fn problems(&self) -> Result<(Vec<Problem>, Vec<Problem>), EditError> {
        let nothing = Environment::default();
        let (_, before) = Settings::of(&self.before, &nothing)?;
        let (_, after) = Settings::of(&self.after(), &nothing)?;
        Ok(after.into_iter().partition(|problem| !before.iter().any(|old| old.is_like(problem))))
    }

    /// The settings after the change.
    pub fn settings(&self, environment: &Environment) -> Result<Settings, EditError> {
        Ok(Settings::of(&self.after(), environment)?.0)
    }

    /// Writes the file: a new one beside it first, which then takes its place.
    pub fn save(self) -> Result<(), EditError> {
        let failed = |source: io::Error| EditError::Write { path: self.target.clone(), source };
        let folder = self.target.parent().unwrap_or(Path::new("/"));
        let name = self.target.file_name().unwrap_or_default().to_string_lossy();
        let random = entropy::name().map_err(failed)?;
        let beside = folder.join(format!(".{name}.{random}"));
        let written = self.write(&beside).and_then(|()| fs::rename(&beside, &self.target));
        if let Err(error) = written {
            // The old file is whole; what is left of the new one is of no use.
            fs::remove_file(&beside).ok();
            return Err(failed(error));
        }
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)
    }

    fn write(&self, path: &Path) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        file.write_all(self.document.to_string().as_bytes())?;
        if self.mode != 0o600 {
            file.set_permissions(Permissions::from_mode(self.mode))?;
        }
        file.sync_all()
    }

    fn after(&self) -> Source {
        Source { text: self.document.to_string(), ..self.before.clone() }
    }
}

/// The table that these names lead to; none where they lead to no further table than the document itself.
fn at<'a>(document: &'a mut Table, path: &[String]) -> Option<&'a mut dyn TableLike> {
    let (first, rest) = path.split_first()?;
    let mut table = document.get_mut(first)?.as_table_like_mut()?;
    for name in rest {
        table = table.get_mut(name)?.as_table_like_mut()?;
    }
    Some(table)
}

fn remove(table: &mut dyn TableLike, path: &[String]) -> bool {
    match path {
        [] => false,
        [last] => table.remove(last).is_some(),
        [first, rest @ ..] => {
            let inner = table.get_mut(first).and_then(Item::as_table_like_mut);
            inner.is_some_and(|inner| remove(inner, rest))
        }
    }
}

/// Waits for whoever changes the configuration of this home, for some seconds.
fn lock(home: &Home) -> Result<File, EditError> {
    let path = home.config_lock()?;
    let failed = |source: io::Error| EditError::Write { path: path.clone(), source };
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = options.open(&path).map_err(failed)?;
    for _ in 0..TRIES {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => std::thread::sleep(BETWEEN),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
    }
    Err(EditError::Busy { home: home.root().to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# my settings\n\n[limits] # bounds\n# plenty\nrounds = 7 # so far\n\n[model]\ndefault \
                        = \"local/a\"\n";

    fn edited(text: &str, edit: impl FnOnce(&mut Editor)) -> String {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        fs::write(home.config(), text).unwrap();
        let mut editor = Editor::config(&home).unwrap();
        edit(&mut editor);
        editor.save().unwrap();
        let files: Vec<_> =
            fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(files.len(), 2, "config.toml and run: {files:?}");
        fs::read_to_string(home.config()).unwrap()
    }

    #[test]
    fn comments_and_order_stay() {
        let text = edited(TEXT, |editor| {
            editor.set("limits.rounds", 9.into()).unwrap();
            editor.set("providers.mine.base_url", "http://h".into()).unwrap();
            assert!(editor.unset("model.default").unwrap() && !editor.unset("model.none").unwrap());
        });
        assert_eq!(
            text,
            "# my settings\n\n[limits] # bounds\n# plenty\nrounds = 9 # so far\n\n[model]\n\n[providers.mine]\n\
             base_url = \"http://h\"\n"
        );
    }

    #[test]
    fn comments_of_an_empty_file_stay_at_its_beginning() {
        for text in ["# first\n#\n# [limits]\n# rounds = 7\n", "# first\n#\n# [limits]\n# rounds = 7"] {
            let text = edited(text, |editor| {
                editor.set("limits.rounds", 9.into()).unwrap();
                editor.set("providers.mine.base_url", "http://h".into()).unwrap();
            });
            assert_eq!(
                text,
                "# first\n#\n# [limits]\n# rounds = 7\n\n[limits]\nrounds = 9\n\n[providers.mine]\n\
                 base_url = \"http://h\"\n"
            );
        }
    }

    #[test]
    fn a_provider_goes_with_its_last_option() {
        let text = edited("[providers.a]\nstream = true\n[providers.b]\nstream = true\n", |editor| {
            assert!(editor.unset("providers.a.stream").unwrap());
        });
        assert_eq!(text, "[providers.b]\nstream = true\n");
        let text = edited("providers = { a = { stream = true } }\n", |editor| {
            editor.set("providers.a.stream", false.into()).unwrap();
        });
        assert_eq!(text, "providers = { a = { stream = false } }\n");
    }

    #[test]
    fn only_new_problems_are_new() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        fs::write(home.config(), "[limits]\nround = 1\n").unwrap();
        let mut editor = Editor::config(&home).unwrap();
        editor.set("limits.agents", 0.into()).unwrap();
        let (new, old) = editor.problems().unwrap();
        assert_eq!((new.len(), old.len()), (1, 1));
        assert_eq!((new[0].key.as_str(), old[0].key.as_str()), ("limits.agents", "limits.round"));
    }

    #[test]
    fn a_link_stays_a_link_and_modes_stay() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("dotfiles.toml");
        fs::write(&real, "").unwrap();
        fs::set_permissions(&real, Permissions::from_mode(0o644)).unwrap();
        let home = Home::at(folder.path().join("home"));
        home.create().unwrap();
        std::os::unix::fs::symlink(&real, home.config()).unwrap();
        let mut editor = Editor::config(&home).unwrap();
        editor.set("limits.rounds", 9.into()).unwrap();
        editor.save().unwrap();
        assert_eq!(fs::read_to_string(&real).unwrap(), "[limits]\nrounds = 9\n");
        assert!(home.config().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o644);
    }
}
