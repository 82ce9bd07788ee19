//! Takes texts out of JSON. Every string is a text, unless it is known to be something else: a word of this program, an id, a hash,
//! a time, a name. So what nobody has thought of does not get out.

use std::collections::{BTreeMap, BTreeSet};

use holon_facts::Wall;
use holon_facts::workspace::ExecutionBinding;
use holon_platform::hex;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::Redact;

/// Keys of names that a replay compares: of models, tools, builds.
const NAMES: [&str; 11] = [
    "build",
    "model",
    "model_ref",
    "models",
    "provider",
    "requested_model_ref",
    "winning_model_ref",
    "tool",
    "tools",
    "tools_offered",
    "tool_name",
];

/// Keys of paths.
const PATHS: [&str; 9] =
    ["path", "cwd", "workspace_anchor", "execution_root", "workdir", "root", "folder", "home", "output_path"];

/// Keys of words of this program in documents of the control surface.
const TAGS: [&str; 6] = ["boundary", "kind", "runtime_posture", "scheduling_posture", "status", "verdict"];

/// Shortest hash, in hex digits.
const HASH: usize = 16;

/// Words that may be learned from refusals.
const LEARNED: usize = 4_096;

/// Replaces texts, the same by the same.
pub(super) struct Redactor {
    level: Redact,
    /// Keeps others from comparing hashes with guesses.
    key: Vec<u8>,
    /// Strings that stay: names of agents, and words of this program.
    keep: BTreeSet<String>,
    /// What stands for which string.
    made: BTreeMap<String, String>,
    /// Ids that follow from paths, and what follows from what stands for those.
    derived: BTreeMap<String, String>,
}

impl Redactor {
    pub(super) fn new(level: Redact, key: &[u8], keep: impl IntoIterator<Item = String>) -> Self {
        Self {
            level,
            key: key.to_vec(),
            keep: keep.into_iter().collect(),
            made: BTreeMap::new(),
            derived: BTreeMap::new(),
        }
    }

    /// Takes the texts out of a document and gives it to `read`. What `read` takes for no word of this program was none of a user:
    /// such words stay, and it is tried again.
    ///
    /// # Errors
    /// What `read` refuses for another reason.
    pub(super) fn read<T, E: ToString>(
        &mut self,
        document: &str,
        read: impl Fn(&str) -> Result<T, E>,
    ) -> Result<T, String> {
        let original: Value = serde_json::from_str(document).map_err(|error| error.to_string())?;
        self.derive("", &original);
        loop {
            let mut redacted = original.clone();
            self.made.clear();
            self.value("", &mut redacted);
            let error = match read(&redacted.to_string()) {
                Ok(read) => return Ok(read),
                Err(error) => error.to_string(),
            };
            let refused = self.made.iter().find(|(stands, _)| error.contains(stands.as_str()));
            match refused.map(|(_, original)| original.clone()) {
                Some(word)
                    if is_word(&word) && self.keep.len() < LEARNED && self.keep.insert(word.clone()) => {}
                Some(_) | None => return Err(error),
            }
        }
    }

    /// How many words it knows.
    pub(super) fn words(&self) -> usize {
        self.keep.len()
    }

    /// Words of this program in what was made without any text: none of them is anybody's.
    pub(super) fn learn(&mut self, made: &Value) {
        match made {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) if self.keep.len() < LEARNED && is_word(text) => {
                if !self.keep.contains(text) {
                    self.keep.insert(text.clone());
                }
            }
            Value::String(_) => {}
            Value::Array(items) => items.iter().for_each(|item| self.learn(item)),
            Value::Object(fields) => fields.values().for_each(|field| self.learn(field)),
        }
    }

    /// Replaces the paths of a document that has no texts of anybody.
    pub(super) fn paths(&self, value: &mut Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) if self.level == Redact::Strict && text.starts_with('/') => {
                *text = self.path(text);
            }
            Value::String(_) => {}
            Value::Array(items) => items.iter_mut().for_each(|item| self.paths(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.paths(field)),
        }
    }

    /// Takes the texts out of a document of the control surface: what it is of has words of this program in some places.
    pub(super) fn document(&mut self, value: &mut Value) {
        self.learn_tags(value);
        self.derive("", value);
        self.value("", value);
    }

    fn learn_tags(&mut self, value: &Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            Value::Array(items) => items.iter().for_each(|item| self.learn_tags(item)),
            Value::Object(fields) => {
                for (name, field) in fields {
                    if TAGS.contains(&name.as_str()) {
                        self.learn(field);
                    }
                    self.learn_tags(field);
                }
            }
        }
    }

    /// Takes the texts out of a value that stands under this key.
    pub(super) fn value(&mut self, key: &str, value: &mut Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(text) => *text = self.string(key, text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(key, item)),
            Value::Object(fields) => {
                let odd: Vec<String> = fields.keys().filter(|name| !is_key(name)).cloned().collect();
                for name in odd {
                    if let Some(field) = fields.remove(&name) {
                        fields.insert(self.string("", &name), field);
                    }
                }
                fields.iter_mut().for_each(|(name, field)| self.value(name, field));
            }
        }
    }

    /// Ids of workspaces and roots follow from their paths, and stand beside them or without them.
    fn derive(&mut self, key: &str, value: &Value) {
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
            Value::String(path) if is_path(key, path) => {
                let stands = self.string(key, path);
                let ids = |path: &str| {
                    let binding = ExecutionBinding::project(path, path);
                    [binding.workspace_id().to_string(), binding.execution_root_id()]
                };
                self.derived.extend(ids(path).into_iter().zip(ids(&stands)));
            }
            Value::String(_) => {}
            Value::Array(items) => items.iter().for_each(|item| self.derive(key, item)),
            Value::Object(fields) => fields.iter().for_each(|(name, field)| self.derive(name, field)),
        }
    }

    fn string(&mut self, key: &str, text: &str) -> String {
        if let Some(derived) = self.derived.get(text) {
            return derived.clone();
        }
        if text.is_empty() || self.keep.contains(text) || Wall::parse(text).is_some() || is_id(text) {
            return text.to_owned();
        }
        if NAMES.contains(&key) && is_name(text) {
            return text.to_owned();
        }
        if is_hash(text) {
            return match self.level {
                Redact::Strict => {
                    let hash = self.hash(text);
                    hash.chars().cycle().take(text.len()).collect()
                }
                Redact::Texts | Redact::None => text.to_owned(),
            };
        }
        if is_path(key, text) {
            return match self.level {
                Redact::Strict => self.path(text),
                Redact::Texts | Redact::None => text.to_owned(),
            };
        }
        // Arguments of a call may be JSON within a text.
        if let Ok(Value::Object(fields)) = serde_json::from_str(text) {
            let mut inner = Value::Object(fields);
            self.value(key, &mut inner);
            return inner.to_string();
        }
        self.stands_for(text)
    }

    /// As many bytes of its hash as it has itself, but never so few that two texts become one.
    fn stands_for(&mut self, text: &str) -> String {
        let hash = self.hash(text);
        let stands: String = hash.chars().cycle().take(text.len().max(HASH - 1)).collect();
        self.made.insert(stands.clone(), text.to_owned());
        stands
    }

    /// Folder by folder, so that one within another stays so.
    fn path(&self, path: &str) -> String {
        let parts = path.split('/').map(|part| match part {
            "" | "." | ".." => part.to_owned(),
            part => self.hash(part)[..HASH - 1].to_owned(),
        });
        parts.collect::<Vec<_>>().join("/")
    }

    fn hash(&self, text: &str) -> String {
        let mut hash = Sha256::new();
        if self.level == Redact::Strict {
            hash.update((self.key.len() as u64).to_le_bytes());
            hash.update(&self.key);
        }
        hash.update(text.as_bytes());
        hex::write(hash.finalize().as_slice())
    }
}

