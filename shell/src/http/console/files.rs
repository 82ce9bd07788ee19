//! The files of the page. They hold no data, so they need no token; what they show, they ask for like any other client.

use axum::Extension;
use axum::extract::State;
use axum::http::header::{
    ACCEPT_ENCODING, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG,
    IF_NONE_MATCH, LOCATION, REFERRER_POLICY, SET_COOKIE, VARY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use holon_api::Code;
use holon_web::{Asset, INDEX, asset};

use crate::http::App;
use crate::http::failure::Failure;
use crate::http::peer::OtherEnd;
use crate::http::route::Handled;

/// The page executes its own scripts, applies its own styles and asks its own runtime; nothing else, and nobody frames it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The same for every file.
const HEADERS: [(HeaderName, &str); 7] = [
    (CONTENT_SECURITY_POLICY, POLICY),
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    // Names stay the same from build to build: each use asks, and is told in one line that nothing has changed.
    (CACHE_CONTROL, "no-cache"),
    (VARY, "Accept-Encoding"),
];

/// `GET /console/` and what is below it.
pub(in crate::http) async fn page(
    State(app): State<App>,
    Extension(end): Extension<OtherEnd>,
    uri: Uri,
    headers: HeaderMap,
) -> Handled<Response> {
    app.console.check_on()?;
    app.admit_files(&end, &headers).await?;
    let path = uri.path().strip_prefix("/console/").unwrap_or_default();
    let file = asset(path).ok_or_else(|| {
        let path: String = path.chars().take(200).collect();
        Failure::new(Code::UnknownRoute, format!("the web console has no file {path:?}"))
            .hint("it begins at /console/")
    })?;
    let mut response = answer(file, &headers)?;
    if file.path == INDEX && app.console.is_stale(&headers) {
        // A page that is opened anew begins without the session that has ended.
        response.headers_mut().append(SET_COOKIE, app.console.0.cookie.remove());
    }
    Ok(response)
}

/// `GET /console`: files are relative to the folder.
pub(in crate::http) async fn without_slash() -> (StatusCode, [(HeaderName, &'static str); 1]) {
    (StatusCode::PERMANENT_REDIRECT, [(LOCATION, "/console/")])
}

fn answer(file: &'static Asset, asked: &HeaderMap) -> Handled<Response> {
    let packed = file.is_packed && takes_gzip(asked);
    // Two forms of a file are two things to a cache.
    let tag = format!("\"{}{}\"", file.digest, if packed { "-gzip" } else { "" });
    let known = has_tag(asked, file.digest);
    let mut headers = HeaderMap::new();
    headers.extend(HEADERS.map(|(name, value)| (name, HeaderValue::from_static(value))));
    headers.insert(ETAG, HeaderValue::from_str(&tag).map_err(Failure::internal)?);
    if known {
        return Ok((StatusCode::NOT_MODIFIED, headers).into_response());
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(file.content_type()));
    if packed {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        return Ok((headers, Bytes::from_static(file.stored)).into_response());
    }
    let bytes = file.unpacked().map_err(Failure::internal)?.into_owned();
    Ok((headers, Bytes::from(bytes)).into_response())
}

/// Whether a client that has the file in one form or the other asks for a newer one.
fn has_tag(asked: &HeaderMap, digest: &str) -> bool {
    let lines = asked.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    lines.flat_map(|line| line.split(',')).any(|tag| {
        let tag = tag.trim().trim_start_matches("W/").trim_matches('"');
        tag == "*" || tag.strip_suffix("-gzip").unwrap_or(tag) == digest
    })
}

/// Whether a client takes gzip: named with a weight, or without one.
fn takes_gzip(asked: &HeaderMap) -> bool {
    let lines = asked.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let (mut gzip, mut any) = (None, None);
    for coding in lines.flat_map(|line| line.split(',')) {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let weight = weight.trim().strip_prefix("q=").map_or(Some(1.0), |weight| weight.trim().parse().ok());
        let taken = weight.is_some_and(|weight: f32| weight > 0.0);
        match name.trim() {
            "gzip" | "x-gzip" => gzip = Some(taken),
            "*" => any = Some(taken),
            _ => {}
        }
    }
    gzip.or(any).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(name: HeaderName, value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(name, HeaderValue::from_static(value))])
    }

    #[test]
    fn a_client_gets_the_form_that_it_takes() {
        assert!(!takes_gzip(&HeaderMap::new()));
        for takes in ["gzip", "gzip, deflate, br, zstd", "br;q=1.0, gzip;q=0.5", "*", "identity;q=0, x-gzip"]
        {
            assert!(takes_gzip(&headers(ACCEPT_ENCODING, takes)), "{takes}");
        }
        for not in ["", "br", "gzip;q=0", "gzip; q=0.0, *", "identity", "*;q=0", "gzip;q=much"] {
            assert!(!takes_gzip(&headers(ACCEPT_ENCODING, not)), "{not}");
        }
    }

    #[test]
    fn a_client_that_has_the_file_gets_none() {
        for has in ["\"ab\"", "W/\"ab\"", "\"x\", \"ab-gzip\"", "*"] {
            assert!(has_tag(&headers(IF_NONE_MATCH, has), "ab"), "{has}");
        }
        for not in ["\"abc\"", "", "\"x\""] {
            assert!(!has_tag(&headers(IF_NONE_MATCH, not), "ab"), "{not}");
        }
    }
}
