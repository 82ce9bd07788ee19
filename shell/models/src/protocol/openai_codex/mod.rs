//! `openai_codex_responses`: the responses of a ChatGPT login (contract: context.md, Provider lowering). Streams only, and
//! takes fewer fields than the public interface; everything else is the same.

use holon_facts::Wall;
use holon_facts::delivery::{QuotaUse, QuotaWindow};
use holon_facts::usage::TokenUsage;
use holon_text::{TextError, Texts};
use http::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::openai_responses::OpenaiResponses;
use crate::answer::Reply;
use crate::exchange::{Body, Lowering, Malformed, Protocol, transport};
use crate::provider::{ProviderSpec, Transport};

pub(crate) const TRANSPORT: Transport = transport::<OpenaiCodex>("openai_codex_responses");

/// What a request may have beside its lists: anything else is refused.
const FIELDS: [&str; 10] = [
    "model",
    "instructions",
    "tool_choice",
    "parallel_tool_calls",
    "store",
    "stream",
    "reasoning",
    "include",
    "prompt_cache_key",
    "text",
];

pub(crate) struct OpenaiCodex;

impl Protocol for OpenaiCodex {
    const NAME: &'static str = "the responses protocol";
    const SETTINGS: &'static [&'static str] = &["reasoning_effort", "verbosity"];
    const TURN_STATE: Option<&'static str> = Some("x-codex-turn-state");
    type Fold = <OpenaiResponses as Protocol>::Fold;

    fn path(_: &str) -> &'static str {
        "/responses"
    }

    fn lower(lowering: &Lowering<'_>) -> Result<Body, TextError> {
        let mut whole = OpenaiResponses::lower(lowering)?;
        let body = &mut whole.fields;
        let fields: [(&str, Value); 6] = [
            ("store", false.into()),
            ("stream", true.into()),
            ("tool_choice", "auto".into()),
            ("parallel_tool_calls", false.into()),
            ("prompt_cache_key", lowering.request.frame.cache.prompt_cache_key.clone().into()),
            // Both are expected also where they ask for nothing.
            ("include", body.get("include").cloned().unwrap_or_else(|| json!([]))),
        ];
        body["reasoning"] = body.get("reasoning").cloned().unwrap_or(Value::Null);
        for (name, value) in fields {
            body[name] = value;
        }
        if let Some(body) = body.as_object_mut() {
            body.retain(|name, _| FIELDS.contains(&name.as_str()));
        }
        Ok(whole)
    }

    fn sign(headers: &mut HeaderMap, key: Option<HeaderValue>) {
        OpenaiResponses::sign(headers, key);
        headers.insert("openai-beta", HeaderValue::from_static("responses=experimental"));
        headers.insert(HeaderName::from_static("originator"), HeaderValue::from_static("holon"));
    }

    fn quotas(headers: &HeaderMap) -> Vec<QuotaUse> {
        [QuotaWindow::Primary, QuotaWindow::Secondary]
            .into_iter()
            .filter_map(|window| quota(headers, window))
            .collect()
    }

    fn usable(spec: &ProviderSpec) -> Result<(), String> {
        if !spec.options.accept_unofficial {
            return Err(format!(
                "no public interface is promised for a ChatGPT login, and the service may refuse other programs; `holon \
                 config set providers.{}.accept_unofficial true` uses it all the same",
                spec.id
            ));
        }
        if spec.options.stream { Ok(()) } else { Err("it only streams; stream has to be true".to_owned()) }
    }

    fn read(texts: &Texts, root: &Value) -> Result<Reply, Malformed> {
        OpenaiResponses::read(texts, root)
    }

    fn usage(reported: Option<&Value>) -> TokenUsage {
        OpenaiResponses::usage(reported)
    }
}

