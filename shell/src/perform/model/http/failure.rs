//! Requests and answers that break: what is said about them.

use std::error::Error;

use holon_core::model::{FailureKind, TransportDiagnostics};
use reqwest::Url;

use super::super::Failure;
use super::super::provider::ProviderOptions;
use crate::present::exactly;

const CAUSES: usize = 8;

pub(super) fn not_sent(error: reqwest::Error, url: &Url, options: &ProviderOptions) -> Failure {
    let error = error.without_url();
    let (kind, stage, what) = if error.is_timeout() {
        let what = format!("no connection within {} to", exactly(options.connect_timeout));
        (FailureKind::Timeout, "connect", what)
    } else if error.is_connect() {
        (FailureKind::Connect, "connect", "no connection to".to_owned())
    } else if error.is_builder() {
        (FailureKind::Client, "request", "no request can be made to".to_owned())
    } else {
        let what = "the connection broke before an answer came from".to_owned();
        (FailureKind::StreamCut, "response", what)
    };
    let chain = causes(&error);
    let reason = chain.last().map(String::as_str).unwrap_or_default();
    let failure = Failure::new(kind, format!("{what} {}: {reason}", shown(url)));
    with_causes(located(failure, stage, url), chain)
}

pub(super) fn cut_off(error: reqwest::Error, url: &Url) -> Failure {
    let error = error.without_url();
    let kind = if error.is_timeout() { FailureKind::Timeout } else { FailureKind::StreamCut };
    let chain = causes(&error);
    let reason = chain.last().map(String::as_str).unwrap_or_default();
    let message = format!("the answer of {} broke off before its end: {reason}", shown(url));
    with_causes(located(Failure::new(kind, message), "body", url), chain)
}

/// Adds where it happened.
pub(in super::super) fn located(mut failure: Failure, stage: &str, url: &Url) -> Failure {
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
pub(in super::super) fn shown(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}

pub(super) fn causes(error: &reqwest::Error) -> Vec<String> {
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
mod unit_tests {
    use super::*;

    #[test]
    fn addresses_are_shown_without_secrets() {
        let url = Url::parse("https://user:pass@host:8443/v1/x?key=canary#y").unwrap();
        assert_eq!(shown(&url), "https://host:8443/v1/x");
    }
}
