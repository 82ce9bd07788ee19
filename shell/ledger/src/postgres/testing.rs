//! A real PostgreSQL for tests: the one that `HOLON_TEST_PG` names, or one that is made of the programs of this machine. All
//! tests of a user share one server, each in a schema of its own; it ends a little after the last of them.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

#[cfg(test)]
use holon_facts::Millis;
use holon_platform::Environment;

use super::Server;
use super::local::{LocalServer, programs};
#[cfg(test)]
use super::node::Cluster;
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
    /// One with four cells.
    #[cfg(test)]
    pub(crate) fn with_cells() -> Option<(Server, Self)> {
        let database = Self::new()?;
        let server = Server::new(&database.url).unwrap();
        Cluster::init(&server, (Millis(3_000), Millis(500)), 4).unwrap();
        Some((server, database))
    }

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
        self.changes_role(if lets { "LOGIN" } else { "NOLOGIN" });
        if !lets {
            self.cut();
        }
    }

    /// Changes what its user may do, from the next connection on.
    pub fn changes_role(&self, to: &str) {
        let sql = format!("ALTER ROLE {} {to}", self.name);
        Session::new(self.admin.clone(), 0).execute(&sql).unwrap();
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
        let server = LocalServer::at(&folder, &programs);
        server.make()?;
        server.start(&["-c", "fsync=off", "-c", "max_connections=200"])?;
        end_with_the_last_user(&programs, &folder, &folder.join("data"))?;
    }
    Ok(Some((url, user)))
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
