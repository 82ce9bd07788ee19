//! Takes texts out of JSON. Every string is a text, unless its key has strings of another kind (hashes, times, names, paths), or it
//! is an id of the core or a word of this program. So what nobody has thought of does not get out. Where texts stay, secrets alone
//! are replaced.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use holon_core::tool::Tool;
use holon_facts::Wall;
use holon_facts::workspace::ExecutionBinding;
use holon_platform::hex;
use holon_text::Secrets;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::Redact;

/// Keys whose strings are texts of somebody, whatever they look like.
const TEXTS: [&str; 27] = [
    "blocked_by",
    "body",
    "cmd",
    "content",
    "data",
    "definitions",
    "description",
    "details",
    "follow_ups",
    "initial_message",
    "inline",
    "joined",
    "last_assistant_message",
    "last_text",
    "message",
    "metadata",
    "objective",
    "open_steps",
    "preview",
    "problem",
    "report",
    "result",
    "result_summary",
    "summary",
    "text",
    "waiting_for",
    "waiting_on",
];

/// The key of an object whose own keys somebody has chosen.
const MAP: &str = "source_refs";

/// The one key in such an object that the core looks for.
const WAIT_REF: &str = "wait_id";

/// Keys of arguments of a call, as JSON within a text.
const ARGUMENTS: [&str; 2] = ["arguments", "inline"];

/// How ids begin that the core counts.
const IDS: [&str; 13] = [
    "msg_",
    "run_",
    "op_",
    "brief_",
    "task_",
    "ep_",
    "work_",
    "timer_",
    "wait_",
    "worktree_",
    "letter_",
    "trigger_",
    "deposit_",
];

/// Keys of times, besides those that end with `_at` or `until`.
const TIMES: [&str; 8] = ["at", "expected", "from", "next_deadline", "since", "time", "to", "wall"];

/// Keys of hashes.
const HASHES: [&str; 17] = [
    "base",
    "cmd_digest",
    "commit",
    "content_id",
    "context_fingerprint",
    "digest",
    "execution_root_id",
    "fence",
    "fingerprint",
    "hash",
    "id",
    "input",
    "payload",
    "prompt_cache_key",
    "purpose",
    "settings",
    "sha256",
];

