//! Which variables of an environment are credentials.

use holon_platform::Environment;
use percent_encoding::percent_decode_str;
use url::Url;

use crate::{LEAST_CHARS, Secrets};

pub use crate::secret_names::is_secret;

/// Credentials of an environment, at most: each of them is looked for in every text.
const MOST_SECRETS: usize = 1_000;

/// Values that must never be seen, with the names that stand for them: what names give away, and passwords
/// inside the addresses of servers and proxies.
pub fn secrets(environment: &Environment) -> impl Iterator<Item = (String, String)> {
    let secrets = environment.texts().filter_map(|(name, value)| {
        let secret = if is_secret(name, value) { Some(value.to_owned()) } else { password_of(name, value) };
        secret.filter(|secret| secret.chars().count() >= LEAST_CHARS).map(|secret| (name.to_owned(), secret))
    });
    secrets.take(MOST_SECRETS)
}

/// Whether the whole value of a variable is a credential, by its name or by its shape.
pub fn holds_secret(environment: &Environment, name: &str) -> bool {
    let shaped = |value: &str| !Secrets::default().find(value).is_empty();
    environment.get(name).is_some_and(|value| is_secret(name, value) || shaped(value))
}

fn password_of(name: &str, value: &str) -> Option<String> {
    let ends = ["_URL", "_URI", "_DSN", "_PROXY"];
    let upper = name.to_ascii_uppercase();
    if ends.iter().any(|end| upper.ends_with(end)) { password(value) } else { None }
}

/// The password inside an address.
pub fn password(url: &str) -> Option<String> {
    let url = Url::parse(url.trim()).ok()?;
    url.password().map(ToOwned::to_owned)
}

/// The password inside an address in every form that it may be seen in: as it is written there, as it is sent, and as it is.
pub fn passwords(url: &str) -> Vec<String> {
    let sent = password(url);
    let plain = sent.as_deref().and_then(|sent| percent_decode_str(sent).decode_utf8().ok());
    let plain = plain.map(|plain| plain.into_owned());
    let mut forms: Vec<String> =
        written(url).map(ToOwned::to_owned).into_iter().chain(plain).chain(sent).collect();
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// An address fit to be shown, whatever the length of its password.
pub fn without_password(url: &str) -> String {
    match written(url) {
        Some(password) => url.replacen(&format!(":{password}@"), ":[redacted]@", 1),
        None => url.to_owned(),
    }
}

fn written(url: &str) -> Option<&str> {
    let (_, rest) = url.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user, _) = authority.rsplit_once('@')?;
    user.split_once(':').map(|(_, password)| password).filter(|password| !password.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_give_secrets_away() {
        let pairs = [
            ("X_API_KEY", "the-key-1"),
            ("https_proxy", "http://me:pass-word@h:1"),
            ("A_URL", "http://h"),
            ("B", "b"),
            ("SHORT_TOKEN", "key"),
        ];
        let environment = Environment::new(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())));
        let found: Vec<_> = secrets(&environment).collect();
        assert_eq!(passwords("http://me:p%40ss^1@h:1/x:y@z"), ["p%40ss%5E1", "p%40ss^1", "p@ss^1"]);
        assert_eq!(without_password("http://me:p%40ss^1@h:1/x"), "http://me:[redacted]@h:1/x");
        assert_eq!(without_password("http://me@h:1/x:y@z"), "http://me@h:1/x:y@z");
        assert!(passwords("http://h:1/x:y@z").is_empty());
        let expected = [("X_API_KEY", "the-key-1"), ("https_proxy", "pass-word")];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
