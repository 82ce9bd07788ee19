use std::fs;

use holon_models::{Credential, ProviderSpec};
use holon_platform::Environment;
use serde_json::{Value as Json, json};

use super::credentials::Credentials;
use super::providers::Configured;
use super::*;

fn environment(variables: &[(&str, &str)]) -> Environment {
    Environment::new(variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
}

fn source(text: &str) -> Source {
    Source { path: "/h/config.toml".into(), text: text.to_owned(), mode: None }
}

fn survey(text: &str, variables: &[(&str, &str)]) -> (Settings, Vec<String>) {
    let (settings, problems) = Settings::of(&source(text), &environment(variables)).unwrap();
    (settings, problems.iter().map(ToString::to_string).collect())
}

fn problem_of(text: &str, variables: &[(&str, &str)]) -> String {
    let (_, mut problems) = survey(text, variables);
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems.remove(0)
}

#[test]
fn the_flag_overrides_the_environment_which_overrides_the_file() {
    let text = "[model]\ndefault = \"local/a\"\n[limits]\nrounds = 7\n";
    let (mut settings, problems) = survey(text, &[("HOLON_MODEL", "local/b")]);
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(settings.origin("model.default"), Origin::variable("HOLON_MODEL"));
    settings.flag("--model", "model.default", "local/c").unwrap();
    assert_eq!(settings.model.as_ref().unwrap().as_str(), "local/c");
    assert_eq!(settings.core.turn.rounds, 7);
    assert_eq!(settings.origin("model.default"), Origin::Flag { flag: "--model".into() });
    assert_eq!(settings.origin("limits.rounds"), Origin::File { path: "/h/config.toml".into(), line: 4 });
    assert_eq!(settings.origin("limits.agents"), Origin::Default);
}

#[test]
fn unknown_keys_are_named_with_the_nearest_one() {
    for (text, says) in [
        ("[model]\ndefualt = 1", ":2: model.defualt: there is no such key; did you mean model.default?"),
        ("[limit]\n", ":1: limit: there is no such key; did you mean limits."),
        ("[limits.rounds]\nmost = 1", ":1: limits.rounds: expected a whole number"),
        (
            "[providers.a]\nbase-url = \"\"",
            "providers.a.base-url: there is no such key; did you mean providers.a.base_url?",
        ),
        ("[providers.a.b]\nc = 1", "providers.a.b: there is no such key"),
        ("[providers]\na = 1", "expected providers.<id>.<option>"),
        ("[providers.A]\nstream = true", "expected providers.<id>.<option>"),
        ("\"model.default\" = \"local/a\"", "did you mean model.default?"),
        ("[[limits]]\nrounds = 1", "limits: there is no such key"),
    ] {
        let error = problem_of(text, &[]);
        assert!(error.contains(says), "{text}: {error}");
    }
}

#[test]
fn wrong_values_are_named_with_what_was_expected() {
    for (text, says) in [
        (
            "[limits]\nrounds = \"many\"",
            "limits.rounds: expected a whole number, at least 1 and at most 1000000; got \"many\"",
        ),
        ("[limits]\nrounds = 1.5", "got 1.5"),
        ("[runtime]\nhold_on_outage = \"yes\"", "expected true or false; got \"yes\""),
        ("[model]\nfallbacks = \"local/a\"", "expected a list of models"),
        ("[runtime]\ndurability = \"max\"", "expected one of full, process; got \"max\""),
        ("[providers.a]\nca_file = \"ca.pem\"", "expected the path of a file that starts with /"),
        ("[providers.scripted]\nstream = true", "has no options"),
    ] {
        let error = problem_of(text, &[]);
        assert!(error.contains(says), "{text}: {error}");
    }
    let error = problem_of("", &[("HOLON_MODEL", "nonsense")]);
    assert!(error.contains("environment variable HOLON_MODEL: model.default: expected a model"), "{error}");
}

#[test]
fn contradictions_are_blamed_on_what_was_set() {
    let error = problem_of("[limits]\nqueue_entries = 50", &[]);
    assert!(error.starts_with("/h/config.toml:2: limits.queue_entries: "), "{error}");
    assert!(error.contains("limits.queue_reserved_entries (100) must be less than"), "{error}");
    let error = problem_of("[budget]\nturn_tokens = 100", &[]);
    assert!(error.contains("budget.turn_tokens (100) allows no request"), "{error}");
    let error = problem_of("[limits]\nrepeats_end = 5", &[]);
    assert!(error.contains("limits.repeats_remind (5) must be less than limits.repeats_end (5)"), "{error}");
}

#[test]
fn every_problem_is_found_and_the_rest_is_read() {
    let (settings, problems) = survey("[limits]\nround = 1\nrounds = 7\nagents = 0\n", &[]);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert_eq!(settings.core.turn.rounds, 7);
    assert_eq!(settings.origin("limits.agents"), Origin::Default);
}

#[test]
fn a_home_without_a_file_has_the_defaults() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("config.toml");
    let settings = Settings::load(&path, &Environment::default()).unwrap();
    assert_eq!(settings, Settings::new(&path));
    assert!(matches!(settings.core_config(), Err(SettingsError::NoModel { .. })));
}

