//! The way to other nodes: HTTP, or HTTPS where the address that a node advertises says so. A node that is gone without a word
//! is noticed by TCP, however long its answer may take.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::Uri;
use axum::http::uri::Scheme;
use axum::response::Response;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::legacy::{Client, Error};
use hyper_util::rt::TokioExecutor;
use rustls::{ClientConfig, RootCertStore};
use tower::ServiceExt as _;
use tower::util::BoxCloneSyncService;

/// How long another node may take to take a connection.
const CONNECTS: Duration = Duration::from_secs(1);
/// A connection on which nothing comes for so long is asked whether its other end is there …
const QUIET: Duration = Duration::from_secs(5);
/// … so often before it is given up.
const ASKED: u32 = 3;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// What brings connections about.
pub type Connector = BoxCloneSyncService<Uri, Link, BoxError>;

/// Asks other nodes.
#[derive(Clone)]
pub(super) struct Others(Client<Connector, Body>);

impl Others {
    pub(super) fn new(connector: Connector) -> Self {
        Self(Client::builder(TokioExecutor::new()).build(connector))
    }

    pub(super) async fn request(&self, request: Request) -> Result<Response, Error> {
        Ok(self.0.request(request).await?.map(Body::new))
    }
}

/// Over TCP, with TLS where an address wants it.
pub fn to_other_nodes() -> Connector {
    let mut tcp = HttpConnector::new();
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECTS));
    tcp.set_keepalive(Some(QUIET));
    tcp.set_keepalive_interval(Some(QUIET));
    tcp.set_keepalive_retries(Some(ASKED));
    tcp.set_tcp_user_timeout(Some(QUIET * (ASKED + 1)));
    tcp.enforce_http(false);
    let tls = Arc::new(OnceLock::new());
    BoxCloneSyncService::new(tower::service_fn(move |uri: Uri| {
        let (tcp, tls) = (tcp.clone(), tls.clone());
        async move {
            if uri.scheme() != Some(&Scheme::HTTPS) {
                return Ok(Link::new(tcp.oneshot(uri).await?));
            }
            let config = tls.get_or_init(trusting).clone()?;
            Ok(Link::new(HttpsConnector::from((tcp, config)).oneshot(uri).await?))
        }
    }))
}

/// Trusts whom the system trusts (`SSL_CERT_FILE` names others).
fn trusting() -> Result<Arc<ClientConfig>, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.map_err(|error| error.to_string())?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

/// A connection, whatever it goes over.
pub struct Link(Pin<Box<dyn Stream>>);

trait Stream: Read + Write + Connection + Send {}

impl<T: Read + Write + Connection + Send> Stream for T {}

impl Link {
    pub fn new(stream: impl Read + Write + Connection + Send + 'static) -> Self {
        Self(Box::pin(stream))
    }
}

impl Connection for Link {
    fn connected(&self) -> Connected {
        self.0.connected()
    }
}

impl Read for Link {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        self.0.as_mut().poll_read(context, into)
    }
}

impl Write for Link {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.0.as_mut().poll_write(context, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.as_mut().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.0.as_mut().poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        from: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.0.as_mut().poll_write_vectored(context, from)
    }
}
