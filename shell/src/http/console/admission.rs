//! Who is let in by a session, and who may log in at all.

use std::net::{IpAddr, SocketAddr};

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, Method};
use holon_api::Code;
use holon_platform::clock;
use subtle::ConstantTimeEq;

use super::Console;
use super::cookie::csrf;
use super::sessions::{Lease, Session};
use crate::http::App;
use crate::http::auth::{Caller, is_loopback, named};
use crate::http::failure::Failure;
use crate::http::header::sole;
use crate::http::peer::OtherEnd;
use crate::http::route::Handled;

const CSRF: HeaderName = HeaderName::from_static("x-holon-csrf");
/// Of a request that a page makes by itself, long after anybody has used it.
const BACKGROUND: HeaderName = HeaderName::from_static("x-holon-background");
/// What a browser says of where a request comes from.
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

impl Console {
    /// The session of whoever sends these headers, and its secret.
    pub(super) fn own(&self, headers: &HeaderMap) -> Option<(String, Session)> {
        let now = clock::now().wall;
        let found = |secret: &str| Some((secret.to_owned(), self.0.sessions.find(secret, now)?));
        self.0.cookie.values(headers).filter(|_| self.0.on).find_map(found)
    }

    /// Whether a cookie came of which no session is open: its browser can forget it.
    pub(super) fn is_stale(&self, headers: &HeaderMap) -> bool {
        self.shows_cookie(headers) && self.own(headers).is_none()
    }

    /// For what goes on as long as the session of the caller.
    ///
    /// # Errors
    /// The session has ended meanwhile.
    pub(in crate::http) fn lease(&self, headers: &HeaderMap) -> Handled<Lease> {
        let own = self.own(headers);
        let lease = own.and_then(|(_, it)| self.0.sessions.lease(&it.session_id, clock::now().wall));
        lease.ok_or_else(session_ended)
    }

    fn shows_cookie(&self, headers: &HeaderMap) -> bool {
        self.0.on && self.0.cookie.values(headers).next().is_some()
    }
}

impl App {
    /// Who asks. A control token counts before a session, and a session before what the kernel says of its browser.
    ///
    /// # Errors
    /// As [`Policy::admit`](crate::http::auth::Policy::admit); and for a session that has ended, a page that is not this
    /// runtime's own, and a change without what only its own page knows.
    pub(in crate::http) async fn admit(
        &self,
        end: &OtherEnd,
        method: &Method,
        headers: &HeaderMap,
    ) -> Handled<Caller> {
        if headers.contains_key(AUTHORIZATION) || !self.console.shows_cookie(headers) {
            let peer = end.peer(&self.peers, self.policy.care(headers)).await;
            return self.policy.admit(peer, headers);
        }
        let peer = end.peer(&self.peers, self.policy.care_of_commands()).await;
        self.policy.admit_known(peer)?;
        let Some((secret, session)) = self.console.own(headers) else {
            return Err(session_ended());
        };
        self.check_page(headers)?;
        if !matches!(*method, Method::GET | Method::HEAD) {
            let shown = sole(headers, CSRF.as_str())?.map_or(&[][..], |value| value.as_bytes());
            if !bool::from(shown.ct_eq(csrf(&secret).as_bytes())) {
                let text = "a change needs the header x-holon-csrf of the session";
                return Err(Failure::new(Code::WrongCsrf, text).hint("GET /console/session shows it"));
            }
        }
        // What a page loads by itself does not keep a session open that nobody uses.
        let used = !headers.contains_key(BACKGROUND);
        if used && self.console.0.sessions.touch(&session.session_id, clock::now().wall) {
            self.console.store_later();
        }
        Ok(Caller::Session)
    }

    /// Whether somebody with a link may log in.
    ///
    /// # Errors
    /// A confined command; another user of the machine, who may have read the link in the list of processes; a page that
    /// is not this runtime's own.
    pub(in crate::http) async fn admit_login(&self, end: &OtherEnd, headers: &HeaderMap) -> Handled<()> {
        let peer = end.peer(&self.peers, self.policy.care(&HeaderMap::new())).await;
        self.policy.admit_link(peer)?;
        self.check_page(headers)
    }

    /// Whether somebody may have the files of the page.
    ///
    /// # Errors
    /// As for a login, but other users may have them: they hold no data.
    pub(super) async fn admit_files(&self, end: &OtherEnd, headers: &HeaderMap) -> Handled<()> {
        let peer = end.peer(&self.peers, self.policy.care_of_commands()).await;
        self.policy.admit_known(peer)?;
        self.check_host(headers).map(|_| ())
    }