/// The bounds of a row fit the type that it fills, and the default is within them.
#[test]
fn every_row_agrees_with_itself() {
    let mut settings = Settings::new(Path::new("/h/config.toml"));
    for key in KEYS {
        assert!(key.name.contains('.'), "{}", key.name);
        let default = key.get(&settings);
        if !default.is_null() {
            let value =
                key.kind.parse(default.as_str().map_or_else(|| default.to_string(), Into::into).trim());
            assert_eq!(key.set(&mut settings, &value), Ok(()), "{}: its own default", key.name);
        }
        if let Kind::Number { least, most } = key.kind {
            for bound in [least, most] {
                let value = key.kind.parse(&bound.to_string());
                assert_eq!(key.set(&mut settings, &value), Ok(()), "{}: {bound}", key.name);
                assert_eq!(key.get(&settings), json!(bound));
            }
        }
    }
    let schema = schema();
    assert_eq!(schema["properties"]["limits"]["properties"]["rounds"]["default"], 200);
    let patterns = schema["properties"]["providers"]["patternProperties"].as_object().unwrap();
    let options = patterns.values().next().unwrap()["properties"].as_object().unwrap();
    assert_eq!(options.len(), OPTIONS.len());
}

#[test]
fn the_docs_list_every_key_and_no_other() {
    let docs = include_str!("../../../docs/configuration.md");
    let (_, providers) = docs.split_once("## Providers").unwrap();
    let (options, _) = providers.split_once("## ").unwrap();
    let rows = |text: &str, dotted: bool| -> Vec<String> {
        let names = text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next());
        names.filter(|name| name.contains('.') == dotted).map(ToOwned::to_owned).collect()
    };
    let described: Vec<String> = KEYS.iter().map(|key| key.name.to_owned()).collect();
    assert_eq!(rows(docs, true), described);
    let known = rows(options, false);
    for key in OPTIONS {
        assert!(known.iter().any(|name| name == key.name), "{} is not described", key.name);
    }
    let defaults = Settings::new(Path::new("config.toml"));
    for key in KEYS {
        let row = docs.lines().find(|line| line.starts_with(&format!("| `{}`", key.name))).unwrap();
        assert!(row.ends_with(&format!("| {} |", key.doc)), "{row}\n{}", key.doc);
        assert_eq!(row.contains("`HOLON_"), key.variable.is_some(), "{row}");
        if let Some(number) = key.get(&defaults).as_u64() {
            assert!(row.contains(&format!("| {number} |")), "{row}");
        }
    }
}

fn configured(text: &str, variables: &[(&str, &str)], keys: &str) -> Configured {
    let (settings, problems) = survey(text, variables);
    assert!(problems.is_empty(), "{problems:?}");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("credentials.toml");
    fs::write(&path, keys).unwrap();
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let credentials = Credentials::load(&path).unwrap();
    Configured::new(&settings, &environment(variables), &credentials)
}

fn spec(configured: &Configured, id: &str) -> ProviderSpec {
    configured.specs.iter().find(|spec| spec.id == id).unwrap_or_else(|| panic!("{configured:?}")).clone()
}

fn key(value: &str, origin: &str) -> Credential {
    Credential::Key { value: value.to_owned(), origin: origin.to_owned() }
}

#[test]
fn a_provider_is_changed_field_by_field() {
    let text = r#"
        [providers.openai]
        base_url = "http://h/v1"
        stream = false
        [providers.local]
        idle_timeout_ms = 7
    "#;
    let found = configured(text, &[], "");
    let openai = spec(&found, "openai");
    assert_eq!((openai.base_url.as_str(), openai.options.stream), ("http://h/v1", false));
    assert_eq!(openai.base_url_origin, "providers.openai.base_url");
    assert_eq!(openai.credential, Credential::Unneeded, "somebody's own server");
    assert_eq!(spec(&found, "local").options.idle_timeout.0, 7);
    let found = configured(text, &[("OPENAI_BASE_URL", "http://other/v1")], "");
    assert_eq!(spec(&found, "openai").base_url, "http://other/v1");
}

