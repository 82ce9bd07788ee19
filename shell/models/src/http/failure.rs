//! Requests and answers that break: what is said about them.

use holon_facts::model::{FailureKind, TransportDiagnostics};
use holon_text::time::exactly;
use url::Url;

use super::http_client::{Broken, How};
use crate::address::shown;
use crate::answer::Failure;
use crate::options::ProviderOptions;

pub(super) fn not_sent(broken: Broken, url: &Url, options: &ProviderOptions) -> Failure {
    let (kind, stage, what) = match broken.how {
        How::NoClient(kind) => return located(Failure::new(kind, broken.to_string()), "client", url),
        How::NoRequest => (FailureKind::Client, "request", "no request can be made to".to_owned()),
        How::NoConnection => (FailureKind::Connect, "connect", "no connection to".to_owned()),
        How::ConnectTooLate => {
            let what = format!("no connection within {} to", exactly(options.connect_timeout));
            (FailureKind::Timeout, "connect", what)
        }
        How::TooLate => (FailureKind::Timeout, "response", "nothing came in time from".to_owned()),
        How::CutOff => {
            let what = "the connection broke before an answer came from".to_owned();
            (FailureKind::StreamCut, "response", what)
        }
    };
    let reason = broken.causes.last().map(String::as_str).unwrap_or_default();
    let failure = Failure::new(kind, format!("{what} {}: {reason}", shown(url)));
    with_causes(located(failure, stage, url), broken.causes)
}

pub(super) fn cut_off(broken: Broken, url: &Url) -> Failure {
    let kind = match broken.how {
        How::ConnectTooLate | How::TooLate => FailureKind::Timeout,
        How::NoClient(_) | How::NoRequest | How::NoConnection | How::CutOff => FailureKind::StreamCut,
    };
    let reason = broken.causes.last().map(String::as_str).unwrap_or_default();
    let message = format!("the answer of {} broke off before its end: {reason}", shown(url));
    with_causes(located(Failure::new(kind, message), "body", url), broken.causes)
}

/// An address that URLs allow and HTTP does not.
pub(super) fn no_address(error: &http::uri::InvalidUri, url: &Url) -> Failure {
    let message = format!("no request can be made to {}: {error}", shown(url));
    located(Failure::new(FailureKind::Client, message), "request", url)
}

/// Adds where it happened.
pub(crate) fn located(mut failure: Failure, stage: &str, url: &Url) -> Failure {
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
