//! The clients of the process: normally one, and another one for each other way to reach servers. Each keeps
//! its connections.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use std::{fs, io};

use holon_facts::Millis;
use holon_facts::model::FailureKind;
use holon_platform::{build, spawn};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, NoProxy, Proxy, Url};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use tokio::sync::OnceCell;

use super::reqwest_client::causes;
use crate::address::is_loopback;
use crate::options::ProviderOptions;

/// A connection that answers no ping for so long is given up, so that the next request doesn't wait on it.
const PING: Duration = Duration::from_secs(30);
const PONG: Duration = Duration::from_secs(20);

/// Each client, made when it is first needed. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Clients {
    made: Arc<Mutex<BTreeMap<Reach, Arc<OnceCell<Client>>>>>,
}

/// How servers are reached: requests that agree in it share a client.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Reach {
    trust: Trust,
    way: Way,
    connect_timeout: Millis,
}

/// Which certificates are trusted.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Trust {
    /// None: there is no TLS, and so no need for installed certificates.
    Nobody,
    /// What the system trusts, and perhaps those of a file.
    System(Option<PathBuf>),
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Direct,
    /// Perhaps through a proxy of the environment.
    Environment,
    Through(String),
}

/// Why there is no client.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    #[error("the certificates in {path} can't be read: {source}")]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{path} is not a file of PEM certificates: {problem}")]
    NotCertificates { path: PathBuf, problem: String },
    #[error("the proxy is not an address: {0}; expected http://, https://, socks5:// or socks5h://")]
    Proxy(String),
    #[error("no connection can be made: {0}; are CA certificates installed?")]
    Build(String),
    #[error("making a client panicked")]
    Panicked,
}

impl ClientError {
    pub(super) fn kind(&self) -> FailureKind {
        match self {
            Self::Unreadable { .. } | Self::NotCertificates { .. } | Self::Proxy(_) => FailureKind::Client,
            Self::Build(_) | Self::Panicked => FailureKind::Connect,
        }
    }
}

/// Whether a client could be made with these options.
pub(crate) fn check(options: &ProviderOptions) -> Result<(), ClientError> {
    options.proxy.as_deref().map(proxy).transpose()?;
    options.ca_file.as_deref().map(certificates).transpose()?;
    Ok(())
}

impl Clients {
    pub(super) async fn client(&self, url: &Url, options: &ProviderOptions) -> Result<Client, ClientError> {
        let reach = Reach::new(url, options);
        let cell = {
            let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
            made.entry(reach.clone()).or_default().clone()
        };
        // A failure is not kept: a missing file may be there the next time.
        let client = cell.get_or_try_init(|| async {
            match reach.trust {
                Trust::Nobody => make(&reach),
                // Reading the system's certificates takes milliseconds, far too long for the driver's thread.
                Trust::System(_) => {
                    spawn::blocking(move || make(&reach)).await.unwrap_or(Err(ClientError::Panicked))
                }
            }
        });
        client.await.cloned()
    }
}

impl Reach {
    fn new(url: &Url, options: &ProviderOptions) -> Self {
        let way = match &options.proxy {
            Some(proxy) => Way::Through(proxy.trim().to_owned()),
            None if is_loopback(url) => Way::Direct,
            None => Way::Environment,
        };
        let secure_way = matches!(&way, Way::Through(proxy) if proxy.starts_with("https:"));
        let trust = if url.scheme() == "https" || secure_way {
            Trust::System(options.ca_file.clone())
        } else {
            Trust::Nobody
        };
        Self { trust, way, connect_timeout: options.connect_timeout }
    }
}

