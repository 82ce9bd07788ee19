//! One POST of JSON and its whole answer. Knows nothing of providers: it says where in the transport a
//! request failed, and leaves the meaning of statuses to the caller.

use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use holon_core::Millis;
use holon_core::model::{FailureKind, TransportDiagnostics};
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode, Url};

use super::Failure;
use crate::clock;

/// Longest answer that is read, in bytes.
pub(super) const BODY_BYTES: usize = 32 << 20;
const CONNECT: Duration = Duration::from_secs(30);
const CAUSES: usize = 8;

/// The clients of the process, each made when it is first needed.
#[derive(Clone, Default)]
pub(super) struct Clients {
    made: Arc<[OnceLock<Result<Client, String>>; 3]>,
}

/// What a client needs in order to reach a server.
#[derive(Clone, Copy)]
enum Reach {
    /// This machine, without TLS: no proxy, no certificates.
    Loopback = 0,
    /// Without TLS: no certificates, so that it works where none are installed.
    Plain = 1,
    /// With TLS, trusting what the system trusts.
    Secure = 2,
}

/// A status and what came with it.
pub(super) struct Answer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Vec<u8>,
    /// Why the body is not whole.
    pub(super) cut: Option<Failure>,
}

impl Clients {
    /// Sends `body` and reads the answer, all within `timeout`. Redirects are not followed: they would carry
    /// the key elsewhere.
    pub(super) async fn post(
        &self,
        url: &Url,
        authorization: Option<&HeaderValue>,
        body: String,
        timeout: Millis,
    ) -> Result<Answer, Failure> {
        let started = clock::now();
        let left = || Duration::from_millis(timeout.0.saturating_sub(clock::since(started).0));
        let late = |stage: &str| {
            let message = format!("no complete answer from {} within {timeout}", shown(url));
            located(Failure::new(FailureKind::Timeout, message), stage, url)
        };
        let client = self.client(url)?;
        let mut request = client
            .post(url.clone())
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json");
        if let Some(value) = authorization {
            request = request.header(AUTHORIZATION, value.clone());
        }
        let mut response = match tokio::time::timeout(left(), request.body(body).send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(not_sent(error, url)),
            Err(_) => return Err(late("response")),
        };
        let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
        let mut body = Vec::new();
        let cut = match tokio::time::timeout(left(), read(&mut response, &mut body)).await {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(cut_off(error, url)),
            Err(_) => Some(late("body")),
        };
        Ok(Answer { status, headers, body, cut })
    }

    fn client(&self, url: &Url) -> Result<Client, Failure> {
        let reach = match (url.scheme(), url.host_str()) {
            ("https", _) => Reach::Secure,
            (_, Some("localhost" | "127.0.0.1" | "[::1]")) => Reach::Loopback,
            (_, Some(_) | None) => Reach::Plain,
        };
        self.made[reach as usize].get_or_init(|| make(reach)).clone().map_err(|problem| {
            let message = format!("no connection can be made: {problem}; are CA certificates installed?");
            located(Failure::new(FailureKind::Connect, message), "client", url)
        })
    }
}

fn make(reach: Reach) -> Result<Client, String> {
    static PROVIDER: OnceLock<()> = OnceLock::new();
    // An error means that one is installed already, which is as good.
    PROVIDER.get_or_init(|| drop(rustls::crypto::ring::default_provider().install_default()));
    let builder = Client::builder()
        .user_agent(concat!("holon/", env!("CARGO_PKG_VERSION")))
        .redirect(Policy::none())
        .connect_timeout(CONNECT);
    let builder = match reach {
        Reach::Loopback => builder.no_proxy().tls_certs_only([]),
        Reach::Plain => builder.tls_certs_only([]),
        Reach::Secure => builder,
    };
    builder.build().map_err(|error| causes(&error.without_url()).join(": "))
}

async fn read(response: &mut reqwest::Response, body: &mut Vec<u8>) -> Result<(), Cut> {
    while let Some(chunk) = response.chunk().await.map_err(Cut::Broken)? {
        if body.len() + chunk.len() > BODY_BYTES {
            return Err(Cut::TooLong);
        }
        body.extend_from_slice(&chunk);
    }
    Ok(())
}

enum Cut {
    Broken(reqwest::Error),
    TooLong,
}

fn not_sent(error: reqwest::Error, url: &Url) -> Failure {
    let error = error.without_url();
    let (kind, stage, what) = if error.is_timeout() {
        (FailureKind::Timeout, "connect", "no connection in time to")
    } else if error.is_connect() {
        (FailureKind::Connect, "connect", "no connection to")
    } else if error.is_builder() {
        (FailureKind::Client, "request", "no request can be made to")
    } else {
        (FailureKind::StreamCut, "response", "the connection broke before an answer came from")
    };
    let chain = causes(&error);
    let reason = chain.last().map(String::as_str).unwrap_or_default();
    let mut failure = Failure::new(kind, format!("{what} {}: {reason}", shown(url)));
    failure = located(failure, stage, url);
    with_causes(failure, chain)
}

fn cut_off(cut: Cut, url: &Url) -> Failure {
    match cut {
        Cut::Broken(error) => {
            let error = error.without_url();
            let kind = if error.is_timeout() { FailureKind::Timeout } else { FailureKind::StreamCut };
            let message = format!("the answer of {} broke off before its end", shown(url));
            with_causes(located(Failure::new(kind, message), "body", url), causes(&error))
        }
        Cut::TooLong => {
            let message = format!("the answer of {} is longer than {BODY_BYTES} bytes", shown(url));
            located(Failure::new(FailureKind::InvalidResponse, message), "body", url)
        }
    }
}

/// Adds where it happened.
pub(super) fn located(mut failure: Failure, stage: &str, url: &Url) -> Failure {
    failure.diagnostics = Some(Box::new(TransportDiagnostics {
        stage: stage.to_owned(),
        url: Some(shown(url)),
        status: None,
        source_chain: Vec::new(),
    }));
    failure
}

fn with_causes(mut failure: Failure, chain: Vec<String>) -> Failure {
    if let Some(found) = &mut failure.diagnostics {
        found.source_chain = chain;
    }
    failure
}

/// The address without credentials, query and fragment.
pub(super) fn shown(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}

fn causes(error: &reqwest::Error) -> Vec<String> {
    let mut chain = vec![error.to_string()];
    let mut next = error.source();
    while let Some(cause) = next {
        if chain.len() == CAUSES {
            break;
        }
        chain.push(cause.to_string());
        next = cause.source();
    }
    chain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_secrets() {
        let url = Url::parse("https://user:pass@host:8443/v1/x?key=canary#y").unwrap();
        assert_eq!(shown(&url), "https://host:8443/v1/x");
    }

    #[test]
    fn a_client_that_needs_no_certificates_is_always_made() {
        for reach in [Reach::Loopback, Reach::Plain] {
            assert!(make(reach).is_ok());
        }
    }
}
