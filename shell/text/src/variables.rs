//! Which variables of an environment are credentials.

use holon_platform::Environment;
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
        let expected = [("X_API_KEY", "the-key-1"), ("https_proxy", "pass-word")];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }
}
