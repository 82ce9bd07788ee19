//! The types that values have: what is expected, what is accepted, and how it is read from text.

use std::net::SocketAddr;

use holon_facts::config::Share;
use holon_facts::model_ref::ModelRef;
use holon_models::Temperature;
use serde_json::{Value as Json, json};
use toml_edit::{Array, Value};
use url::Url;

use super::StoreUrl;
use super::context_editing::{self, MOST};
use super::execution::{FOLDERS, SetVariables, VARIABLES, VariablePattern};
use super::field::Field as _;
use super::page_origin::{ORIGINS, PageOrigin};
use super::prices;
use super::request_parts::{Headers, PARTS, Query, is_header, is_route};
use super::tool_servers::{ServerVariables, TEXT_BYTES, TEXTS, VARIABLES as SERVER_VARIABLES, is_server};

/// What a key accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Flag,
    Number {
        least: u64,
        most: u64,
    },
    /// US dollars, with up to six digits after the point.
    Dollars,
    /// Prices by model.
    Prices,
    /// How freely a model chooses words.
    Temperature,
    /// A part of something.
    Share,
    /// One of these words.
    Word(&'static [&'static str]),
    Model,
    Models,
    /// An address with one of these schemes.
    Url(&'static [&'static str]),
    /// An address of a database.
    Database,
    /// An IP address with a port.
    Address,
    /// The name of an environment variable.
    Variable,
    /// The name of a provider or a credential.
    Name,
    /// The name of a transport; whether this version has it is judged when a model is chosen.
    Transport,
    Path,
    Paths,
    /// A path below an address.
    Route,
    /// The query of an address.
    Query,
    /// Headers of requests.
    Headers,
    /// The name of a header.
    Header,
    /// What a provider may leave out of a request.
    ContextEditing,
    /// Origins of pages.
    Origins,
    /// Variables by name, or by what their names begin with.
    Variables,
    /// Variables with their values.
    SetVariables,
    /// A text.
    Text,
    /// Texts, in their order.
    Texts,
    /// Short names, of servers for example.
    Names,
    /// Variables of a program, with their values or the credentials that these are.
    ServerVariables,
}

/// `[a-z0-9][a-z0-9-]{0,62}`, the names of providers and credentials.
pub fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    (1..=63).contains(&bytes.len()) && plain(bytes[0]) && bytes.iter().all(|&b| plain(b) || b == b'-')
}

impl Kind {
    /// What is expected, as the object of a sentence.
    pub fn expected(&self) -> String {
        match self {
            Self::Flag => "true or false".to_owned(),
            Self::Number { least, most } => format!("a whole number, at least {least} and at most {most}"),
            Self::Dollars => {
                "an amount of US dollars, at least 0 and in whole millionths, for example 2.50".to_owned()
            }
            Self::Prices => "models with their prices in US dollars for a million tokens, for example \
                 { \"local/qwen3\" = { input = 0.5, cached_input = 0.05, output = 2 } }"
                .to_owned(),
            Self::Temperature => "a number from 0 to 2 in steps of 0.01, for example 0.7".to_owned(),
            Self::Share => "a number from 0.1 to 1 in steps of 0.001, for example 0.7".to_owned(),
            Self::Word(words) => format!("one of {}", words.join(", ")),
            Self::Model => "a model as provider/model, for example \"local/qwen3\"".to_owned(),
            Self::Models => "a list of models, for example [\"local/qwen3\"]".to_owned(),
            Self::Url(schemes) => {
                let schemes: Vec<String> = schemes.iter().map(|scheme| format!("{scheme}://")).collect();
                format!("an address that starts with {}", schemes.join(" or "))
            }
            Self::Database => "an address as postgres://USER:PASSWORD@HOST:PORT/DATABASE".to_owned(),
            Self::Address => "an IP address with a port, for example 127.0.0.1:7878".to_owned(),
            Self::Variable => {
                "the name of an environment variable; the key itself belongs into `holon config \
                               credentials set NAME`"
                    .to_owned()
            }
            Self::Name => {
                "a name of 1 to 63 characters of a-z, 0-9 and '-' that starts with a letter or digit"
                    .to_owned()
            }
            Self::Transport => "the name of a transport, for example \"openai_chat_completions\"".to_owned(),
            Self::Path => "the path of a file that starts with /".to_owned(),
            Self::Route => "a path that starts with /, without a query".to_owned(),
            Self::Query => format!(
                "at most {PARTS} names with texts, none of them a secret, for example {{ api-version = \"2024-10-21\" }}"
            ),
            Self::Headers => format!(
                "at most {PARTS} headers with texts, for example {{ x-team = \"a\" }}, and those with the names of secrets \
                 with {{ credential = \"name\" }}"
            ),
            Self::Header => "the name of a header, for example \"api-key\"".to_owned(),
            Self::ContextEditing => format!(
                "at least one of clear_tool_uses (with trigger, keep, clear_at_least, exclude_tools, clear_tool_inputs) and \
                 clear_thinking, with numbers up to {MOST} and names of tools, for example {{ clear_tool_uses = {{ trigger \
                 = {{ input_tokens = 60000 }}, keep = 5 }}, clear_thinking = \"all\" }}"
            ),
            Self::Paths => {
                format!("a list of at most {FOLDERS} folders that start with /, for example [\"/var/cache\"]")
            }
            Self::Origins => format!(
                "a list of at most {ORIGINS} origins as browsers send them, with scheme, name and any unusual port, for \
                 example [\"https://console.example\", \"http://localhost:5173\"]"
            ),
            Self::Variables => format!(
                "a list of at most {VARIABLES} variables, by name or as PREFIX_*, for example [\"SSH_AUTH_SOCK\", \
                 \"DOCKER_*\"]"
            ),
            Self::SetVariables => format!(
                "at most {VARIABLES} variables with texts as their values, for example {{ CI = \"1\" }}; names that \
                 begin with HOLON_ are the runtime's own"
            ),
            Self::Text => format!("a text of 1 to {TEXT_BYTES} bytes"),
            Self::Texts => format!("a list of at most {TEXTS} texts, for example [\"--verbose\", \"/tmp\"]"),
            Self::Names => {
                format!("a list of at most {TEXTS} short names, for example [\"files\"]; [] for none")
            }
            Self::ServerVariables => format!(
                "at most {SERVER_VARIABLES} variables with texts, for example {{ CI = \"1\" }}, and those with the names of \
                 secrets with {{ credential = \"name\" }}; names that begin with HOLON_ are the runtime's own"
            ),
        }
    }

