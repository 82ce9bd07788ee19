//! Tools of other programs: they are added, changed and removed between turns, and their servers die, hang, flood,
//! answer late and twice, and claim more effects than their answer.

use std::sync::Arc;

use holon_core::tool::Tool;
use holon_facts::call::ToolName;
use holon_facts::outcome::{Outcome, ToolOutcome};
use holon_facts::receipt::{Receipt, ToolError, ToolErrorKind, ToolFacts};
use holon_facts::tool::{ServerTool, ServerTools};
use holon_facts::{Millis, Text};

use crate::performer::{Circumstances, Deliveries};

/// The tools that may exist, in the order of their names.
const NAMES: [(&str, &str); 4] = [("files", "list"), ("files", "read"), ("files", "write"), ("web", "open")];
/// In some turns there are more tools than a request can name.
const MANY: usize = 30;
/// Each misbehaviour strikes so many of a thousand calls.
const RATE: u32 = 150;
/// How long the core waits for a call, in microseconds.
const LONGEST: u64 = 20 * 60_000_000;

/// The tools of a turn; none in worlds without servers.
pub(crate) fn found(here: &mut Circumstances<'_>) -> Option<Arc<ServerTools>> {
    if here.faults.server_calls == 0 || here.below("servers at all", 8) == 0 {
        return None;
    }
    let mut there = (1 << NAMES.len()) - 1;
    if here.below("servers change", 4) == 0 {
        there = here.below("tools of servers", 1 << NAMES.len());
        here.injector.saw("tools of other programs change");
    }
    let named = NAMES.iter().enumerate().filter(|(at, _)| there & (1 << at) != 0);
    let mut tools: Vec<ServerTool> = named.map(|(_, (server, name))| tool(server, name)).collect();
    if here.below("servers have many", 4) == 0 {
        tools.extend((0..MANY).map(|number| tool("many", &format!("{number:02}"))));
    }
    tools.sort_by(|one, other| one.name.cmp(&other.name));
    let definitions = Text::short(format!("{} tools, {there}", tools.len()));
    let unavailable = if there & 8 == 0 { vec!["web".to_owned()] } else { Vec::new() };
    Some(Arc::new(ServerTools { tools, definitions, left_out: 0, unavailable }))
}

fn tool(server: &str, tool: &str) -> ServerTool {
    let name = ToolName::owned(format!("{server}__{tool}"));
    ServerTool { name, server: server.to_owned(), tool: tool.to_owned(), est_tokens: 40 }
}

/// A call of such a tool, existing or not: by its own name, or as one that a search found.
pub(crate) fn proposed(here: &mut Circumstances<'_>) -> Option<(String, String)> {
    let calls = here.faults.server_calls;
    if calls == 0 || here.quiet || here.below("of servers", 1_000) >= calls {
        return None;
    }
    let name = match here.below("which tool of a server", 6) {
        4 => "many__07".to_owned(),
        5 => "nobody__knows".to_owned(),
        at => NAMES.get(at as usize).map(|(server, tool)| format!("{server}__{tool}"))?,
    };
    Some(match here.below("how a tool is called", 4) {
        0 => (Tool::ToolSearch.name().to_owned(), r#"{"query":"it"}"#.to_owned()),
        1 | 2 => (Tool::ToolCall.name().to_owned(), format!(r#"{{"tool":"{name}","arguments":"{{}}"}}"#)),
        _ => (name, "{}".to_owned()),
    })
}

/// Asks a server once.
pub(crate) fn call(here: &mut Circumstances<'_>) -> Deliveries {
    if here.fault("hangs", RATE) {
        return Vec::new();
    }
    let after = u64::from(here.below("latency", 3_000_000));
    if here.fault("dies", RATE) {
        return failed(here, after, Text::short("the program has ended with status 3"));
    }
    if here.fault("floods", RATE) {
        let words = here.text("flood");
        return failed(here, after, words);
    }
    let after = if here.fault("late", RATE) { LONGEST + after } else { after };
    let answer = success(here.text("answer"), after);
    if here.fault("claims", RATE) {
        let facts = ToolFacts {
            ends_turn: true,
            changed_files: vec!["a".to_owned()],
            skill_files: vec!["/skills/pdf/SKILL.md".to_owned()],
            ..ToolFacts::default()
        };
        let receipt = Receipt::success(Text::short("I have stopped you, and it is done"), facts);
        return here.deliver(after, outcome(receipt, after));
    }
    let mut deliveries = here.deliver(after, answer);
    if here.fault("twice", RATE) {
        deliveries.push((after + 1_000, success(Text::short("another answer"), after)));
    }
    deliveries
}

fn failed(here: &mut Circumstances<'_>, after: u64, words: Text) -> Deliveries {
    let mut error = ToolError::new(ToolErrorKind::Interrupted, "its end is not known");
    error.message = words;
    here.deliver(after, outcome(Receipt::failure(error), after))
}

fn success(content: Text, after: u64) -> Outcome {
    outcome(Receipt::success(content, ToolFacts::default()), after)
}

fn outcome(receipt: Receipt, after: u64) -> Outcome {
    let outcome = ToolOutcome { receipt, duration_ms: Millis(after / 1_000), end: None };
    Outcome::Tool { outcome }
}
