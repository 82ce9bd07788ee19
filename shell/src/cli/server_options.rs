//! How the runtime is reached, as `serve` and `daemon` are told on the command line; and the whole of what a
//! runtime would be started with.

use std::fmt::Display;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use holon_platform::Environment;

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
        Ok(Self { setup, endpoint, fingerprint, webhook_key, own_token: None })
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
    fn host_and_port_change_a_part_of_the_address() {
        let listen = "127.0.0.1:99".parse().unwrap();
        let address = |arguments: &[&str]| options(arguments).flags(listen).ok().unwrap()[0].2.clone();
        assert_eq!(address(&["--port", "5"]), "127.0.0.1:5");
        assert_eq!(address(&["--host", "::1"]), "[::1]:99");
        assert_eq!(address(&["--listen", "10.0.0.1:3"]), "10.0.0.1:3");
    }
}
