//! What a person can do about an attempt that failed: which key to give and where to get it, how to start a server, which
//! models there are.

use holon_facts::model::FailureKind;
use holon_facts::model_ref::ModelRef;
use http::StatusCode;
use url::Url;

use super::ReportedError;
use crate::address::{is_loopback, key_page};
use crate::answer::Failure;
use crate::provider::{Credential, ProviderSpec};

/// How servers on a machine of one's own are started, by the port that they take by default.
const SERVERS: [(u16, &str); 4] = [
    (11434, "`ollama serve`"),
    (8000, "`vllm serve MODEL`"),
    (8080, "`llama-server -m FILE`"),
    (1234, "`lms server start`"),
];

/// How servers write that there is no model of a name.
const NO_MODEL: [&str; 2] = ["model_not_found", "unknown model"];
const MISSING: [&str; 5] = ["not found", "not_found", "not exist", "no such", "no model"];

/// Adds how a server is started, where nobody listens at the address.
pub(super) fn unreachable(mut failure: Failure, url: &Url, spec: &ProviderSpec) -> Failure {
    let refused = |cause: &String| cause.to_lowercase().contains("refused");
    let refused = failure.diagnostics.as_ref().is_some_and(|found| found.source_chain.iter().any(refused));
    if failure.kind != FailureKind::Connect || !refused {
        return failure;
    }
    let origin = &spec.base_url_origin;
    let advice = if is_loopback(url) {
        let port = url.port_or_known_default();
        let known = SERVERS.iter().find(|(known, _)| Some(*known) == port);
        let start = known.map_or("for example `ollama serve`", |(_, start)| *start);
        format!("nothing listens there; start the server ({start}), or set {origin} to its address")
    } else {
        format!("nothing listens there; is {origin} right?")
    };
    failure.message = format!("{}; {advice}", failure.message);
    failure
}

/// Whether a refusal is about the name of the model, and not about the address.
pub(super) fn lacks_model(status: StatusCode, said: &ReportedError) -> bool {
    let about_model = said.mentions(&NO_MODEL) || (said.mentions(&["model"]) && said.mentions(&MISSING));
    matches!(status, StatusCode::NOT_FOUND | StatusCode::BAD_REQUEST) && about_model
}

/// What to do about a refusal, if anything can be said; `near` are models that exist.
pub(super) fn refused(
    status: StatusCode,
    said: &ReportedError,
    (url, spec, model): (&Url, &ProviderSpec, &ModelRef),
    near: &[String],
) -> Option<String> {
    if status == StatusCode::UNAUTHORIZED || said.mentions(&["invalid_api_key", "authentication_error"]) {
        return Some(another_key(url, spec));
    }
    if lacks_model(status, said) {
        let none = format!("{} has no model {:?} for you", model.provider(), model.model());
        let pull = url.port() == Some(11434) && is_loopback(url);
        return Some(match near {
            [] if pull => format!("{none}; `ollama pull {}` fetches it", model.model()),
            [] => none,
            near => format!("{none}; it has {}", near.join(", ")),
        });
    }
    (status == StatusCode::NOT_FOUND).then(|| {
        let origin = &spec.base_url_origin;
        format!("is {origin} right? It is expected to look like http://127.0.0.1:11434/v1")
    })
}

fn another_key(url: &Url, spec: &ProviderSpec) -> String {
    let remedy = &spec.key_remedy;
    if let Credential::Login { path } = &spec.credential {
        return format!("the login in {} is refused; run `codex login`", path.display());
    }
    let (wanted, origin) = match &spec.credential {
        Credential::Key { origin, .. } => (format!("the key of {origin} is refused; {remedy}"), Some(origin)),
        Credential::Unneeded | Credential::Login { .. } | Credential::Missing { .. } => {
            (format!("this server wants a key; {remedy}"), None)
        }
    };
    match key_page(url, origin.map(String::as_str)) {
        Some(page) => format!("{wanted}, get one at {page}"),
        None => wanted,
    }
}
