//! How the runtime is reached, as `serve` and `daemon` are told on the command line; and the whole of what a
//! runtime would be started with.

use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::{Args, Parser, ValueEnum};
use holon_platform::Environment;

use super::exit::Exit;
use super::output::Failure;
use super::setup::{self, Setup};
use crate::daemon::{Endpoint, Fingerprint, TOKEN_VARIABLE, Token};
use crate::home::Home;
use crate::settings::credentials::Credentials;
use crate::settings::{Access, ServerSettings};
use crate::trigger_address::TriggerKey;

#[derive(Debug, Clone, Default, Args)]
pub(super) struct ServerOptions {
    /// Set who reaches the runtime over TCP: this machine, clients of a tunnel, a private network, or a tailnet
    #[arg(long, value_enum, value_name = "WHO")]
    access: Option<Who>,
    /// Listen on this address
    #[arg(long, value_name = "IP", conflicts_with = "listen")]
    host: Option<IpAddr>,
    /// Listen on this port; 0 picks a free one
    #[arg(long, value_name = "PORT", conflicts_with = "listen")]
    port: Option<u16>,
    /// Listen on this address and port [default: 127.0.0.1:7878]
    #[arg(long, value_name = "IP:PORT")]
    listen: Option<SocketAddr>,
    /// Advertise this address to clients
    #[arg(long, value_name = "URL")]
    advertise: Option<String>,
    /// Use this control token; other users of this machine may see it while the command runs
    #[arg(long, value_name = "TOKEN", conflicts_with = "token_file")]
    token: Option<String>,
    /// Read the control token from this file
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Start in a home that was restored from a backup; the home it was made of must not run any more
    #[arg(long)]
    accept_restored: bool,
}

/// Options as a process keeps them for the next one.
#[derive(Debug, Parser)]
#[command(no_binary_name = true)]
struct Kept {
    #[command(flatten)]
    options: ServerOptions,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Who {
    Local,
    Tunnel,
    Lan,
    Tailnet,
}

impl From<Who> for Access {
    fn from(who: Who) -> Self {
        match who {
            Who::Local => Self::Local,
            Who::Tunnel => Self::Tunnel,
            Who::Lan => Self::Lan,
            Who::Tailnet => Self::Tailnet,
        }
    }
}

/// Everything that a runtime of a home is started with.
pub(super) struct Effective {
    pub(super) setup: Setup,
    pub(super) endpoint: Endpoint,
    pub(super) fingerprint: Fingerprint,
    /// With which webhooks have to be signed.
    pub(super) webhook_key: Option<String>,
    /// The options among that, as a later process can be given them.
    pub(super) options: Vec<String>,
    /// The token that the home has of its own, where the operator has chosen none and one may be asked for.
    pub(super) own_token: Option<Token>,
}

impl Effective {
    /// Reads files, environment and flags.
    ///
    /// # Errors
    /// As [`Setup::load`]; and endpoints that would let in whoever comes along.
    pub(super) fn load(
        home: &Home,
        environment: &Environment,
        options: &ServerOptions,
    ) -> Result<Self, Failure> {
        let mut setup = Setup::load(home, environment, None)?;
        for (flag, key, value) in options.flags(setup.settings.server.listen)? {
            setup.settings.flag(flag, key, &value)?;
        }
        let server = &setup.settings.server;
        // A file that is named here wins over a variable that is always there.
        let named = options.token_file.as_ref().and(server.token_file.as_deref());
        let token = match named {
            Some(file) => Token::read(file).map(Some),
            None => Token::find(options.token.as_deref(), environment, server.token_file.as_deref()),
        };
        let token = token.map_err(Failure::usage)?;
        let endpoint = Endpoint::new(server, token, home)
            .map_err(|error| Failure::usage(error.clone()).hint(error.hint()))?;
        let mut secrets = setup.providers.secrets();
        secrets.extend(setup.settings.passwords());
        let webhook_key = webhook_key(server, &setup.credentials)?;
        secrets.extend(webhook_key.iter().map(|key| ("webhook key".to_owned(), key.clone())));
        let fingerprint = Fingerprint::new(&setup.settings, &endpoint, &secrets);
        let token = endpoint.token.as_ref();
        setup.secrets.extend(token.map(|token| (TOKEN_VARIABLE.to_owned(), token.expose().to_owned())));
        let options = ServerOptions { accept_restored: false, ..options.clone() }.arguments()?;
        Ok(Self { setup, endpoint, fingerprint, webhook_key, options, own_token: None })
    }

    /// The same with the secrets that the home makes for itself, which nobody is to be shown either. Only who has the
    /// home may call this.
    ///
    /// # Errors
    /// A file of theirs that can't be used.
    pub(super) fn with_secrets_of(mut self, home: &Home) -> Result<Self, Failure> {
        TriggerKey::of(home).map_err(|error| hinted(&error, error.hint()))?;
        if self.endpoint.has_own_token() {
            self.own_token = Some(Token::of(home).map_err(|error| hinted(&error, error.hint()))?);
        }
        self.setup.secrets.extend(setup::of_home(home));
        Ok(self)
    }