fn is_path(key: &str, text: &str) -> bool {
    PATHS.contains(&key) && text.starts_with('/') && !text.contains('\n')
}

/// A word that a person could not have written to be kept for oneself.
fn is_word(text: &str) -> bool {
    text.len() <= 40 && text.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')
}

/// A key of a document of ours.
fn is_key(text: &str) -> bool {
    let part = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    text.len() <= 40 && text.bytes().all(part)
}

/// A name in code or of a model.
fn is_name(text: &str) -> bool {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:@".contains(&byte);
    text.len() <= 128 && text.bytes().all(part)
}

/// `msg_12`, as counters of the core give them.
fn is_id(text: &str) -> bool {
    let Some((word, number)) = text.rsplit_once('_') else { return false };
    let is_kind = !word.is_empty() && word.len() <= 12 && word.bytes().all(|byte| byte.is_ascii_lowercase());
    is_kind && !number.is_empty() && number.len() <= 12 && number.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_hash(text: &str) -> bool {
    text.len() >= HASH
        && text.len() <= 64
        && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn redacted(level: Redact, key: &str, mut value: Value) -> Value {
        let mut redactor = Redactor::new(level, key.as_bytes(), ["main".to_owned(), "text".to_owned()]);
        redactor.value("", &mut value);
        value
    }

    #[test]
    fn texts_go_and_what_is_none_stays() {
        let value = json!({
            "agent": "main", "id": "msg_12", "at": "2026-11-27T15:06:46.714061Z", "n": 7, "ok": true,
            "model_ref": "local/test", "path": "/home/me/x", "type": "text", "sum": "0123456789abcdef",
            "text": "canary", "arguments": "{\"cmd\":\"canary\"}", "canary key\n": ["canary"],
        });
        let texts = redacted(Redact::Texts, "k", value.clone());
        for kept in ["agent", "id", "at", "n", "ok", "model_ref", "path", "type", "sum"] {
            assert_eq!(texts[kept], value[kept], "{kept}");
        }
        assert!(!texts.to_string().contains("canary"), "{texts}");
        let strict = redacted(Redact::Strict, "k", value.clone());
        assert!(!strict.to_string().contains("canary") && !strict.to_string().contains("me/x"), "{strict}");
        assert_ne!(strict["sum"], value["sum"]);
        // What is equal stays equal, and with another key nothing can be compared.
        assert_eq!(strict, redacted(Redact::Strict, "k", value.clone()));
        assert_ne!(strict["text"], redacted(Redact::Strict, "l", value)["text"]);
    }

    #[test]
    fn words_of_the_program_are_learned_from_what_refuses_them() {
        #[derive(Debug, PartialEq, serde::Deserialize)]
        #[serde(rename_all = "snake_case", tag = "type")]
        enum Body {
            PlainText { text: String },
        }
        let mut redactor = Redactor::new(Redact::Texts, b"", []);
        let read = redactor
            .read(r#"{"type":"plain_text","text":"canary"}"#, |text| serde_json::from_str::<Body>(text));
        let Body::PlainText { text } = read.unwrap();
        assert_ne!(text, "canary");
        assert!(redactor.read("{}", |text| serde_json::from_str::<Body>(text)).is_err());
    }
}
