//! Pages of browsers: which of them may read replies (CORS). This gives no right to ask: that is the token's alone
//! ([`super::auth`]). An origin that is not allowed gets no header, so its browser shows its page nothing.

use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
    ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_METHOD, ORIGIN, VARY,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::App;
use super::auth::is_loopback;
use crate::settings::PageOrigin;

const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, DELETE");
const HEADERS: HeaderValue =
    HeaderValue::from_static("Authorization, Content-Type, Idempotency-Key, Last-Event-ID");
const EXPOSED: HeaderValue = HeaderValue::from_static("Retry-After, Allow");
/// A browser asks again after so many seconds.
const MAX_AGE: HeaderValue = HeaderValue::from_static("600");
const PRIVATE_REQUESTED: HeaderName = HeaderName::from_static("access-control-request-private-network");
const PRIVATE_ALLOWED: HeaderName = HeaderName::from_static("access-control-allow-private-network");

/// Answers a browser that asks before it sends a request, and names the origin in every other reply to its page.
pub(super) async fn answer(State(app): State<App>, request: Request, next: Next) -> Response {
    let Some(origin) = request.headers().get(ORIGIN).cloned() else { return next.run(request).await };
    let allowed = allows(&app.allowed_origins, &origin);
    let asks =
        request.method() == Method::OPTIONS && request.headers().contains_key(ACCESS_CONTROL_REQUEST_METHOD);
    let mut response =
        if asks && allowed { preflight(request.headers()).into_response() } else { next.run(request).await };
    let headers = response.headers_mut();
    headers.append(VARY, HeaderValue::from_static("Origin"));
    if allowed {
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    }
    response
}

fn preflight(asked: &HeaderMap) -> (StatusCode, HeaderMap) {
    let mut headers = HeaderMap::new();
    headers.insert(ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
    headers.insert(ACCESS_CONTROL_MAX_AGE, MAX_AGE);
    if asked.get(PRIVATE_REQUESTED).is_some_and(|value| value == "true") {
        headers.insert(PRIVATE_ALLOWED, HeaderValue::from_static("true"));
    }
    (StatusCode::NO_CONTENT, headers)
}

fn allows(configured: &[PageOrigin], origin: &HeaderValue) -> bool {
    let Ok(text) = origin.to_str() else { return false };
    let of_this_machine = || {
        let name = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
        PageOrigin::new(text).is_some() && name.is_some_and(is_loopback)
    };
    configured.iter().any(|known| known.as_str() == text) || of_this_machine()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configured_origins_and_those_of_this_machine_are_allowed() {
        let configured = [PageOrigin::new("https://console.example").unwrap()];
        let allows = |origin: &'static str| allows(&configured, &HeaderValue::from_static(origin));
        for allowed in [
            "https://console.example",
            "http://localhost:5173",
            "http://127.0.0.1:3000",
            "https://localhost",
            "http://[::1]:8080",
        ] {
            assert!(allows(allowed), "{allowed}");
        }
        for refused in [
            "http://console.example",
            "https://console.example:8443",
            "https://console.example.evil",
            "https://evil.example",
            "null",
            "",
            "*",
            "http://localhost.evil.example",
            "http://127.0.0.1.evil:80",
            "http://localhost:5173/",
            "http://user@localhost:5173",
            "file://localhost",
            "localhost:5173",
        ] {
            assert!(!allows(refused), "{refused}");
        }
    }
}
