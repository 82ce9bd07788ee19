//! The cookie of a session, and what its page shows besides.

use axum::http::header::COOKIE;
use axum::http::{HeaderMap, HeaderValue};
use holon_platform::hex;

/// A browser forgets the cookie after a month, as the runtime does the session.
const MAX_AGE_SECONDS: u32 = 30 * 24 * 60 * 60;

/// How the cookie is called here.
#[derive(Debug)]
pub(super) struct Cookie(String);

impl Cookie {
    pub(super) fn new(name: String) -> Self {
        Self(name)
    }

    pub(super) fn name(&self) -> &str {
        &self.0
    }

    /// Every value that came under this name: a browser may have two, of two paths.
    pub(super) fn values<'a>(&'a self, headers: &'a HeaderMap) -> impl Iterator<Item = &'a str> {
        let lines = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.filter(|(name, _)| *name == self.0).map(|(_, value)| value)
    }

    /// What gives it to a browser. A page that came over TLS has it sent over nothing else.
    pub(super) fn set(&self, secret: &str, is_secure: bool) -> HeaderValue {
        let secure = if is_secure { "; Secure" } else { "" };
        let text = format!(
            "{}={secret}; HttpOnly; SameSite=Strict; Path=/; Max-Age={MAX_AGE_SECONDS}{secure}",
            self.0
        );
        let mut value = header(&text);
        value.set_sensitive(true);
        value
    }

    /// What takes it away again.
    pub(super) fn remove(&self) -> HeaderValue {
        header(&format!("{}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0", self.0))
    }
}

/// Names and secrets are letters and digits.
fn header(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// What a page shows with each change, so that it is no other page that makes it: nobody comes from it to the secret.
pub(super) fn csrf(secret: &str) -> String {
    hex::write(&holon_text::hash(format!("x-holon-csrf:{secret}").as_bytes()).0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_among_others() {
        let cookie = Cookie::new("holon_session_a".to_owned());
        let mut headers = HeaderMap::new();
        assert_eq!(cookie.values(&headers).count(), 0);
        headers.append(COOKIE, HeaderValue::from_static("a=b; holon_session_a=one;holon_session_b=two"));
        headers.append(COOKIE, HeaderValue::from_static("xholon_session_a=no; holon_session_a=three; odd"));
        assert_eq!(cookie.values(&headers).collect::<Vec<_>>(), ["one", "three"]);
    }

    #[test]
    fn the_page_can_not_read_the_secret() {
        let cookie = Cookie::new("holon_session_a".to_owned());
        let text = |value: HeaderValue| value.to_str().unwrap().to_owned();
        let set = text(cookie.set("secret", false));
        assert!(set.starts_with("holon_session_a=secret; HttpOnly; SameSite=Strict; Path=/; "), "{set}");
        assert!(!set.contains("Secure") && text(cookie.set("secret", true)).ends_with("; Secure"));
        assert!(text(cookie.remove()).contains("=; ") && text(cookie.remove()).contains("Max-Age=0"));
        assert!(!csrf("secret").contains("secret") && csrf("secret") != csrf("secreu"));
    }
}
