//! Addresses of servers: how they are shown, and which are everybody's.

use url::Url;

pub(crate) const PUBLIC_OPENAI: &str = "https://api.openai.com/v1";
pub(crate) const PUBLIC_ANTHROPIC: &str = "https://api.anthropic.com";

/// The address without credentials, query and fragment.
pub(crate) fn shown(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{host}{port}{}", url.scheme(), url.path())
}

/// An address as it may be shown; what is no address is not shown at all.
pub(crate) fn without_password(url: &str) -> String {
    Url::parse(url.trim()).map_or_else(|_| "…".to_owned(), |url| shown(&url))
}

/// Whether this is the address of a service that everybody needs a key for.
pub(crate) fn is_public(base_url: &str) -> bool {
    let host = |url: &str| Url::parse(url).ok().and_then(|url| url.host_str().map(ToOwned::to_owned));
    let asked = host(base_url);
    asked.is_some() && [PUBLIC_OPENAI, PUBLIC_ANTHROPIC].iter().any(|public| host(public) == asked)
}

/// Whether this is the address of the service whose protocol others speak, too.
pub(crate) fn is_public_openai(base_url: &str) -> bool {
    let host = |url: &str| Url::parse(url.trim()).ok().and_then(|url| url.host_str().map(ToOwned::to_owned));
    host(base_url).is_some_and(|asked| Some(asked) == host(PUBLIC_OPENAI))
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
    fn public_addresses_are_known_by_their_host() {
        assert!(is_public("https://api.openai.com:443/v1/") && !is_public("nonsense"));
    }
}