#[test]
fn a_key_comes_from_the_variable_or_else_from_the_file() {
    let keys = "[credentials.openai]\nkey = \"canary-file-1\"\n[credentials.team]\nkey = \"canary-file-2\"\n";
    let found = configured("", &[], keys);
    assert_eq!(spec(&found, "openai").credential, key("canary-file-1", "openai"));
    let Credential::Missing { remedy } = spec(&found, "anthropic").credential else { panic!() };
    assert!(remedy.contains("ANTHROPIC_API_KEY") && remedy.contains("credentials set anthropic"), "{remedy}");
    assert!(found.secrets.contains(&("team".into(), "canary-file-2".into())), "not used, and still a secret");

    let variables = [("OPENAI_API_KEY", "canary-var-1"), ("TEAM", "canary-var-2")];
    let found = configured("[providers.openai-chat]\ncredential = \"team\"\n", &variables, keys);
    assert_eq!(spec(&found, "openai").credential, key("canary-var-1", "OPENAI_API_KEY"));
    assert_eq!(spec(&found, "openai-chat").credential, key("canary-var-1", "OPENAI_API_KEY"));
    let found = configured("[providers.openai-chat]\napi_key_env = \"TEAM\"\n", &variables, keys);
    assert_eq!(spec(&found, "openai-chat").credential, key("canary-var-2", "TEAM"));
    assert!(found.secrets.contains(&("TEAM".into(), "canary-var-2".into())));
    let found =
        configured("[providers.openai-chat]\napi_key_env = \"TEAM\"\ncredential = \"team\"\n", &[], keys);
    assert_eq!(spec(&found, "openai-chat").credential, key("canary-file-2", "team"));
}

#[test]
fn providers_of_the_file_alone() {
    let text = r#"
        [providers.mine]
        transport = "openai_chat_completions"
        base_url = "http://me:password1@h/v1"
        [providers.keyed]
        transport = "anthropic_messages"
        base_url = "http://h"
        credential = "none"
        [providers.half]
        base_url = "http://h"
        [providers.later]
        transport = "openai_realtime"
        base_url = "http://h"
    "#;
    let found = configured(text, &[], "");
    let mine = spec(&found, "mine");
    assert_eq!((mine.transport.name(), mine.credential), ("openai_chat_completions", Credential::Unneeded));
    assert!(found.secrets.contains(&("providers.mine.base_url".into(), "password1".into())));
    assert!(matches!(spec(&found, "keyed").credential, Credential::Missing { .. }));
    assert!(found.unusable["half"].contains("config set providers.half.transport"), "{found:?}");
    let later = ModelRef::new("later/x").unwrap();
    let error = found.providers().check(&later).unwrap_err().to_string();
    for says in ["later", "openai_realtime", "does not support", "anthropic_messages"] {
        assert!(error.contains(says), "{error}");
    }
}

/// Every document that differs from this one in one value, which is as small or as large as it gets.
fn extremes(value: &Json) -> Vec<Json> {
    match value {
        Json::Number(_) => vec![json!(0), json!(u32::MAX), json!(u64::MAX)],
        Json::Array(items) => {
            let small = items.first().filter(|first| first.is_number()).map(|_| json!([0]));
            small.into_iter().chain([json!([])]).collect()
        }
        Json::Object(fields) => {
            let changed = |name: &String, extreme| {
                let mut fields = fields.clone();
                fields.insert(name.clone(), extreme);
                Json::Object(fields)
            };
            let all = fields.iter().flat_map(|(name, field)| {
                extremes(field).into_iter().map(move |extreme| changed(name, extreme))
            });
            all.collect()
        }
        Json::Null | Json::Bool(_) | Json::String(_) => Vec::new(),
    }
}

/// What the core refuses is told to users: by a name that they can look up, or as none of theirs.
#[test]
fn the_core_names_keys_that_are_there() {
    let model = ModelRef::new("local/a").unwrap();
    let valid = serde_json::to_value(Config::new(vec![model])).unwrap();
    let configs = extremes(&valid).into_iter().filter_map(|one| serde_json::from_value::<Config>(one).ok());
    let named: std::collections::BTreeSet<&str> =
        configs.filter_map(|config| config.check().err()).map(|error| error.key).collect();
    let (fields, keys): (Vec<&str>, Vec<&str>) = named.iter().partition(|name| name.starts_with("Config."));
    for key in &keys {
        assert!(kind_of(key).is_some(), "{key} is no key");
    }
    assert!(keys.len() > 12 && keys.contains(&"limits.queue_reserved_bytes"), "{keys:?}");
    for field in &fields {
        let (parts, mut at) = (field.split('.').skip(1), &valid);
        for part in parts {
            at = at.get(part).unwrap_or_else(|| panic!("{field} is no field"));
        }
    }
    assert!(fields.contains(&"Config.queue.crashes"), "{fields:?}");
}
