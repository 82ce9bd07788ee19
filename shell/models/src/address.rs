//! Addresses of servers: how they are shown, and which are everybody's.

use url::Url;

pub(crate) const PUBLIC_OPENAI: &str = "https://api.openai.com/v1";
pub(crate) const PUBLIC_ANTHROPIC: &str = "https://api.anthropic.com";

/// Where services give out keys, by the host that is asked.
const KEY_PAGES: [(&str, &str); 8] = [
    ("api.openai.com", "https://platform.openai.com/api-keys"),
    ("api.anthropic.com", "https://console.anthropic.com/settings/keys"),
    ("openrouter.ai", "https://openrouter.ai/settings/keys"),
    ("generativelanguage.googleapis.com", "https://aistudio.google.com/apikey"),
    ("api.groq.com", "https://console.groq.com/keys"),
    ("api.mistral.ai", "https://console.mistral.ai/api-keys"),
    ("api.deepseek.com", "https://platform.deepseek.com/api_keys"),
    ("api.together.xyz", "https://api.together.ai/settings/api-keys"),
];

/// The page where a key is made for the server at this address. A proxy in front of a service takes the service's keys.
pub(crate) fn key_page(url: &Url, key_origin: Option<&str>) -> Option<&'static str> {
    let service = match key_origin {
        Some("OPENAI_API_KEY") => Url::parse(PUBLIC_OPENAI).ok(),
        Some("ANTHROPIC_API_KEY") => Url::parse(PUBLIC_ANTHROPIC).ok(),
        Some(_) | None => None,
    };
    let page = |url: &Url| {
        let host = url.host_str()?;
        KEY_PAGES.iter().find(|(known, _)| *known == host).map(|(_, page)| *page)
    };
    page(url).or_else(|| page(&service?))
}

/// Whether the server is on this machine.
pub(crate) fn is_loopback(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    address.map_or(host == "localhost" || host.ends_with(".localhost"), |address| address.is_loopback())
}

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
    fn services_have_a_page_for_keys() {
        let page = |url: &str, origin| key_page(&Url::parse(url).unwrap(), origin);
        assert_eq!(page("https://openrouter.ai/api/v1", None), Some("https://openrouter.ai/settings/keys"));
        let openai = Some("https://platform.openai.com/api-keys");
        assert_eq!(page("https://api.openai.com/v1", Some("mine")), openai);
        assert_eq!(page("http://127.0.0.1:1/v1", Some("OPENAI_API_KEY")), openai);
        assert_eq!(page("http://127.0.0.1:1/v1", None), None);
    }

    #[test]
    fn public_addresses_are_known_by_their_host() {
        assert!(is_public("https://api.openai.com:443/v1/") && !is_public("nonsense"));
    }
}
