//! Which variables hold credentials, by their names: the words of a name tell, and what a value looks like tells where
//! a word alone says too little.

use std::path::Path;

/// Whoever names a variable so means a credential.
const SECRET: &[&str] = &["TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "PWD"];
/// Or so, unless the value is a plain word.
const PERHAPS: &[&str] = &["KEY", "AUTH", "CREDENTIAL", "CREDENTIALS", "HEADERS", "PASS", "PAT"];
/// Words that are written together with others.
const ENDINGS: &[&str] = &[
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "APIKEY",
    "ACCESSKEY",
    "SECRETKEY",
    "PRIVATEKEY",
    "SSHPASS",
];
/// A name that ends like this speaks of a credential and holds none.
const ABOUT: &[&str] = &[
    "ALGORITHM",
    "AUDIENCE",
    "COMMAND",
    "COUNT",
    "DIR",
    "DISABLED",
    "EMAIL",
    "ENABLED",
    "ENDPOINT",
    "EXPIRES",
    "EXPIRY",
    "FILE",
    "FINGERPRINT",
    "FORMAT",
    "HEADER",
    "HELPER",
    "HOST",
    "ID",
    "ISSUER",
    "LENGTH",
    "LIMIT",
    "METHOD",
    "MODE",
    "NAME",
    "PATH",
    "PORT",
    "PREFIX",
    "PROVIDER",
    "REALM",
    "REGION",
    "REQUIRED",
    "SCOPE",
    "SCOPES",
    "SIZE",
    "SOCK",
    "SOCKET",
    "SUFFIX",
    "TIMEOUT",
    "TTL",
    "TYPE",
    "URI",
    "URL",
    "USER",
    "USERNAME",
    "VERSION",
];

/// Whether a variable of this name and value is a credential.
pub fn is_secret(name: &str, value: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    let words: Vec<&str> =
        upper.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let any = |known: &[&str]| words.iter().any(|word| known.contains(word));
    // The folder of a shell.
    if upper == "PWD" || words.last().is_some_and(|last| ABOUT.contains(last)) || any(&["PUBLIC", "PUB"]) {
        return false;
    }
    let ends = words.iter().any(|word| ENDINGS.iter().any(|ending| word.ends_with(ending)));
    let sure = ends || any(SECRET);
    let perhaps = any(PERHAPS) && !is_plain_word(value);
    (sure || perhaps) && !is_file(value)
}

/// Letters of one case alone are a choice, as `disabled` or `oauth`.
fn is_plain_word(value: &str) -> bool {
    value.bytes().all(|byte| byte.is_ascii_lowercase() || matches!(byte, b'_' | b'-' | b' ' | b'.'))
}

/// The place of a credential is none itself.
fn is_file(value: &str) -> bool {
    value.starts_with('/') && Path::new(value).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_a_name_tell() {
        for name in [
            "OPENAI_API_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_SESSION_TOKEN",
            "PASSWORD",
            "SECRET",
            "TOKEN",
            "NPM_CONFIG__AUTH",
            "npm_config_//registry.npmjs.org/:_authToken",
            "MYSQL_PWD",
            "PGPASSWORD",
            "SSHPASS",
            "DB_PASS",
            "GITHUB_PAT",
            "GPG_PASSPHRASE",
            "GOOGLE_CREDENTIALS",
            "DJANGO_SECRET_KEY_BASE",
            "HOLON_CONTROL_TOKEN",
            "OTEL_EXPORTER_OTLP_HEADERS",
            "db-password",
            "apiKey",
        ] {
            assert!(is_secret(name, "aB3-dE5-gH7"), "{name}");
        }
    }

    #[test]
    fn what_only_speaks_of_credentials_is_none() {
        for (name, value) in [
            ("SSH_AUTH_SOCK", "/run/user/1000/agent.sock"),
            ("HOLON_CONTROL_AUTH_MODE", "disabled"),
            ("AWS_ACCESS_KEY_ID", "not-by-its-name-1"),
            ("TOKEN_URL", "https://h/oauth/token"),
            ("HOLON_MAX_TOOL_OUTPUT_TOKENS", "64000000"),
            ("PWD", "/home/someone/work"),
            ("OLDPWD", "/home/someone/work2"),
            ("KEYBOARD_LAYOUT", "de-latin1"),
            ("XAUTHORITY", "/home/someone/.Xauthority"),
            ("MONKEY", "aB3-dE5-gH7"),
            ("AUTHOR", "Some One 1234"),
            ("AUTH", "required"),
            ("SORT_KEY", "created_at"),
            ("SSH_PUBLIC_KEY", "ssh-ed25519 AAAA1234"),
            ("GOOGLE_APPLICATION_CREDENTIALS", "/proc/self/stat"),
            ("COMPASS", "aB3-dE5-gH7"),
            ("PATH", "/usr/bin:/bin"),
        ] {
            assert!(!is_secret(name, value), "{name}");
        }
    }
}