    /// Whether a value is of this kind.
    ///
    /// # Errors
    /// What was expected, and what came instead.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        let text = value.as_str();
        let fits = match self {
            Self::Flag => value.is_bool(),
            Self::Number { least, most } => {
                let number = value.as_integer().and_then(|number| u64::try_from(number).ok());
                number.is_some_and(|number| (*least..=*most).contains(&number))
            }
            Self::Dollars => prices::dollars(value).is_some(),
            Self::Prices => prices::read(value).is_some(),
            Self::Temperature => <Temperature as super::field::Field>::read(value).is_some(),
            Self::Share => <Share as super::field::Field>::read(value).is_some(),
            Self::Word(words) => text.is_some_and(|text| words.contains(&text)),
            Self::Model => text.is_some_and(|text| ModelRef::new(text).is_ok()),
            Self::Models => value.as_array().is_some_and(|items| {
                items.iter().all(|item| item.as_str().is_some_and(|text| ModelRef::new(text).is_ok()))
            }),
            Self::Url(schemes) => text.is_some_and(|text| is_url(text, schemes)),
            Self::Database => text.is_some_and(|text| StoreUrl::new(text).is_some()),
            Self::Address => text.is_some_and(|text| text.parse::<SocketAddr>().is_ok()),
            Self::Variable => text.is_some_and(is_variable),
            Self::Name => text.is_some_and(is_name),
            Self::Transport => text.is_some_and(|text| {
                let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
                !text.is_empty() && text.len() <= 64 && text.bytes().all(plain)
            }),
            Self::Path => text.is_some_and(|text| text.starts_with('/')),
            Self::Route => text.is_some_and(is_route),
            Self::Query => Query::read(value).is_some(),
            Self::Headers => Headers::read(value).is_some(),
            Self::Header => text.is_some_and(is_header),
            Self::ContextEditing => context_editing::read(value).is_some(),
            Self::Paths => value.as_array().is_some_and(|items| {
                let mut texts = items.iter().map(Value::as_str);
                items.len() <= FOLDERS && texts.all(|text| text.is_some_and(|text| text.starts_with('/')))
            }),
            Self::Origins => value.as_array().is_some_and(|items| {
                let mut texts = items.iter().map(Value::as_str);
                items.len() <= ORIGINS && texts.all(|text| text.and_then(PageOrigin::new).is_some())
            }),
            Self::Variables => value.as_array().is_some_and(|items| {
                let mut texts = items.iter().map(Value::as_str);
                items.len() <= VARIABLES && texts.all(|text| text.and_then(VariablePattern::new).is_some())
            }),
            Self::SetVariables => SetVariables::read(value).is_some(),
            Self::Text => text.is_some_and(is_text),
            Self::Texts => value.as_array().is_some_and(|items| {
                items.len() <= TEXTS && items.iter().all(|item| item.as_str().is_some_and(fits))
            }),
            Self::Names => value.as_array().is_some_and(|items| {
                items.len() <= TEXTS && items.iter().all(|item| item.as_str().is_some_and(is_server))
            }),
            Self::ServerVariables => ServerVariables::read(value).is_some(),
        };
        if fits {
            return Ok(());
        }
        Err(format!("expected {}{}", self.expected(), self.got(value)))
    }

    /// What came instead. Where a key or a password may stand by mistake it is not repeated.
    fn got(&self, value: &Value) -> String {
        let secretive = match self {
            Self::Url(_) | Self::Database | Self::Variable | Self::Name => value.is_str(),
            Self::SetVariables
            | Self::ServerVariables
            | Self::Text
            | Self::Texts
            | Self::Variables
            | Self::Origins
            | Self::Query
            | Self::Headers
            | Self::Header => true,
            Self::Flag
            | Self::Number { .. }
            | Self::Dollars
            | Self::Prices
            | Self::Temperature
            | Self::Share
            | Self::Word(_)
            | Self::Model
            | Self::Models
            | Self::Address
            | Self::Transport
            | Self::Path
            | Self::Route
            | Self::ContextEditing
            | Self::Names
            | Self::Paths => false,
        };
        if secretive {
            return String::new();
        }
        let shown: String = value.clone().decorated("", "").to_string().chars().take(60).collect();
        format!("; got {shown}")
    }

    /// A text from the environment or the command line as a value: in TOML where that makes sense, otherwise
    /// as it is; lists also separated by commas. What does not fit is left for [`Kind::check`].
    pub fn parse(&self, text: &str) -> Value {
        let trimmed = text.trim();
        let toml = || trimmed.parse::<Value>().ok().map(|value| value.decorated("", ""));
        let quoted = trimmed.starts_with(['"', '\'']);
        match self {
            Self::Flag
            | Self::Number { .. }
            | Self::Dollars
            | Self::Prices
            | Self::Temperature
            | Self::Query
            | Self::Headers
            | Self::ContextEditing
            | Self::Share
            | Self::ServerVariables
            | Self::SetVariables => toml().unwrap_or_else(|| trimmed.into()),
            Self::Models | Self::Paths | Self::Origins | Self::Variables | Self::Texts | Self::Names
                if trimmed.starts_with('[') =>
            {
                toml().unwrap_or_else(|| trimmed.into())
            }
            Self::Models | Self::Paths | Self::Origins | Self::Variables | Self::Texts | Self::Names => {
                let items = trimmed.split(',').map(str::trim).filter(|item| !item.is_empty());
                Value::Array(items.collect::<Array>())
            }
            Self::Word(_)
            | Self::Model
            | Self::Url(_)
            | Self::Database
            | Self::Address
            | Self::Variable
            | Self::Name
            | Self::Transport
            | Self::Route
            | Self::Header
            | Self::Text
            | Self::Path => if quoted { toml() } else { None }.unwrap_or_else(|| trimmed.into()),
        }
    }

    /// The kind as a JSON schema.
    pub fn schema(&self) -> Json {
        match self {
            Self::Flag => json!({ "type": "boolean" }),
            Self::Number { least, most } => {
                json!({ "type": "integer", "minimum": least, "maximum": most })
            }
            Self::Dollars => json!({ "type": "number", "minimum": 0, "maximum": prices::MOST_DOLLARS }),
            Self::Prices => prices::schema(),
            Self::Temperature => json!({ "type": "number", "minimum": 0, "maximum": 2 }),
            Self::Share => json!({ "type": "number", "minimum": 0.1, "maximum": 1 }),
            Self::Word(words) => json!({ "type": "string", "enum": words }),
            Self::Model => json!({ "type": "string", "pattern": "^[^/]+/.+$", "maxLength": 256 }),
            Self::Models => json!({ "type": "array", "items": Self::Model.schema() }),
            Self::Url(schemes) => {
                json!({ "type": "string", "pattern": format!("^({})://", schemes.join("|")) })
            }
            Self::Database => json!({ "type": "string", "pattern": "^postgres(ql)?://" }),
            Self::Address => json!({ "type": "string", "pattern": ":[0-9]{1,5}$" }),
            Self::Variable => json!({ "type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" }),
            Self::Name => json!({ "type": "string", "pattern": NAME_PATTERN }),
            Self::Transport => json!({ "type": "string", "pattern": "^[a-z0-9_]{1,64}$" }),
            Self::Path | Self::Route => json!({ "type": "string", "pattern": "^/" }),
            Self::Query => json!({
                "type": "object",
                "additionalProperties": { "type": "string" },
                "maxProperties": PARTS,
            }),
            Self::Headers => json!({
                "type": "object",
                "additionalProperties": { "anyOf": [
                    { "type": "string" },
                    {
                        "type": "object",
                        "properties": { "credential": Self::Name.schema() },
                        "required": ["credential"],
                        "additionalProperties": false,
                    },
                ] },
                "maxProperties": PARTS,
            }),
            Self::ContextEditing => context_editing::schema(),
            Self::Header => json!({ "type": "string", "pattern": "^[A-Za-z0-9!#$%&'*+.^_`|~-]+$" }),
            Self::Paths => json!({ "type": "array", "items": Self::Path.schema(), "maxItems": FOLDERS }),
            Self::Origins => {
                let origin = json!({ "type": "string", "pattern": "^https?://[^/*@\\s]+$" });
                json!({ "type": "array", "items": origin, "maxItems": ORIGINS })
            }
            Self::Variables => {
                let name = json!({ "type": "string", "pattern": "^([A-Za-z_][A-Za-z0-9_]*)?\\*?$" });
                json!({ "type": "array", "items": name, "maxItems": VARIABLES })
            }
            Self::SetVariables => json!({
                "type": "object",
                "propertyNames": { "pattern": "^(?!HOLON_)[A-Za-z_][A-Za-z0-9_]*$" },
                "additionalProperties": { "type": "string" },
                "maxProperties": VARIABLES,
            }),
            Self::Text => json!({ "type": "string", "minLength": 1, "maxLength": TEXT_BYTES }),
            Self::Texts => json!({ "type": "array", "items": { "type": "string" }, "maxItems": TEXTS }),
            Self::Names => json!({ "type": "array", "items": Self::Name.schema(), "maxItems": TEXTS }),
            Self::ServerVariables => {
                let mut schema = Self::Headers.schema();
                schema["maxProperties"] = json!(SERVER_VARIABLES);
                schema
            }
        }
    }
}

