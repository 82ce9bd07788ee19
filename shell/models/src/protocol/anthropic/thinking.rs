//! Whether a request asks the model to think first.

use serde_json::{Value, json};

use crate::model_options::ModelOptions;

/// The smallest budget that the provider takes.
const LEAST: u64 = 1_024;

/// What a setting asks for. In the middle of work that was begun without a thought, as after a change of the model, the
/// provider refuses to think: then only the next turn does.
pub(super) fn asked(model: &ModelOptions, most: u64, messages: &Value) -> Option<Value> {
    if model.thinking.as_deref() == Some("disabled") {
        return Some(json!({"type": "disabled"}));
    }
    let wanted = match (model.thinking_budget_tokens, model.thinking.is_some()) {
        (Some(budget), _) => {
            let budget = budget.min(most.saturating_sub(1));
            (budget >= LEAST).then(|| json!({"type": "enabled", "budget_tokens": budget}))
        }
        (None, true) => Some(json!({"type": "adaptive"})),
        (None, false) => None,
    };
    wanted.filter(|_| !begun_without(messages))
}

/// Whether the calls at the end of a conversation began without a thought.
fn begun_without(messages: &Value) -> bool {
    let kind = |block: &Value, wanted: &str| block["type"] == wanted;
    let mut begun: Option<&[Value]> = None;
    for message in list(messages).iter().rev() {
        let blocks = list(&message["content"]);
        if message["role"] == "assistant" {
            begun = Some(blocks);
        } else if !blocks.iter().any(|block| kind(block, "tool_result")) {
            break;
        }
    }
    let Some(blocks) = begun else { return false };
    let thought =
        blocks.first().is_some_and(|block| kind(block, "thinking") || kind(block, "redacted_thinking"));
    !thought && blocks.iter().any(|block| kind(block, "tool_use"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(tokens: u64) -> ModelOptions {
        ModelOptions { thinking_budget_tokens: Some(tokens), ..ModelOptions::default() }
    }

    #[test]
    fn a_budget_leaves_room_for_an_answer() {
        let asked =
            |tokens, most| asked(&budget(tokens), most, &json!([])).map(|it| it["budget_tokens"].clone());
        assert_eq!(asked(4_000, 16_384), Some(json!(4_000)));
        assert_eq!(asked(20_000, 16_384), Some(json!(16_383)));
        assert_eq!(asked(20_000, 1_000), None);
    }

    #[test]
    fn work_that_began_without_a_thought_goes_on_without() {
        let user = json!({"role": "user", "content": [{"type": "text"}]});
        let results = json!({"role": "user", "content": [{"type": "tool_result"}, {"type": "text"}]});
        let call = json!({"role": "assistant", "content": [{"type": "tool_use"}]});
        let thought = json!({"role": "assistant", "content": [{"type": "thinking"}, {"type": "tool_use"}]});
        let said = json!({"role": "assistant", "content": [{"type": "text"}]});
        for (messages, thinks) in [
            (json!([user]), true),
            (json!([user, call, results]), false),
            (json!([user, thought, results]), true),
            (json!([user, thought, results, call, results]), true),
            (json!([user, call, results, thought, results]), false),
            (json!([user, call, results, said, user]), true),
        ] {
            assert_eq!(asked(&budget(2_000), 9_000, &messages).is_some(), thinks, "{messages}");
        }
    }

    #[test]
    fn nothing_is_asked_for_that_nobody_has_set() {
        assert_eq!(asked(&ModelOptions::default(), 9_000, &json!([])), None);
        let set = |word: &str| ModelOptions { thinking: Some(word.into()), ..ModelOptions::default() };
        assert_eq!(asked(&set("adaptive"), 9_000, &json!([])), Some(json!({"type": "adaptive"})));
        assert_eq!(asked(&set("disabled"), 9_000, &json!([])), Some(json!({"type": "disabled"})));
    }
}
