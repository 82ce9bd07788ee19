//! Where a database is, and the thread on which its sessions live.

use std::fmt;
use std::io;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use holon_facts::Millis;
use holon_platform::spawn;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Client, Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::pool::{Pool, Work};
use super::{PostgresError, block};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(5);
/// How long bytes may stay unacknowledged before a connection counts as lost.
const SILENCE: Duration = Duration::from_secs(10);
/// Between two signs of life of a connection that is idle.
const KEEPALIVE: Duration = Duration::from_secs(10);

/// A database that speaks PostgreSQL's protocol. Cheap to clone.
#[derive(Clone)]
pub struct Server(Arc<Inner>);

struct Inner {
    config: Config,
    handle: Handle,
    reading: Arc<Pool>,
    appending: Arc<Pool>,
    /// The thread ends when it is dropped.
    _alive: oneshot::Sender<()>,
}

/// An address that names no database.
#[derive(Debug, thiserror::Error)]
pub enum UrlError {
    #[error(
        "it is no address of a database: {0}; write it as postgres://USER:PASSWORD@HOST:PORT/DATABASE, with parameters \
         such as ?sslmode=require&options=-csearch_path%3Dholon"
    )]
    Syntax(String),
    #[error("it names no host")]
    NoHost,
    #[error("sessions to a database need a thread: {0}")]
    Thread(#[from] io::Error),
}

/// Without user, password and parameters.
struct Shown<'a>(&'a Config);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config = self.0;
        f.write_str("postgres://")?;
        for (at, host) in config.get_hosts().iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            match host {
                Host::Tcp(name) => write!(f, "{comma}{name}")?,
                Host::Unix(path) => write!(f, "{comma}{}", path.display())?,
            }
            if let Some(port) = config.get_ports().get(at).or(config.get_ports().first()) {
                write!(f, ":{port}")?;
            }
        }
        write!(f, "/{}", config.get_dbname().or(config.get_user()).unwrap_or_default())
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Shown(&self.0.config).fmt(f)
    }
}

impl PartialEq for Server {
    fn eq(&self, other: &Self) -> bool {
        self.0.config == other.0.config
    }
}

impl Eq for Server {}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({self})")
    }
}

impl Server {
    /// The database at an address (`postgres://…`, or `key=value` pairs). Nothing is connected yet. Away from this machine
    /// a connection is encrypted and its certificate checked against those that the system trusts, unless `sslmode`
    /// is `disable`.
    ///
    /// # Errors
    /// When the address can't be read.
    pub fn new(url: &str) -> Result<Self, UrlError> {
        let mut config = parse(url)?;
        if config.get_ssl_mode() == SslMode::Prefer {
            let near = config.get_hosts().iter().all(is_near);
            config.ssl_mode(if near { SslMode::Disable } else { SslMode::Require });
        }
        if config.get_application_name().is_none() {
            config.application_name("holon");
        }
        config.connect_timeout(CONNECT).tcp_user_timeout(SILENCE).keepalives_idle(KEEPALIVE);
        Ok(Self::of_config(config)?)
    }

    /// The same with a thread and connections of its own: what others read and write keeps nobody waiting there.
    pub(crate) fn apart(&self) -> io::Result<Self> {
        Self::of_config(self.0.config.clone())
    }

    fn of_config(config: Config) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (alive, ended) = oneshot::channel::<()>();
        // The sender sends nothing: it is dropped.
        spawn::thread("postgres", move || drop(runtime.block_on(ended)))?;
        let (reading, appending) = (Arc::default(), Arc::default());
        Ok(Self(Arc::new(Inner { config, handle, reading, appending, _alive: alive })))
    }

    /// Whether an address can be read.
    ///
    /// # Errors
    /// When it can't.
    pub fn check(url: &str) -> Result<(), UrlError> {
        parse(url).map(drop)
    }

    /// An address without user, password and parameters.
    pub fn shown(url: &str) -> Option<String> {
        parse(url).ok().map(|config| Shown(&config).to_string())
    }

    /// The connections that sessions share.
    pub(super) fn pool(&self, work: Work) -> &Arc<Pool> {
        match work {
            Work::Reading => &self.0.reading,
            Work::Appending => &self.0.appending,
        }
    }

    /// A connection of its own.
    pub(super) fn connect(&self) -> Result<Client, PostgresError> {
        let config = self.0.config.clone();
        let connected = self.0.handle.spawn(async move {
            if config.get_ssl_mode() == SslMode::Disable {
                let (client, connection) = config.connect(NoTls).await?;
                // How it ended is what the next statement is answered with.
                spawn::task(async move { drop(connection.await) });
                return Ok(client);
            }
            let (tls, _) = MakeRustlsConnect::with_native_certs().map_err(|errors| {
                let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
                PostgresError::Unanswered(format!("this system trusts no certificate: {}", errors.join(", ")))
            })?;
            let (client, connection) = config.connect(tls).await?;
            spawn::task(async move { drop(connection.await) });
            Ok(client)
        });
        let limit = Millis(u64::try_from((2 * CONNECT).as_millis()).unwrap_or(u64::MAX));
        match block::on(connected, Some(limit)) {
            // Whatever keeps a connection from coming about may pass: a start, a password that is changed.
            Some(Ok(connected)) => connected.map_err(|error| match error {
                PostgresError::Unanswered(problem) => PostgresError::Unanswered(problem),
                PostgresError::Refused(refusal) => PostgresError::Unanswered(refusal.to_string()),
            }),
            Some(Err(error)) => Err(PostgresError::Unanswered(error.to_string())),
            None => Err(PostgresError::Unanswered("no connection came about".to_owned())),
        }
    }
}

fn parse(url: &str) -> Result<Config, UrlError> {
    let config = Config::from_str(url).map_err(|error| UrlError::Syntax(super::chain(&error)))?;
    if config.get_hosts().is_empty() { Err(UrlError::NoHost) } else { Ok(config) }
}

/// Whether a host is this machine.
fn is_near(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        Host::Unix(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        let server = Server::new("postgres://me:hush@db.example:5433/agents?sslmode=require").unwrap();
        assert_eq!(server.to_string(), "postgres://db.example:5433/agents");
        assert!(!format!("{server:?}").contains("hush"));
    }

    #[test]
    fn a_connection_is_encrypted_away_from_this_machine() {
        let mode = |url: &str| Server::new(url).unwrap().0.config.get_ssl_mode();
        assert_eq!(mode("postgres://me@127.0.0.1/db"), SslMode::Disable);
        assert_eq!(mode("postgres:///db?host=/run/postgresql"), SslMode::Disable);
        assert_eq!(mode("postgres://me@db.example/db"), SslMode::Require);
        assert_eq!(mode("postgres://me@db.example/db?sslmode=disable"), SslMode::Disable);
        assert_eq!(mode("postgres://me@localhost/db?sslmode=require"), SslMode::Require);
    }

    #[test]
    fn what_is_no_address_is_refused_without_showing_the_password() {
        let error = Server::new("postgres://me:hush@db/agents?nonsense=1").unwrap_err().to_string();
        assert!(error.contains("nonsense") && !error.contains("hush"), "{error}");
        assert!(matches!(Server::new("dbname=x").unwrap_err(), UrlError::NoHost));
    }
}
