//! A real PostgreSQL for tests: the one that `HOLON_TEST_PG` names, or one that is made of the programs of this machine. All
//! tests of a user share one server, each in a schema of its own; it ends a little after the last of them.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use holon_platform::Environment;

use super::Server;
use crate::sql::postgres::Session;

/// What a test without a server prints.
pub const NOT_TRIED: &str = "not tried: no PostgreSQL";

/// A schema of its own in a running server.
#[derive(Debug)]
pub struct Database {
    /// Where it is, as `store.url` takes it.
    pub url: String,
    /// The user and the schema.
    name: String,
    /// For what only the owner of the server may do.
    admin: Server,
    /// The server stays as long as somebody holds it.
    _user: Option<File>,
}

impl Database {
    /// None where this machine has no PostgreSQL, unless `HOLON_TEST_PG` is `required`.
    pub fn new() -> Option<Self> {
        let named = Environment::of_process().get("HOLON_TEST_PG").unwrap_or_default().to_owned();
        let (url, user) = if named.is_empty() || named == "required" {
            match own() {
                Ok(Some((url, user))) => (url, Some(user)),
                Ok(None) if named == "required" => {
                    panic!("HOLON_TEST_PG is required, and there is no PostgreSQL")
                }
                Ok(None) => return None,
                Err(error) => panic!("PostgreSQL can't be started: {error}"),
            }
        } else {
            (named, None)
        };
        let name = format!("holon_{:016x}", holon_platform::entropy::seed().unwrap());
        // An address that is named has a user who may make others.
        let url = if url.contains('?') { url } else { format!("{url}?") };
        let owner = if user.is_some() { "&user=holon" } else { "" };
        let admin = Server::new(&format!("{url}{owner}")).unwrap();
        let make = format!("CREATE ROLE {name} LOGIN; CREATE SCHEMA {name} AUTHORIZATION {name}");
        Session::new(admin.clone(), 0).execute(&make).unwrap();
        Some(Self {
            url: format!("{url}&user={name}&options=-csearch_path%3D{name}"),
            name,
            admin,
            _user: user,
        })
    }

    /// Whether its runtimes may connect. Where they may not, those that are connected are cut off.
    pub fn lets_in(&self, lets: bool) {
        let session = Session::new(self.admin.clone(), 0);
        let may = if lets { "LOGIN" } else { "NOLOGIN" };
        session.execute(&format!("ALTER ROLE {} {may}", self.name)).unwrap();
        if !lets {
            self.cut();
        }
    }

    /// Cuts all connections of its runtimes, whatever they are at.
    pub fn cut(&self) {
        let sql =
            format!("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '{}'", self.name);
        Session::new(self.admin.clone(), 0).execute(&sql).unwrap();
    }

    pub fn server(&self) -> Server {
        Server::new(&self.url).unwrap()
    }

    /// Statements that no runtime makes.
    pub fn vandal(&self, sql: &str) {
        Session::new(self.server(), 0).execute(sql).unwrap();
    }
}

/// A server of this user, with a hold on it.
fn own() -> io::Result<Option<(String, File)>> {
    let Some(programs) = programs() else { return Ok(None) };
    let me = rustix::process::getuid().as_raw();
    let folder = std::env::temp_dir().join(format!("holon-test-pg-{me}"));
    fs::create_dir_all(&folder)?;
    let lock =
        |name: &str| OpenOptions::new().create(true).truncate(false).write(true).open(folder.join(name));
    let user = lock("users")?;
    user.lock_shared()?;
    let starting = lock("starting")?;
    starting.lock()?;
    let url = format!("postgres:///postgres?host={}", folder.display());
    if Session::new(Server::new(&format!("{url}&user=holon")).map_err(io::Error::other)?, 0)
        .execute("SELECT 1")
        .is_err()
    {
        start(&programs, &folder)?;
    }
    Ok(Some((url, user)))
}

fn start(programs: &Path, folder: &Path) -> io::Result<()> {
    let data = folder.join("data");
    if data.exists() {
        fs::remove_dir_all(&data)?;
    }
    fs::create_dir(&data)?;
    fs::set_permissions(&data, PermissionsExt::from_mode(0o700))?;
    let other = other_user()?;
    if let Some((uid, gid)) = other {
        chown(&data, Some(uid), Some(gid))?;
        chown(folder, Some(uid), Some(gid))?;
    }
    let program = |name: &str| {
        let mut command = Command::new(programs.join(name));
        if let Some((uid, gid)) = other {
            command.uid(uid).gid(gid);
        }
        command.current_dir("/").stdin(Stdio::null());
        command
    };
    let mut initdb = program("initdb");
    initdb.args(["-A", "trust", "-U", "holon", "--no-locale", "-E", "UTF8", "--no-sync", "-D"]).arg(&data);
    let made = initdb.output()?;
    if !made.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&made.stderr).into_owned()));
    }
    let options = format!(
        "-c listen_addresses= -c unix_socket_directories={} -c fsync=off -c max_connections=200",
        folder.display()
    );
    let log = File::create(folder.join("log"))?;
    let mut server = program("pg_ctl");
    server.arg("-D").arg(&data).args(["-w", "-o", &options, "start"]);
    if !server.stdout(log.try_clone()?).stderr(log).status()?.success() {
        return Err(io::Error::other(fs::read_to_string(folder.join("log"))?));
    }
    end_with_the_last_user(programs, folder, &data)
}

/// Whoever is the last to let go takes the server along.
fn end_with_the_last_user(programs: &Path, folder: &Path, data: &Path) -> io::Result<()> {
    let stop = format!(
        "sleep 20; until flock -n -x '{users}' kill -INT $(head -1 '{pid}'); do sleep 3; done",
        users = folder.join("users").display(),
        pid = data.join("postmaster.pid").display(),
    );
    let mut watcher = Command::new("sh");
    watcher.args(["-c", &stop]).current_dir(programs).process_group(0);
    watcher.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    watcher.spawn().map(drop)
}

/// PostgreSQL refuses to run as root.
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
fn programs() -> Option<PathBuf> {
    let environment = Environment::of_process();
    let path = environment.get("PATH").unwrap_or_default();
    let debian = fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = debian.map(|version| version.path().join("bin")).collect();
    folders.sort();
    folders.extend(std::env::split_paths(path));
    folders.into_iter().rev().find(|folder| folder.join("initdb").exists() && folder.join("pg_ctl").exists())
}