    /// Whether those that are there can be used. Makes none.
    ///
    /// # Errors
    /// A file of theirs that can't be used.
    pub(super) fn check_secrets_of(&self, home: &Home) -> Result<(), Failure> {
        TriggerKey::known(home).map_err(|error| hinted(&error, error.hint()))?;
        if self.endpoint.has_own_token() {
            Token::known(home).map_err(|error| hinted(&error, error.hint()))?;
        }
        Ok(())
    }
}

fn hinted(error: &dyn Display, hint: String) -> Failure {
    Failure::usage(anyhow!("{error}")).hint(hint)
}

/// A key that is named has to be there: nobody's webhooks would be taken otherwise, or everybody's.
fn webhook_key(server: &ServerSettings, credentials: &Credentials) -> Result<Option<String>, Failure> {
    let Some(name) = &server.webhook_credential else { return Ok(None) };
    let key = credentials.get(name).map(ToOwned::to_owned);
    let missing = || {
        let missing = anyhow!("server.webhook_credential names {name}, which credentials.toml does not have");
        Failure::usage(missing).hint(format!("holon config credentials set {name}"))
    };
    key.map(Some).ok_or_else(missing)
}

impl ServerOptions {
    /// The flags that were given, each with the key that it stands for.
    fn flags(&self, listen: SocketAddr) -> Result<Vec<(&'static str, &'static str, String)>, Failure> {
        let mut flags = Vec::new();
        if let Some(who) = self.access {
            flags.push(("--access", "server.access", Access::from(who).name().to_owned()));
        }
        let (host, port) = (self.host.unwrap_or(listen.ip()), self.port.unwrap_or(listen.port()));
        let flag = match (self.listen, self.host, self.port) {
            (Some(_), _, _) => Some("--listen"),
            (None, Some(_), _) => Some("--host"),
            (None, None, Some(_)) => Some("--port"),
            (None, None, None) => None,
        };
        if let Some(flag) = flag {
            let address = self.listen.unwrap_or(SocketAddr::new(host, port));
            flags.push((flag, "server.listen", address.to_string()));
        }
        if let Some(url) = &self.advertise {
            flags.push(("--advertise", "server.advertise", url.clone()));
        }
        if let Some(file) = &self.token_file {
            let path = std::path::absolute(file).context("--token-file")?;
            flags.push(("--token-file", "server.token_file", path.display().to_string()));
        }
        Ok(flags)
    }

    /// The same for another process, as its arguments. The token is not among them: see [`Self::token`].
    pub(super) fn arguments(&self) -> Result<Vec<String>, Failure> {
        let mut arguments = Vec::new();
        for (flag, key, value) in self.flags(ServerSettings::default().listen)? {
            match (flag, self.host, self.port) {
                ("--host" | "--port", host, port) if key == "server.listen" => {
                    let host = host.map(|host| format!("--host={host}"));
                    let port = port.map(|port| format!("--port={port}"));
                    arguments.extend(host.into_iter().chain(port));
                }
                _ => arguments.push(format!("{flag}={value}")),
            }
        }
        if self.accept_restored {
            arguments.push("--accept-restored".to_owned());
        }
        Ok(arguments)
    }

    /// These, and what the runtime was given that they take the place of, where they are silent on it.
    ///
    /// # Errors
    /// Options of a runtime that this version does not have.
    pub(super) fn or_kept(self, kept: &[String], environment: &Environment) -> Result<Self, Failure> {
        let earlier = Kept::try_parse_from(kept).map_err(|_| {
            let error = anyhow!(
                "the runtime was started with options that this version does not have: {}",
                kept.join(" ")
            );
            Failure::new(Exit::RefusedByState, error)
                .hint("holon daemon stop, then holon daemon start with the options of this version")
        })?;
        let earlier = earlier.options;
        let (listen, host, port) = match (self.listen, self.host, self.port) {
            (Some(listen), _, _) => (Some(listen), None, None),
            (None, None, None) => (earlier.listen, earlier.host, earlier.port),
            // A part of an address leaves the other part as it was.
            (None, host, port) => {
                let kept_host = earlier.host.or(earlier.listen.map(|listen| listen.ip()));
                let kept_port = earlier.port.or(earlier.listen.map(|listen| listen.port()));
                (None, host.or(kept_host), port.or(kept_port))
            }
        };
        let has_token = self.has_token(environment);
        Ok(Self {
            access: self.access.or(earlier.access),
            host,
            port,
            listen,
            advertise: self.advertise.or(earlier.advertise),
            token_file: self.token_file.or(earlier.token_file.filter(|_| !has_token)),
            ..self
        })
    }

    /// Whether an option could set this key, and it is not given here as a whole.
    pub(super) fn leaves_out(&self, key: &str, environment: &Environment) -> bool {
        match key {
            "server.access" => self.access.is_none(),
            "server.listen" => self.listen.is_none() && (self.host.is_none() || self.port.is_none()),
            "server.advertise" => self.advertise.is_none(),
            "server.token_file" => !self.has_token(environment),
            _ => false,
        }
    }