fn fits(text: &str) -> bool {
    text.len() <= TEXT_BYTES && !text.contains('\0')
}

fn is_text(text: &str) -> bool {
    !text.trim().is_empty() && fits(text)
}

/// [`is_name`] as a pattern.
pub(super) const NAME_PATTERN: &str = "^[a-z0-9][a-z0-9-]{0,62}$";

fn is_url(text: &str, schemes: &[&str]) -> bool {
    Url::parse(text).is_ok_and(|url| {
        // A folder of this machine is on no host.
        let somewhere = url.scheme() == "file" || url.host_str().is_some_and(|host| !host.is_empty());
        schemes.contains(&url.scheme()) && somewhere
    })
}

pub(super) fn is_variable(text: &str) -> bool {
    let bytes = text.as_bytes();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !bytes.is_empty() && bytes.len() <= 128 && !bytes[0].is_ascii_digit() && bytes.iter().all(|&b| plain(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_the_type_of_its_key() {
        let number = Kind::Number { least: 1, most: 10 };
        assert_eq!(number.parse(" 7 ").as_integer(), Some(7));
        assert_eq!(Kind::Flag.parse("true").as_bool(), Some(true));
        assert_eq!(Kind::Model.parse("local/a b").as_str(), Some("local/a b"));
        assert_eq!(Kind::Model.parse("\"local/a\"").as_str(), Some("local/a"));
        for text in ["local/a, local/b", "[\"local/a\", 'local/b']"] {
            let list = Kind::Models.parse(text);
            assert_eq!(list.as_array().unwrap().len(), 2, "{text}");
            assert_eq!(Kind::Models.check(&list), Ok(()));
        }
    }

    #[test]
    fn what_does_not_fit_is_named_and_secrets_are_not_repeated() {
        let number = Kind::Number { least: 1, most: 10 };
        for wrong in ["many", "0", "11", "-1", "1.5", "9999999999999999999999"] {
            let error = number.check(&number.parse(wrong)).unwrap_err();
            assert!(error.contains("at least 1 and at most 10; got "), "{error}");
        }
        let error = Kind::Variable.check(&"sk-canary-1234".into()).unwrap_err();
        assert!(error.contains("credentials set") && !error.contains("canary"), "{error}");
        let error = Kind::Url(&["http"]).check(&"ftp://u:canary@h".into()).unwrap_err();
        assert!(!error.contains("canary"), "{error}");
        for wrong in ["", "-a", "A", "a_b", &"a".repeat(64)] {
            assert!(!is_name(wrong), "{wrong}");
        }
        assert!(is_name("my-server-2"));
    }
}
