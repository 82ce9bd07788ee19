//! The folder that holds everything: `$HOLON_HOME`, by default `~/.holon` (contract: surface.md, Files).

mod draft;
pub mod secret;

use std::os::fd::OwnedFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

use holon_facts::AgentId;
use holon_ledger::LedgerPlace;
use holon_ledger::postgres::{Server, UrlError};
use holon_platform::crash_point::{Point, reached};
use holon_platform::{Environment, beneath};
use holon_supervise::confine::Readable;
use rustix::fs::{Mode, mkdirat, open};
use rustix::io::Errno;

use self::draft::{Draft, FOLDER, put};

/// Paths below one home. Making one creates nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    root: PathBuf,
    /// The database that holds its ledger.
    database: Option<Server>,
    /// Of that, the cell.
    cell: i64,
    /// Where the homes of agents are, unless they are in it.
    agents: Option<PathBuf>,
}

/// The cell that holds the ledger of a home, unless nodes share several.
const FIRST: i64 = 1;

/// What is no file to copy: a link and a pipe are none either.
const NO_FILE: [io::ErrorKind; 4] = [
    io::ErrorKind::NotFound,
    io::ErrorKind::NotADirectory,
    io::ErrorKind::IsADirectory,
    io::ErrorKind::InvalidInput,
];

/// A home that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    #[error(
        "neither HOLON_HOME nor HOME is set: choose where to keep state, for example HOLON_HOME=/var/lib/holon"
    )]
    Unknown,
    #[error("{path} is not a folder, so it can't be a home; name another one with --home or HOLON_HOME")]
    NotAFolder { path: PathBuf },
    #[error("{origin} is not UTF-8, or empty; name a home that can be written down")]
    NotText { origin: &'static str },
    #[error("store.url names no database: {source}")]
    Database { source: UrlError },
    #[error("{path} can't be created: {source}; is HOLON_HOME writable?")]
    NotWritable { path: PathBuf, source: io::Error },
}

const AGENT_FOLDERS: [&str; 4] = ["memory", "notes", "work", "skills"];
const AGENT_FILES: [&str; 3] = ["AGENTS.md", "memory/self.md", "memory/operator.md"];