fn make(reach: &Reach) -> Result<Client, ClientError> {
    static PROVIDER: OnceLock<()> = OnceLock::new();
    // An error means that one is installed already, which is as good.
    PROVIDER.get_or_init(|| drop(rustls::crypto::ring::default_provider().install_default()));
    let builder = Client::builder()
        .user_agent(format!("holon/{}", build::version()))
        .redirect(Policy::none())
        .tcp_nodelay(true)
        .http2_keep_alive_interval(PING)
        .http2_keep_alive_timeout(PONG)
        .connect_timeout(Duration::from_millis(reach.connect_timeout.0));
    let builder = match &reach.way {
        Way::Direct => builder.no_proxy(),
        Way::Environment => builder,
        Way::Through(url) => builder.proxy(proxy(url)?.no_proxy(NoProxy::from_env())),
    };
    let builder = match &reach.trust {
        Trust::Nobody => builder.tls_certs_only([]),
        Trust::System(None) => builder,
        Trust::System(Some(file)) => builder.tls_certs_merge(certificates(file)?),
    };
    builder.build().map_err(|error| ClientError::Build(causes(&error.without_url()).join(": ")))
}

fn proxy(url: &str) -> Result<Proxy, ClientError> {
    let parsed = Url::parse(url.trim()).map_err(|error| ClientError::Proxy(error.to_string()))?;
    if !matches!(parsed.scheme(), "http" | "https" | "socks5" | "socks5h") || parsed.host_str().is_none() {
        return Err(ClientError::Proxy(format!("its scheme is {:?}", parsed.scheme())));
    }
    Proxy::all(parsed).map_err(|error| ClientError::Proxy(error.without_url().to_string()))
}

/// The certificates of a file, each of which can be trusted.
fn certificates(path: &Path) -> Result<Vec<Certificate>, ClientError> {
    let bytes = fs::read(path).map_err(|source| ClientError::Unreadable { path: path.to_owned(), source })?;
    let not = |problem: String| ClientError::NotCertificates { path: path.to_owned(), problem };
    let mut certificates = Vec::new();
    for found in CertificateDer::pem_slice_iter(&bytes) {
        let found = found.map_err(|error| not(error.to_string()))?;
        RootCertStore::empty().add(found.clone()).map_err(|error| not(error.to_string()))?;
        certificates.push(Certificate::from_der(&found).map_err(|error| not(error.to_string()))?);
    }
    if certificates.is_empty() {
        return Err(not("it has no certificate".to_owned()));
    }
    Ok(certificates)
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    fn reach(url: &str, options: &ProviderOptions) -> Reach {
        Reach::new(&Url::parse(url).unwrap(), options)
    }

    #[test]
    fn this_machine_is_reached_directly_unless_configured() {
        let plain = ProviderOptions::default();
        for url in ["http://localhost:1/v1", "http://127.8.0.1/v1", "https://[::1]/v1", "http://x.localhost/"]
        {
            assert_eq!(reach(url, &plain).way, Way::Direct, "{url}");
        }
        for url in ["http://localhost.example/v1", "https://10.0.0.1/v1"] {
            assert_eq!(reach(url, &plain).way, Way::Environment, "{url}");
        }
        let configured = ProviderOptions { proxy: Some("https://p:1".into()), ..ProviderOptions::default() };
        let through = reach("http://localhost/v1", &configured);
        assert_eq!((through.way, through.trust), (Way::Through("https://p:1".into()), Trust::System(None)));
    }

    #[test]
    fn a_client_that_needs_no_certificates_is_always_made() {
        let plain = ProviderOptions::default();
        for url in ["http://localhost/", "http://example.org/"] {
            let reach = reach(url, &plain);
            assert_eq!(reach.trust, Trust::Nobody);
            assert!(make(&reach).is_ok());
        }
    }

    #[test]
    fn options_that_can_t_work_are_told_before() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.pem");
        let said = |options: &ProviderOptions| check(options).unwrap_err().to_string();
        let options = ProviderOptions { ca_file: Some(file.clone()), ..ProviderOptions::default() };
        assert!(said(&options).contains("ca.pem can't be read"));
        for (text, problem) in [
            ("hello", "it has no certificate"),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "ca.pem is not a file of PEM"),
        ] {
            fs::write(&file, text).unwrap();
            assert!(said(&options).contains(problem), "{}", said(&options));
        }
        for proxy in ["ftp://p", "p:8080", ""] {
            let options = ProviderOptions { proxy: Some(proxy.into()), ..ProviderOptions::default() };
            assert!(said(&options).starts_with("the proxy is not an address"), "{proxy}");
        }
    }
}
