//! A PostgreSQL of one's own, made of the programs of this machine: for a demo, and for tests.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use holon_platform::Environment;

/// A server in a folder, which is reached by a socket there. It goes on until it is stopped.
#[derive(Debug)]
pub struct LocalServer {
    folder: PathBuf,
    programs: PathBuf,
}

impl LocalServer {
    /// None where this machine has no PostgreSQL. Nothing is made yet.
    pub fn find(folder: &Path) -> Option<Self> {
        programs().map(|programs| Self::at(folder, &programs))
    }

    pub(super) fn at(folder: &Path, programs: &Path) -> Self {
        Self { folder: folder.to_owned(), programs: programs.to_owned() }
    }

    /// Its address, as `store.url` takes it.
    pub fn url(&self) -> String {
        format!("postgres:///postgres?host={}&user=holon", self.folder.display())
    }

    /// Makes its files, anew where there are some.
    ///
    /// # Errors
    /// What the programs of PostgreSQL say.
    pub fn make(&self) -> io::Result<()> {
        let data = self.folder.join("data");
        if data.exists() {
            fs::remove_dir_all(&data)?;
        }
        fs::create_dir_all(&data)?;
        fs::set_permissions(&data, PermissionsExt::from_mode(0o700))?;
        if let Some((uid, gid)) = other_user()? {
            chown(&data, Some(uid), Some(gid))?;
            chown(&self.folder, Some(uid), Some(gid))?;
        }
        let mut initdb = self.program("initdb")?;
        initdb
            .args(["-A", "trust", "-U", "holon", "--no-locale", "-E", "UTF8", "--no-sync", "-D"])
            .arg(&data);
        let made = initdb.output()?;
        if !made.status.success() {
            return Err(io::Error::other(String::from_utf8_lossy(&made.stderr).into_owned()));
        }
        Ok(())
    }

    /// Starts it with these options, as after a crash where it has not ended in good order.
    ///
    /// # Errors
    /// What the programs of PostgreSQL say.
    pub fn start(&self, options: &[&str]) -> io::Result<()> {
        let data = self.folder.join("data");
        let folder = self.folder.display();
        let options =
            format!("-c listen_addresses= -c unix_socket_directories={folder} {}", options.join(" "));
        let log = File::create(self.folder.join("log"))?;
        let mut server = self.program("pg_ctl")?;
        server.arg("-D").arg(&data).args(["-w", "-o", &options, "start"]);
        if !server.stdout(log.try_clone()?).stderr(log).status()?.success() {
            return Err(io::Error::other(fs::read_to_string(self.folder.join("log"))?));
        }
        Ok(())
    }

    /// Ends it at once, whoever is connected: what it has not written is in its log.
    ///
    /// # Errors
    /// What the programs of PostgreSQL say.
    pub fn stop(&self) -> io::Result<()> {
        let mut server = self.program("pg_ctl")?;
        server.arg("-D").arg(self.folder.join("data")).args(["-w", "-m", "immediate", "stop"]);
        let stopped = server.output()?;
        if stopped.status.success() {
            return Ok(());
        }
        Err(io::Error::other(String::from_utf8_lossy(&stopped.stderr).into_owned()))
    }

    /// PostgreSQL refuses to run as root.
    fn program(&self, name: &str) -> io::Result<Command> {
        let mut command = Command::new(self.programs.join(name));
        if let Some((uid, gid)) = other_user()? {
            command.uid(uid).gid(gid);
        }
        command.current_dir("/").stdin(Stdio::null());
        Ok(command)
    }
}

/// Who runs it where this is root.
fn other_user() -> io::Result<Option<(u32, u32)>> {
    if !rustix::process::getuid().is_root() {
        return Ok(None);
    }
    let users = fs::read_to_string("/etc/passwd")?;
    let of = |name: &str| {
        let line = users.lines().find(|line| line.split(':').next() == Some(name))?;
        let mut fields = line.split(':').skip(2).map(|id| id.parse().ok());
        Some((fields.next()??, fields.next()??))
    };
    of("postgres")
        .or_else(|| of("nobody"))
        .map(Some)
        .ok_or_else(|| io::Error::other("there is no user but root"))
}

/// The folder of `initdb` and `pg_ctl`: in `PATH`, or where Debian keeps them.
pub(super) fn programs() -> Option<PathBuf> {
    let environment = Environment::of_process();
    let path = environment.get("PATH").unwrap_or_default();
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = debian.map(|version| version.path().join("bin")).collect();
    folders.sort();
    folders.extend(std::env::split_paths(path));
    folders.into_iter().rev().find(|folder| folder.join("initdb").exists() && folder.join("pg_ctl").exists())
}