impl Home {
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), database: None, cell: FIRST, agents: None }
    }

    /// The home that a flag or the environment names, absolute.
    pub fn find(flag: Option<PathBuf>, environment: &Environment) -> Result<Self, HomeError> {
        let origin = if flag.is_some() { "--home" } else { "HOLON_HOME" };
        let not_text = flag.is_none() && environment.is_not_text("HOLON_HOME");
        let named = flag.or_else(|| environment.get("HOLON_HOME").map(PathBuf::from));
        let root = match (named, environment.get("HOME")) {
            (Some(root), _) => root,
            (None, Some(home)) => Path::new(home).join(".holon"),
            (None, None) => return Err(HomeError::Unknown),
        };
        // The path becomes part of prompts, records and environments, which are text.
        if not_text || root.as_os_str().is_empty() || root.to_str().is_none() {
            return Err(HomeError::NotText { origin });
        }
        let root = std::path::absolute(&root)
            .map_err(|source| HomeError::NotWritable { path: root.clone(), source })?;
        if fs::metadata(&root).is_ok_and(|about| !about.is_dir()) {
            return Err(HomeError::NotAFolder { path: root });
        }
        Ok(Self { root, database: None, cell: FIRST, agents: None })
    }

    /// The same with its ledger in the database at an address.
    ///
    /// # Errors
    /// When the address names none.
    pub fn in_database(self, url: &str) -> Result<Self, HomeError> {
        let server = Server::new(url).map_err(|source| HomeError::Database { source })?;
        Ok(Self { database: Some(server), ..self })
    }

    /// The same with the homes of agents in another folder, which nodes share.
    #[must_use]
    pub fn with_agents(self, agents: PathBuf) -> Self {
        Self { agents: Some(agents), ..self }
    }

    /// Where a node keeps what belongs to the runtime of one cell. Homes of agents are where they are; what people configure
    /// is read of the home itself, and what the first cell has is in it.
    #[must_use]
    pub fn of_cell(&self, cell: i64) -> Self {
        if cell == FIRST {
            return self.clone();
        }
        let root = self.root.join("cells").join(cell.to_string());
        Self { root, database: self.database.clone(), cell, agents: Some(self.agents()) }
    }

    /// The database that holds its ledger, where it is in one.
    pub fn database(&self) -> Option<&Server> {
        self.database.as_ref()
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn config(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    pub fn credentials(&self) -> PathBuf {
        self.root.join("credentials.toml")
    }

    /// The file that whoever changes the configuration locks; its folder is made.
    pub fn config_lock(&self) -> Result<PathBuf, HomeError> {
        let folder = self.root.join("run");
        make_folder(&folder)?;
        Ok(folder.join("config.lock"))
    }

    /// What addresses of triggers are signed with.
    pub fn trigger_key(&self) -> PathBuf {
        self.root.join("trigger.key")
    }

    /// Where logs of tool servers are, and what they listed last.
    pub fn mcp(&self) -> PathBuf {
        self.root.join("mcp")
    }

    /// What references to texts of the memory are signed with.
    pub fn memory_key(&self) -> PathBuf {
        self.root.join("memory.key")
    }

    /// The control token that the home has of its own.
    pub fn control_token(&self) -> PathBuf {
        self.root.join("control.token")
    }

    /// Where its ledger is: in a file, unless `store.url` names a database.
    pub fn ledger(&self) -> LedgerPlace {
        match &self.database {
            None => LedgerPlace::File(self.ledger_file()),
            Some(server) => LedgerPlace::Cell {
                server: server.clone(),
                cell: self.cell,
                head: self.root.join("database.cell"),
            },
        }
    }

    /// The file of its ledger, where it is in a file.
    pub fn ledger_file(&self) -> PathBuf {
        self.root.join("ledger.sqlite3")
    }

    /// Where the runtime of the home listens.
    pub fn socket(&self) -> PathBuf {
        self.run_file("holon.sock")
    }

    /// A file of the runtime that has the home.
    pub fn run_file(&self, name: &str) -> PathBuf {
        self.root.join("run").join(name)
    }

    pub fn agent(&self, agent: &AgentId) -> PathBuf {
        self.agents().join(agent.as_str())
    }

    /// Where the homes of agents are.
    pub fn agents(&self) -> PathBuf {
        self.agents.clone().unwrap_or_else(|| self.root.join("agents"))
    }

    /// The same without links: what is bound there is known by one name.
    pub fn real_agents(&self) -> PathBuf {
        match &self.agents {
            Some(agents) => agents.canonicalize().unwrap_or_else(|_| agents.clone()),
            None => self.root.canonicalize().map_or_else(|_| self.agents(), |root| root.join("agents")),
        }
    }

    /// The home of a one-shot run: a ledger of its own, so that two never get in each other's way.
    pub fn run(&self, id: &str) -> Self {
        Self::at(self.runs().join(id))
    }

    /// Where the homes of one-shot runs are.
    pub fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    /// The home around a temporary run's home; any other one is its own.
    pub fn shared(root: &Path) -> &Path {
        let is_run = root.file_name().is_some_and(|name| name.to_string_lossy().starts_with("run-"));
        match root.parent() {
            Some(runs) if is_run && runs.ends_with("runs") => runs.parent().unwrap_or(root),
            Some(_) | None => root,
        }
    }

    /// Makes the home's own folder and the one for its locks, for its owner alone: a home that nothing can be
    /// written to is found out here.
    pub fn create(&self) -> Result<(), HomeError> {
        make_folder(&self.root.join("run"))
    }

    /// Makes an agent's folders.
    pub fn create_folders(&self, agent: &AgentId) -> Result<PathBuf, HomeError> {
        self.open_agent(agent).map(|(path, _)| path)
    }

    /// Makes an agent's folders and first files, with those standing instructions; never overwrites one. What a link
    /// stands for is the agent's own business: nothing is made behind one.
    pub fn create_agent(&self, agent: &AgentId, instructions: &str) -> Result<PathBuf, HomeError> {
        let (path, home) = self.open_agent(agent)?;
        for (name, text) in AGENT_FILES.into_iter().zip([instructions, "", ""]) {
            put(&home, name, text.as_bytes()).map_err(|source| not_writable(path.join(name), source))?;
        }
        Ok(path)
    }

    /// What of an agent's home is still to be made, the innermost first.
    pub fn missing(&self, agent: &AgentId) -> Vec<PathBuf> {
        let path = self.agent(agent);
        let is_made =
            |name: &&str| Path::new(name).parent().is_none_or(|folder| !path.join(folder).is_symlink());
        let inner = AGENT_FILES.iter().filter(|name| is_made(name)).chain(&AGENT_FOLDERS);
        let all = inner.map(|name| path.join(name)).chain([path.clone()]);
        let is_missing = |path: &PathBuf| {
            path.symlink_metadata().is_err_and(|problem| problem.kind() == io::ErrorKind::NotFound)
        };
        all.filter(is_missing).collect()
    }

    /// Removes what was made of that since; a folder only where nothing is in it.
    pub fn take_back(missing: &[PathBuf]) {
        for path in missing {
            // What can't be removed stays as it is.
            let removed = if path.is_dir() { fs::remove_dir(path) } else { fs::remove_file(path) };
            removed.ok();
        }
    }

    /// Makes the home of an agent that begins as a copy: with the standing instructions, or else these, and the memory
    /// that the other one has now, as far as those are what it could read itself. Never overwrites a file.
    pub fn copy_agent(
        &self,
        (from, readable): (&AgentId, &Readable),
        to: &AgentId,
        or: &str,
    ) -> Result<PathBuf, HomeError> {
        let (path, home) = self.open_agent(to)?;
        for name in AGENT_FILES {
            let source = self.agent(from);
            // Links are followed as turns do: only instructions may be one.
            let source = match Path::new(name).parent() {
                Some(folder) if !folder.as_os_str().is_empty() => beneath::open(&source, Path::new(name)),
                Some(_) | None => readable.open(&source.join(name)),
            };
            let copied = match source {
                Err(problem) if NO_FILE.contains(&problem.kind()) => Ok(()),
                source => source.and_then(|source| copy(source, &home, name)),
            };
            copied.map_err(|source| not_writable(path.join(name), source))?;
        }
        self.create_agent(to, or)
    }

    /// The home of an agent with its folders.
    fn open_agent(&self, agent: &AgentId) -> Result<(PathBuf, OwnedFd), HomeError> {
        let path = self.agent(agent);
        make_folder(&path)?;
        let home =
            open(&path, FOLDER, Mode::empty()).map_err(|problem| not_writable(path.clone(), problem))?;
        for folder in AGENT_FOLDERS {
            match mkdirat(&home, folder, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(problem) => return Err(not_writable(path.join(folder), problem)),
            }
        }
        Ok((path, home))
    }
}

/// Copies a file to where none is. Nobody else could make it again.
fn copy(source: fs::File, home: &OwnedFd, name: &str) -> io::Result<()> {
    let Some(draft) = Draft::write(home, name, source)? else { return Ok(()) };
    draft.sync()?;
    reached(Point::CopyDrafted);
    draft.place()
}

fn not_writable(path: PathBuf, source: impl Into<io::Error>) -> HomeError {
    HomeError::NotWritable { path, source: source.into() }
}

fn make_folder(path: &Path) -> Result<(), HomeError> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|source| HomeError::NotWritable { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agent_home_is_made_once_and_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        let agent = AgentId::new("main").unwrap();
        let agent_home = home.create_agent(&agent, "new").unwrap();
        fs::write(agent_home.join("AGENTS.md"), "mine").unwrap();
        home.create_agent(&agent, "new").unwrap();
        assert_eq!(fs::read_to_string(agent_home.join("AGENTS.md")).unwrap(), "mine");
        assert!(agent_home.join("skills").is_dir());
    }

    #[test]
    fn what_was_made_is_taken_back_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        let agent = AgentId::new("main").unwrap();
        let missing = home.missing(&agent);
        let path = home.create_agent(&agent, "new").unwrap();
        Home::take_back(&missing);
        assert!(!path.exists());
        fs::create_dir_all(path.join("memory")).unwrap();
        fs::write(path.join("memory/self.md"), "learned").unwrap();
        let missing = home.missing(&agent);
        home.create_agent(&agent, "new").unwrap();
        fs::write(path.join("notes/mine"), "later").unwrap();
        Home::take_back(&missing);
        let has = |name: &str| path.join(name).exists();
        assert!(has("memory/self.md") && has("notes/mine"));
        assert!(!has("AGENTS.md") && !has("memory/operator.md") && !has("work"));
    }

    #[test]
    fn nothing_is_made_behind_a_link() {
        let folder = tempfile::tempdir().unwrap();
        let (home, outside) = (Home::at(folder.path().join("home")), folder.path().join("outside"));
        fs::create_dir(&outside).unwrap();
        let (one, other) = (AgentId::new("one").unwrap(), AgentId::new("other").unwrap());
        for agent in [&one, &other] {
            let agent_home = home.create_agent(agent, "new").unwrap();
            fs::remove_dir_all(agent_home.join("memory")).unwrap();
            fs::remove_file(agent_home.join("AGENTS.md")).unwrap();
            std::os::unix::fs::symlink(&outside, agent_home.join("memory")).unwrap();
            std::os::unix::fs::symlink(outside.join("new"), agent_home.join("AGENTS.md")).unwrap();
        }
        home.create_agent(&one, "new").unwrap();
        fs::write(outside.join("self.md"), "learned").unwrap();
        home.copy_agent((&one, &Readable::default()), &other, "new").unwrap();
        let left: Vec<_> = fs::read_dir(&outside).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["self.md"]);
    }

    #[test]
    fn a_copy_has_the_instructions_of_whom_it_was_copied_from() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        let (one, other) = (AgentId::new("one").unwrap(), AgentId::new("other").unwrap());
        fs::write(home.create_agent(&one, "new").unwrap().join("memory/self.md"), "learned").unwrap();
        for _ in 0..2 {
            let copy = home.copy_agent((&one, &Readable::default()), &other, "new").unwrap();
            assert_eq!(fs::read_to_string(copy.join("memory/self.md")).unwrap(), "learned");
            assert!(copy.join("notes").is_dir());
        }
    }

    #[test]
    fn a_copy_has_nothing_of_what_a_link_in_the_memory_leads_to() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path());
        let [one, other] = ["one", "other"].map(|name| AgentId::new(name).unwrap());
        let agent_home = home.create_agent(&one, "new").unwrap();
        let secret = folder.path().join("self.md");
        fs::write(&secret, "secret").unwrap();
        for (place, to) in [("memory/self.md", &*secret), ("memory", folder.path())] {
            let place = agent_home.join(place);
            fs::remove_file(&place).or_else(|_| fs::remove_dir_all(&place)).unwrap();
            std::os::unix::fs::symlink(to, &place).unwrap();
            let copy = home.copy_agent((&one, &Readable::default()), &other, "new").unwrap();
            assert_eq!(fs::read_to_string(copy.join("memory/self.md")).unwrap(), "");
            fs::remove_dir_all(copy).unwrap();
        }
        fs::remove_file(agent_home.join("AGENTS.md")).unwrap();
        std::os::unix::fs::symlink(&secret, agent_home.join("AGENTS.md")).unwrap();
        let copy = home.copy_agent((&one, &Readable::default()), &other, "new").unwrap();
        assert_eq!(fs::read_to_string(copy.join("AGENTS.md")).unwrap(), "secret");
    }

    #[test]
    fn what_is_no_home_is_refused_before_anything_starts() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let find = |flag: &Path| Home::find(Some(flag.to_owned()), &Environment::default());
        assert!(matches!(find(&file), Err(HomeError::NotAFolder { .. })));
        assert!(matches!(find(Path::new("")), Err(HomeError::NotText { origin: "--home" })));
        let odd = <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(b"/tmp/\xff");
        assert!(matches!(find(Path::new(odd)), Err(HomeError::NotText { .. })));
        assert!(find(Path::new("some where")).unwrap().root().is_absolute());
    }

    #[test]
    fn a_temporary_run_shares_the_home_around_it() {
        let home = Home::at("/home/of/all");
        assert_eq!(Home::shared(home.run("run-abc").root()), home.root());
        assert_eq!(Home::shared(home.root()), home.root());
        assert_eq!(Home::shared(Path::new("/srv/runs/mine")), Path::new("/srv/runs/mine"));
    }

    #[test]
    fn a_home_below_a_file_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Home::at(file.join("home")).create().unwrap_err().to_string();
        assert!(error.contains("can't be created") && error.contains("HOLON_HOME"), "{error}");
    }
}