/// Keys of names that a replay compares: of models, tools, builds.
const NAMES: [&str; 12] = [
    "build",
    "model",
    "model_ref",
    "models",
    "previous",
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
    /// What stays at no level, wherever it stands.
    secrets: Arc<Secrets>,
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
            secrets: Arc::default(),
            keep: keep.into_iter().collect(),
            made: BTreeMap::new(),
            derived: BTreeMap::new(),
        }
    }

    /// The same for who knows secrets.
    #[must_use]
    pub(super) fn with_secrets(mut self, secrets: Arc<Secrets>) -> Self {
        self.secrets = secrets;
        self
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
            Value::String(text) if self.has_secret(text) => *text = self.secrets.redact_known(text),
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
            Value::Object(fields) if key == MAP => {
                for (name, mut field) in std::mem::take(fields) {
                    self.value("", &mut field);
                    let name = if name == WAIT_REF { name } else { self.stands_for(&name) };
                    fields.insert(name, field);
                }
            }
            Value::Object(fields) => {
                let tool = called(fields);
                for (name, mut field) in std::mem::take(fields) {
                    match (&mut field, &tool) {
                        (Value::String(text), Some(tool))
                            if ARGUMENTS.contains(&name.as_str()) && self.level != Redact::None =>
                        {
                            *text = self.arguments(tool, text);
                        }
                        (field, _) => self.value(&name, field),
                    }
                    let stays = is_key(&name) && !self.has_secret(&name);
                    let name = if stays { name } else { self.string("", &name) };
                    fields.insert(name, field);
                }
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
        if text.is_empty() {
            return String::new();
        }
        if self.level == Redact::None {
            return self.secrets.redact_known(text);
        }
        if TEXTS.contains(&key) {
            return self.stands_for(text);
        }
        let is_time = || is_time_key(key) && Wall::parse(text).is_some();
        let is_named = || NAMES.contains(&key) && is_name(text);
        if self.keep.contains(text) || is_id(text) || is_time() {
            return text.to_owned();
        }
        let has_secret = self.has_secret(text);
        if is_named() && !has_secret {
            return text.to_owned();
        }
        if HASHES.contains(&key) && is_hash(text) {
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
                Redact::Texts | Redact::None if has_secret => self.path(text),
                Redact::Texts | Redact::None => text.to_owned(),
            };
        }
        self.stands_for(text)
    }

    /// Whether somebody's secret stands in it.
    pub(super) fn has_secret(&self, text: &str) -> bool {
        self.secrets.are_in(text.as_bytes()).is_some()
    }

    /// Whether this is a word of the program, or the name of an agent.
    pub(super) fn keeps(&self, text: &str) -> bool {
        self.keep.contains(text)
    }

    /// What stands for the id of a workspace or a root.
    pub(super) fn derived(&self, id: &str) -> Option<&String> {
        self.derived.get(id)
    }

    /// As many bytes of its hash as it has itself, but never so few that two texts become one.
    pub(super) fn stands_for(&mut self, text: &str) -> String {
        if self.level == Redact::None {
            return self.secrets.redact_known(text);
        }
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
pub(super) fn is_name(text: &str) -> bool {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./:@".contains(&byte);
    text.len() <= 128 && text.bytes().all(part)
}

/// `msg_12`, as counters of the core give them.
pub(super) fn is_id(text: &str) -> bool {
    IDS.iter().any(|kind| text.strip_prefix(kind).is_some_and(is_count))
}

fn is_count(number: &str) -> bool {
    !number.is_empty() && number.len() <= 12 && number.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_time_key(key: &str) -> bool {
    key.ends_with("_at") || key.ends_with("until") || TIMES.contains(&key)
}

/// Of which tool this object is a call.
fn called(fields: &Map<String, Value>) -> Option<String> {
    let is = |name: &str| fields.get(name).and_then(Value::as_str);
    match (is("tool_name"), is("input")) {
        (Some(tool), _) => Some(tool.to_owned()),
        // An operator starts a command.
        (None, Some("run_task")) => Some(Tool::ExecCommand.name().to_owned()),
        (None, _) => None,
    }
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
            "model_ref": "local/test", "path": "/home/me/x", "type": "text", "hash": "0123456789abcdef",
            "text": "canary", "arguments": "{\"cmd\":\"canary\"}", "canary key\n": ["canary"],
        });
        let texts = redacted(Redact::Texts, "k", value.clone());
        for kept in ["agent", "id", "at", "n", "ok", "model_ref", "path", "type", "hash"] {
            assert_eq!(texts[kept], value[kept], "{kept}");
        }
        assert!(!texts.to_string().contains("canary"), "{texts}");
        let strict = redacted(Redact::Strict, "k", value.clone());
        assert!(!strict.to_string().contains("canary") && !strict.to_string().contains("me/x"), "{strict}");
        assert_ne!(strict["hash"], value["hash"]);
        // What is equal stays equal, and with another key nothing can be compared.
        assert_eq!(strict, redacted(Redact::Strict, "k", value.clone()));
        assert_ne!(strict["text"], redacted(Redact::Strict, "l", value)["text"]);
    }

    /// What looks like an id, a hash, a time, a name, a word of the program or a document of it.
    #[test]
    fn a_text_goes_whatever_it_looks_like() {
        let canaries = [
            r#"{"fire_bob_smith_on_monday":4711123}"#,
            r#"{"provider":"acme-bank.example","tools":["bob@corp.example"],"path":"/srv/bob","id":"msg_4711123"}"#,
            "hunter_2024",
            "msg_4711123",
            "4111111111111111",
            "2026-11-27T15:06:46.714061Z",
            "/srv/bob",
            "main",
        ];
        for level in [Redact::Texts, Redact::Strict] {
            for canary in canaries {
                for key in TEXTS {
                    let out = redacted(level, "k", json!({ key: canary, "source_refs": { canary: canary } }));
                    assert_ne!(out[key], canary, "{key}");
                    let text = out[key].to_string();
                    for part in ["bob", "acme", "4711123", "2024", "4111", "2026"] {
                        assert!(!text.contains(part), "{level:?} {key}: {text}");
                    }
                    assert!(out["source_refs"].get(canary).is_none(), "{out}");
                }
            }
            for canary in &canaries[..3] {
                for key in ["source", "reason", "correlation_id", "resource", "subject", "label", "any"] {
                    let out = redacted(level, "k", json!({ key: canary }))[key].to_string();
                    assert!(
                        !out.contains("bob") && !out.contains("2024") && !out.contains("acme"),
                        "{key}: {out}"
                    );
                }
            }
        }
    }

    /// A key of an id, a time or a hash that is missing here would have what no record can be read with.
    #[test]
    fn records_have_ids_times_and_hashes_under_known_keys_only() {
        fn walk(schema: &Value, check: &mut dyn FnMut(&str, &Value)) {
            for (key, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
                check(key, field);
            }
            match schema {
                Value::Object(fields) => fields.values().for_each(|field| walk(field, check)),
                Value::Array(items) => items.iter().for_each(|item| walk(item, check)),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            }
        }
        let settings =
            schemars::generate::SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
        let schemas = holon_facts::Event::schemas(&mut settings.into_generator());
        let mut kinds = BTreeSet::new();
        for (_, schema) in schemas {
            walk(schema.as_value(), &mut |key, field| {
                let text = field.to_string();
                if text.contains(r#""format":"date-time""#) && !text.contains("properties") {
                    assert!(is_time_key(key), "{key} has times");
                }
                if text.contains("[0-9a-f]{") && !text.contains("properties") {
                    assert!(HASHES.contains(&key), "{key} has hashes");
                }
                let ids = text.split("\"^").skip(1).filter_map(|rest| Some(rest.split_once("[0-9]+$\"")?.0));
                kinds.extend(ids.filter(|kind| kind.len() < 20).map(ToOwned::to_owned));
            });
        }
        assert_eq!(kinds, IDS.map(ToOwned::to_owned).into());
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
