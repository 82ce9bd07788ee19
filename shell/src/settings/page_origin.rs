//! Where a page in a browser comes from: scheme, name and port, and nothing else.

use url::Url;

/// Most origins that may be allowed.
pub(super) const ORIGINS: usize = 32;

/// The origin of pages, as a browser sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageOrigin(String);

impl PageOrigin {
    /// None for what no browser sends: another scheme, a path, a name that is not in small letters, the usual port.
    pub fn new(text: &str) -> Option<Self> {
        let url = Url::parse(text).ok()?;
        let canonical =
            matches!(url.scheme(), "http" | "https") && url.origin().ascii_serialization() == text;
        (canonical && !text.contains('*')).then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_browser_sends_is_an_origin() {
        for origin in
            ["https://console.example", "http://localhost:5173", "http://[::1]:80", "https://a.b:8443"]
        {
            let taken = PageOrigin::new(origin).map(|origin| origin.as_str().to_owned());
            assert_eq!(taken.as_deref() == Some(origin), origin != "http://[::1]:80", "{origin}");
        }
        for wrong in [
            "*",
            "null",
            "",
            "console.example",
            "https://",
            "https://A.example",
            "https://a.example/",
            "https://a.example/x",
            "https://*.example",
            "https://u:p@a.example",
            "https://a.example:443",
            "file:///x",
            "ftp://a.example",
            "https://a.example, https://b.example",
        ] {
            assert_eq!(PageOrigin::new(wrong), None, "{wrong}");
        }
    }
}