    /// A page of this runtime alone, under an address that is its own: a name that somebody has led to this machine gets
    /// nothing, and no page of another port.
    fn check_page(&self, headers: &HeaderMap) -> Handled<()> {
        let host = self.check_host(headers)?;
        let refused = |what: &str| {
            let text = format!("only the page of this runtime may use its session, not {what}");
            Err(Failure::new(Code::ForbiddenOrigin, text).hint("open the console at the address of its link"))
        };
        if let Some(origin) = text(headers, &ORIGIN)
            && !host.is_some_and(|host| is_page_of(origin, host))
        {
            return refused(&format!("that of {origin:?}"));
        }
        match text(headers, &FETCH_SITE) {
            None | Some("same-origin" | "none") => Ok(()),
            Some(_) => refused("another one"),
        }
    }

    fn check_host<'a>(&self, headers: &'a HeaderMap) -> Handled<Option<&'a str>> {
        let Some(host) = text(headers, &HOST) else { return Ok(None) };
        let urls = self.about.advertise_url.iter().map(String::as_str);
        let mut known = urls.chain(self.allowed_origins.iter().map(|origin| origin.as_str()));
        if is_loopback(host) || is_address(host) || known.any(|url| names_host(url, host)) {
            return Ok(Some(host));
        }
        let text = format!("{host:?} is no name of this runtime");
        let hint =
            "open the console at the address of its link, or set server.advertise to the one that others use";
        Err(Failure::new(Code::ForbiddenOrigin, text).hint(hint))
    }
}

fn session_ended() -> Box<Failure> {
    let text = "the session of the web console has ended";
    Failure::new(Code::SessionEnded, text).hint("`holon console` opens another one")
}

/// Whether the page of the caller came over TLS, as its browser says.
pub(super) fn is_secure(headers: &HeaderMap) -> bool {
    text(headers, &ORIGIN).is_some_and(|origin| origin.starts_with("https://"))
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).map(|value| value.to_str().unwrap_or("?"))
}

/// Whether a host is an address and no name, which alone could be led elsewhere.
fn is_address(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.parse::<SocketAddr>().is_ok() || bare.parse::<IpAddr>().is_ok()
}

/// Whether a URL leads to a host, whatever port is in front of it.
fn names_host(url: &str, host: &str) -> bool {
    let name = url::Url::parse(url).ok().and_then(|url| url.host_str().map(str::to_owned));
    matches!((name, named(host, 80)), (Some(name), Some((asked, _))) if name.eq_ignore_ascii_case(&asked))
}

/// Whether the page of an origin was got from the host that is asked. What stands before the runtime may speak TLS.
fn is_page_of(origin: &str, host: &str) -> bool {
    let (name, usual) = match origin.split_once("://") {
        Some(("http", name)) => (name, 80),
        Some(("https", name)) => (name, 443),
        Some(_) | None => return false,
    };
    matches!((named(name, usual), named(host, usual)), (Some(page), Some(asked)) if page == asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_that_of_the_host_that_is_asked() {
        for (origin, host) in [
            ("http://127.0.0.1:7878", "127.0.0.1:7878"),
            ("http://localhost", "localhost"),
            ("http://[::1]:7878", "[::1]:7878"),
            ("https://console.example", "console.example"),
            ("https://console.example", "CONSOLE.example:443"),
        ] {
            assert!(is_page_of(origin, host), "{origin} {host}");
        }
        for (origin, host) in [
            ("http://127.0.0.1:3000", "127.0.0.1:7878"),
            ("http://localhost:7878", "127.0.0.1:7878"),
            ("https://console.example", "console.example:80"),
            ("null", "localhost"),
            ("ftp://localhost", "localhost"),
            ("http://evil.example", "console.example"),
        ] {
            assert!(!is_page_of(origin, host), "{origin} {host}");
        }
    }

    #[test]
    fn a_name_that_is_not_known_may_have_been_led_here() {
        for host in ["192.168.1.7:7878", "10.0.0.1", "[fd00::1]:7878", "[fd00::1]"] {
            assert!(is_address(host), "{host}");
        }
        for host in ["evil.example:7878", "127.0.0.1.example", "localhost", ""] {
            assert!(!is_address(host), "{host}");
        }
        assert!(names_host("https://console.example/holon", "console.example:7878"));
        assert!(!names_host("https://console.example", "console.example.evil"));
        assert!(!names_host("console.example", "console.example"));
    }
}
