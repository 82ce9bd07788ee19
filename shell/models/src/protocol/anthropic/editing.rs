//! Context editing: the provider leaves parts of a long request out before the model reads it, and reports what.

use holon_facts::delivery::{AppliedEdit, EditKind};
use serde_json::{Value, json};

use crate::context_editing::{ClearToolUses, ContextEditing, KeptThinking, Trigger};
use crate::exchange::usage::count;

pub(super) const FEATURE: &str = "context-management-2025-06-27";

/// Most edits that an answer may report.
const EDITS: usize = 8;

/// What is asked for. Thoughts come first, and only where the model thinks: the provider refuses it otherwise.
pub(super) fn asked(editing: &ContextEditing, thinks: bool) -> Option<Value> {
    let thinking = editing.thinking.filter(|_| thinks).map(thinking);
    let edits: Vec<Value> = thinking.into_iter().chain(editing.tool_uses.as_ref().map(tool_uses)).collect();
    (!edits.is_empty()).then(|| json!({ "edits": edits }))
}

fn thinking(keep: KeptThinking) -> Value {
    let keep = match keep {
        KeptThinking::All => json!("all"),
        KeptThinking::Turns(turns) => json!({ "type": "thinking_turns", "value": turns }),
    };
    json!({ "type": EditKind::ClearThinking.name(), "keep": keep })
}

fn tool_uses(clear: &ClearToolUses) -> Value {
    let mut edit = json!({ "type": EditKind::ClearToolUses.name() });
    let tokens = |count: u64| json!({ "type": "input_tokens", "value": count });
    let uses = |count: u64| json!({ "type": "tool_uses", "value": count });
    if let Some(trigger) = clear.trigger {
        edit["trigger"] = match trigger {
            Trigger::InputTokens(count) => tokens(count),
            Trigger::ToolUses(count) => uses(count),
        };
    }
    if let Some(keep) = clear.keep {
        edit["keep"] = uses(keep);
    }
    if let Some(least) = clear.clear_at_least {
        edit["clear_at_least"] = tokens(least);
    }
    if !clear.exclude_tools.is_empty() {
        edit["exclude_tools"] = json!(clear.exclude_tools);
    }
    if clear.clear_tool_inputs {
        edit["clear_tool_inputs"] = true.into();
    }
    edit
}

/// What an answer reports. Edits of kinds that nobody asked for are not.
pub(super) fn applied(reported: Option<&Value>) -> Vec<AppliedEdit> {
    let edits = reported.and_then(|reported| reported.get("applied_edits")?.as_array());
    let one = |edit: &Value| {
        let name = edit.get("type")?.as_str()?;
        let kind = EditKind::ALL.iter().copied().find(|kind| kind.name() == name)?;
        let cleared = match kind {
            EditKind::ClearToolUses => "/cleared_tool_uses",
            EditKind::ClearThinking => "/cleared_thinking_turns",
        };
        let count = |path: &str| count(Some(edit), path);
        Some(AppliedEdit {
            kind,
            cleared: count(cleared),
            cleared_input_tokens: count("/cleared_input_tokens"),
        })
    };
    edits.into_iter().flatten().filter_map(one).take(EDITS).collect()
}