    /// Whether a token is chosen for this command; a file that a runtime was given before does not win over it.
    fn has_token(&self, environment: &Environment) -> bool {
        let given = self.token.is_some() || self.token_file.is_some();
        given || environment.get(TOKEN_VARIABLE).is_some()
    }

    /// Whether a home may be used that was restored from a backup.
    pub(super) fn accept_restored(&self) -> bool {
        self.accept_restored
    }

    /// The token that was given, for the environment of another process.
    pub(super) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        options: ServerOptions,
    }

    fn options(arguments: &[&str]) -> ServerOptions {
        Line::try_parse_from([&["holon"], arguments].concat()).unwrap().options
    }

    #[test]
    fn another_process_gets_the_same_options() {
        for arguments in [
            &[][..],
            &["--port=0"],
            &["--host=127.0.0.2"],
            &["--access=lan", "--host=10.0.0.1", "--port=9", "--advertise=http://h:9/"],
            &["--listen=[::1]:7", "--token-file=/a/b c"],
            &["--accept-restored"],
        ] {
            assert_eq!(options(arguments).arguments().ok().unwrap(), arguments);
        }
        let with_token = options(&["--token", "canary-0123456789"]);
        assert_eq!(with_token.arguments().ok().unwrap(), [""; 0], "others could see it there");
        assert_eq!(with_token.token(), Some("canary-0123456789"));
    }

    #[test]
    fn what_is_not_given_again_stays() {
        let with = |given: &[&str], kept: &[&str], environment: &Environment| {
            let kept: Vec<String> = kept.iter().map(|word| (*word).to_owned()).collect();
            options(given).or_kept(&kept, environment).ok().unwrap().arguments().ok().unwrap()
        };
        let nothing = Environment::default();
        let both = |given: &[&str], kept: &[&str]| with(given, kept, &nothing);
        let kept =
            ["--access=lan", "--host=10.0.0.1", "--port=9", "--advertise=http://h:9/", "--token-file=/a/b c"];
        assert_eq!(both(&[], &kept), kept);
        assert_eq!(both(&["--port=8"], &kept), [kept[0], kept[1], "--port=8", kept[3], kept[4]]);
        assert_eq!(both(&["--listen=[::1]:7"], &kept), [kept[0], "--listen=[::1]:7", kept[3], kept[4]]);
        assert_eq!(both(&["--token=canary-0123456789"], &kept), kept[..4]);
        let token = Environment::new([(TOKEN_VARIABLE.to_owned(), "canary-0123456789".to_owned())]);
        assert_eq!(with(&[], &kept, &token), kept[..4], "the variable is the newer choice");
        assert_eq!(with(&["--token-file=/d"], &kept, &token)[4], "--token-file=/d");
        assert_eq!(both(&[], &["--listen=[::2]:7"]), ["--listen=[::2]:7"]);
        assert_eq!(both(&["--host=::1"], &["--listen=[::2]:7"]), ["--host=::1", "--port=7"]);
        assert_eq!(both(&["--port=8"], &["--listen=[::2]:7"]), ["--host=::2", "--port=8"]);
        assert_eq!(both(&["--host=::1", "--port=8"], &["--listen=[::2]:7"]), ["--host=::1", "--port=8"]);
        let failure = options(&[]).or_kept(&["--newer".to_owned()], &nothing).err().unwrap();
        assert!(failure.exit == Exit::RefusedByState && failure.error.to_string().contains("--newer"));
    }

    #[test]
    fn a_key_is_left_out_unless_it_is_given_as_a_whole() {
        let nothing = Environment::default();
        let left = |given: &[&str], key: &str| options(given).leaves_out(key, &nothing);
        for (key, given) in [
            ("server.access", "--access=local"),
            ("server.listen", "--listen=[::1]:7"),
            ("server.advertise", "--advertise=http://h:9/"),
            ("server.token_file", "--token-file=/a"),
            ("server.token_file", "--token=canary-0123456789"),
        ] {
            assert!(left(&[], key) && !left(&[given], key), "{key}");
        }
        assert!(left(&["--port=7"], "server.listen") && left(&["--host=::1"], "server.listen"));
        assert!(!left(&["--host=::1", "--port=7"], "server.listen"));
        assert!(!left(&[], "limits.rounds"), "no option sets it");
        let token = Environment::new([(TOKEN_VARIABLE.to_owned(), "canary-0123456789".to_owned())]);
        assert!(!options(&[]).leaves_out("server.token_file", &token));
    }

    #[test]
    fn host_and_port_change_a_part_of_the_address() {
        let listen = "127.0.0.1:99".parse().unwrap();
        let address = |arguments: &[&str]| options(arguments).flags(listen).ok().unwrap()[0].2.clone();
        assert_eq!(address(&["--port", "5"]), "127.0.0.1:5");
        assert_eq!(address(&["--host", "::1"]), "[::1]:99");
        assert_eq!(address(&["--listen", "10.0.0.1:3"]), "10.0.0.1:3");
    }
}