/// `x-codex-primary-used-percent` and the like; a number that can't be is none.
fn quota(headers: &HeaderMap, window: QuotaWindow) -> Option<QuotaUse> {
    let number = |what: &str| {
        let text = headers.get(format!("x-codex-{window}-{what}"))?.to_str().ok()?;
        text.trim().parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0)
    };
    let percent = number("used-percent")?.ceil().min(100.0);
    // None is negative, and each is bounded.
    let whole = |number: f64, most: f64| number.min(most) as u64;
    Some(QuotaUse {
        window,
        used_percent: u8::try_from(whole(percent, 100.0)).unwrap_or(100),
        window_minutes: number("window-minutes").and_then(|it| u32::try_from(whole(it, 1e9)).ok()),
        resets_at: number("reset-at")
            .and_then(|it| i64::try_from(whole(it, 1e11)).ok())
            .map(|seconds| Wall(seconds.saturating_mul(1_000_000))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::ProviderOptions;
    use std::time::Duration;

    use crate::provider::Credential;
    use crate::registry::Providers;
    use crate::testing::{Asking, Send, Server, answer, request, spec, texts};
    use crate::tools::Tools;

    #[test]
    fn a_request_has_no_field_that_is_refused() {
        let (texts, tools) = (texts(), Tools::new(holon_core::tool::catalogue()));
        for (model, effort) in [("gpt-5.1-codex", Some("high")), ("gpt-4.1", None)] {
            let request = request(&texts, &format!("openai-codex/{model}"), 1_000);
            let mut spec = spec("openai-codex", "http://server", ProviderOptions::default());
            let own = crate::ModelOptions {
                reasoning_effort: effort.map(ToOwned::to_owned),
                temperature: crate::Temperature::new(1.0),
                ..crate::ModelOptions::default()
            };
            spec.models.insert(model.to_owned(), own);
            let lowering = Lowering::new(&texts, &request, &spec, &tools);
            let body = OpenaiCodex::lower(&lowering).unwrap().document();
            let object = body.as_object().unwrap();
            let known = |name: &str| ["input", "tools"].contains(&name) || FIELDS.contains(&name);
            assert!(object.keys().all(|name| known(name)), "{object:?}");
            assert_eq!((&body["store"], &body["stream"]), (&json!(false), &json!(true)));
            assert!(!body.to_string().contains(r#""role":"system""#));
            match effort {
                Some(effort) => {
                    assert_eq!(body["reasoning"], json!({ "effort": effort }));
                    assert_eq!(body["include"], json!(["reasoning.encrypted_content"]));
                }
                None => assert_eq!((&object["reasoning"], &object["include"]), (&Value::Null, &json!([]))),
            }
        }
    }

    #[test]
    fn it_is_off_until_somebody_accepts_what_it_is() {
        let options = |accept_unofficial, stream| {
            let options = ProviderOptions { accept_unofficial, stream, ..ProviderOptions::default() };
            spec("openai-codex", "http://server", options)
        };
        assert!(OpenaiCodex::usable(&options(false, true)).unwrap_err().contains("accept_unofficial"));
        assert!(OpenaiCodex::usable(&options(true, false)).unwrap_err().contains("stream"));
        assert_eq!(OpenaiCodex::usable(&options(true, true)), Ok(()));
    }

    /// A login that is renewed while a request is on its way: the refusal is answered with the new one, once.
    #[tokio::test]
    async fn a_login_that_was_renewed_meanwhile_is_tried_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("auth.json");
        let write = |token: &str| {
            std::fs::write(&path, json!({ "tokens": { "access_token": token } }).to_string()).unwrap();
        };
        write("first");
        let said = json!({ "status": "completed", "output": [] }).to_string();
        let late = || vec![Send::Wait(Duration::from_millis(300)), Send::Bytes(answer(401, &[], b""))];
        let server =
            Server::start([late(), vec![Send::Bytes(answer(200, &[], said.as_bytes()))], late()]).await;
        let mut spec = spec("openai-codex", &server.base, ProviderOptions::default());
        spec.options.accept_unofficial = true;
        spec.credential = Credential::Login { path: path.clone() };
        let asking = Asking::of("openai-codex", Providers::new(vec![spec], Tools::default()));
        let renewed = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            write("second");
        };
        let (answered, ()) = tokio::join!(asking.ask(), renewed);
        assert!(answered.is_ok(), "{answered:?}");
        let failure = asking.failure().await;
        assert!(asking.message(&failure).contains("run `codex login`"), "{}", asking.message(&failure));
        let asked = server.asked.lock().unwrap().clone();
        let tokens: Vec<bool> = asked.iter().map(|(head, _)| head.contains("bearer second")).collect();
        assert_eq!(tokens, [false, true, true], "and nothing is repeated with the same login");
    }

    #[test]
    fn quotas_are_read_as_far_as_they_can_be() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("x-codex-primary-used-percent", "12.5"),
            ("x-codex-primary-window-minutes", "300"),
            ("x-codex-primary-reset-at", "1800000000"),
            ("x-codex-secondary-used-percent", "1e300"),
            ("x-codex-secondary-window-minutes", "-5"),
            ("x-codex-secondary-reset-at", "soon"),
        ] {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let [first, second] = OpenaiCodex::quotas(&headers).try_into().unwrap();
        assert_eq!((first.used_percent, first.window_minutes), (13, Some(300)));
        assert_eq!(first.resets_at, Some(Wall(1_800_000_000_000_000)));
        assert_eq!((second.used_percent, second.window_minutes, second.resets_at), (100, None, None));
        headers.insert("x-codex-primary-used-percent", HeaderValue::from_static("NaN"));
        assert_eq!(OpenaiCodex::quotas(&headers).len(), 1);
    }

    /// What an answer came with goes along with the next request of the same turn, and with no other.
    #[tokio::test]
    async fn the_state_of_a_turn_stays_in_the_turn() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("auth.json");
        std::fs::write(&path, json!({ "tokens": { "access_token": "mine" } }).to_string()).unwrap();
        let said = json!({ "status": "completed", "output": [] }).to_string();
        let answers = |state: Option<&str>| {
            let headers: Vec<(&str, &str)> =
                state.map(|state| ("x-codex-turn-state", state)).into_iter().collect();
            vec![Send::Bytes(answer(200, &headers, said.as_bytes()))]
        };
        let long = "x".repeat(5_000);
        let server = Server::start(
            [Some("one"), None, Some("two"), Some(&long), None, Some("other"), None].map(answers),
        )
        .await;
        let mut spec = spec("openai-codex", &server.base, ProviderOptions::default());
        spec.options.accept_unofficial = true;
        spec.credential = Credential::Login { path };
        let asking = Asking::of("openai-codex", Providers::new(vec![spec], Tools::default()));
        for (rounds, agent) in [(0, "a"), (1, "a"), (2, "a"), (3, "a"), (4, "a"), (0, "a"), (0, "a")] {
            let mut request = asking.request();
            (request.rounds, request.agent) = (rounds, holon_facts::AgentId::new(agent).unwrap());
            assert!(asking.ask_for(&request).await.is_ok());
        }
        let asked = server.asked.lock().unwrap().clone();
        let state = |head: &str| {
            let line = head.lines().find_map(|line| line.strip_prefix("x-codex-turn-state: "));
            line.map(ToOwned::to_owned)
        };
        let states: Vec<_> = asked.iter().map(|(head, _)| state(head)).collect();
        let states: Vec<_> = states.iter().map(Option::as_deref).collect();
        assert_eq!(states, [None, Some("one"), Some("one"), Some("two"), None, None, None]);
    }
}
