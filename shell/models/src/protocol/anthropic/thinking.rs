//! Whether a request asks the model to think first.

use serde_json::{Value, json};

use super::message::{Block, Message, Role};
use crate::model_options::ModelOptions;

/// The smallest budget that the provider takes.
const LEAST: u64 = 1_024;

/// What a setting asks for. In the middle of work that was begun without a thought, as after a change of the model, the
/// provider refuses to think: then only the next turn does.
pub(super) fn asked(model: &ModelOptions, most: u64, messages: &[Message<'_>]) -> Option<Value> {
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
fn begun_without(messages: &[Message<'_>]) -> bool {
    let has = |message: &Message<'_>, kind: fn(&Block<'_>) -> bool| {
        message.content.iter().any(|content| kind(&content.block))
    };
    let mut begun = None;
    for message in messages.iter().rev() {
        match message.role {
            Role::Assistant => begun = Some(message),
            Role::User if has(message, |block| matches!(block, Block::ToolResult { .. })) => {}
            Role::User => break,
        }
    }
    begun.is_some_and(|message| {
        let thought = message.content.first().is_some_and(|it| matches!(it.block, Block::Thought(_)));
        !thought && has(message, |block| matches!(block, Block::ToolUse { .. }))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::super::message::{Content, Output};
    use super::*;

    fn budget(tokens: u64) -> ModelOptions {
        ModelOptions { thinking_budget_tokens: Some(tokens), ..ModelOptions::default() }
    }

    #[test]
    fn a_budget_leaves_room_for_an_answer() {
        let asked = |tokens, most| asked(&budget(tokens), most, &[]).map(|it| it["budget_tokens"].clone());
        assert_eq!(asked(4_000, 16_384), Some(json!(4_000)));
        assert_eq!(asked(20_000, 16_384), Some(json!(16_383)));
        assert_eq!(asked(20_000, 1_000), None);
    }

    #[test]
    fn work_that_began_without_a_thought_goes_on_without() {
        let text = || Content::text("words".into()).unwrap();
        let call = || Content::new(Block::ToolUse { id: "c1", name: "Sleep", input: json!({}) });
        let thought = || Content::new(Block::Thought(Map::new()));
        let result = || {
            let content = Output::Text("done".into());
            Content::new(Block::ToolResult { tool_use_id: "c1", content, is_error: false })
        };
        let user = || Message { role: Role::User, content: vec![text()] };
        let results = || Message { role: Role::User, content: vec![result(), text()] };
        let called = || Message { role: Role::Assistant, content: vec![call()] };
        let considered = || Message { role: Role::Assistant, content: vec![thought(), call()] };
        let said = || Message { role: Role::Assistant, content: vec![text()] };
        for (messages, thinks) in [
            (vec![user()], true),
            (vec![user(), called(), results()], false),
            (vec![user(), considered(), results()], true),
            (vec![user(), considered(), results(), called(), results()], true),
            (vec![user(), called(), results(), considered(), results()], false),
            (vec![user(), called(), results(), said(), user()], true),
        ] {
            let sent = json!(messages);
            assert_eq!(asked(&budget(2_000), 9_000, &messages).is_some(), thinks, "{sent}");
        }
    }

    #[test]
    fn nothing_is_asked_for_that_nobody_has_set() {
        assert_eq!(asked(&ModelOptions::default(), 9_000, &[]), None);
        let set = |word: &str| ModelOptions { thinking: Some(word.into()), ..ModelOptions::default() };
        assert_eq!(asked(&set("adaptive"), 9_000, &[]), Some(json!({"type": "adaptive"})));
        assert_eq!(asked(&set("disabled"), 9_000, &[]), Some(json!({"type": "disabled"})));
    }
}
