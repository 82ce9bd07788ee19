//! A scripted-random provider: its answers and their times follow from the draws for each request.

use holon_core::tool::Tool;
use holon_facts::config::ContextLimits;
use holon_facts::frame::Part;
use holon_facts::hash::fnv;
use holon_facts::model::{
    AnswerBlock, AttemptFailure, Block, FailureKind, Item, ModelAnswer, ModelRequest, ProposedCall,
    StopReason, Timing, TransportDiagnostics,
};
use holon_facts::outcome::Outcome;
use holon_facts::usage::TokenUsage;
use holon_facts::{Millis, Text, Wall};

use crate::choices::{Site, splitmix64};
use crate::failure::{Failure, ensure};
use crate::performer::{COMMANDS, Circumstances, Deliveries, stored};
use crate::story::{self, Round};
use crate::{commands, families, places, servers};

/// No provider can be reached.
fn unreachable(here: &Circumstances<'_>) -> Deliveries {
    let duration_ms = Millis(1_000);
    let timing = Timing { started_at: here.wall, completed_at: here.wall.after(duration_ms), duration_ms };
    let failure = AttemptFailure {
        kind: FailureKind::Connect,
        message: Text::short("connection refused"),
        retry_after_ms: None,
        resets_at: None,
        usage: None,
        timing,
        diagnostics: None,
        delivery: None,
    };
    vec![(1_000_000, Outcome::AttemptFailed { failure })]
}

/// Answers one request: with the script's round, or at random.
pub fn answer(here: &mut Circumstances<'_>, round: Option<&Round>) -> Deliveries {
    if here.away {
        here.injector.saw("provider.unreachable");
        return unreachable(here);
    }
    match round {
        Some(round) => story::say(here, round),
        None => drawn(here),
    }
}

/// How many more tokens than estimated the model counts, in thousandths.
fn per_mille(request: &ModelRequest) -> u64 {
    let name = fnv(request.model.as_str().as_bytes());
    [700, 1_000, 1_150, 1_300][usize::try_from(name % 4).unwrap_or_default()]
}

/// The usage that a plain answer reports: each model counts tokens in its own way.
pub fn counted(mut deliveries: Deliveries, request: &ModelRequest) -> Deliveries {
    for (_, outcome) in &mut deliveries {
        if let Outcome::Answer { answer } = outcome
            && answer.usage == usage(PLAIN)
        {
            answer.usage.input_tokens = holon_core::prompt::est_tokens(request) * per_mille(request) / 1_000;
            answer.usage.total_tokens = answer.usage.input_tokens + PLAIN;
        }
    }
    deliveries
}

/// Joins an answer with those that it continues, as the shell does.
pub fn joined(mut deliveries: Deliveries, before: &[Text]) -> Deliveries {
    for (_, outcome) in &mut deliveries {
        let Outcome::Answer { answer } = outcome else { continue };
        let own = answer.blocks.iter().map(|block| match block {
            AnswerBlock::Text { text } => Some(Some(text)),
            AnswerBlock::Reasoning { .. } => Some(None),
            AnswerBlock::ToolCall(_) => None,
        });
        let Some(own) = own.collect::<Option<Vec<_>>>().filter(|_| !before.is_empty()) else { continue };
        let texts: Vec<&Text> = before.iter().chain(own.into_iter().flatten()).collect();
        let bytes =
            texts.iter().map(|text| text.content().map_or(text.preview().len() as u64, |it| it.bytes));
        let bytes: u64 = bytes.sum();
        let whole = texts.iter().map(|text| text.preview()).collect::<String>();
        let inline = texts.iter().all(|text| text.content().is_none()) && bytes <= 256;
        answer.joined = Some(if inline { Text::Inline(whole) } else { stored(hash(&whole), bytes.max(257)) });
    }
    deliveries
}

/// Any number, the same for the same text.
fn hash(text: &str) -> u64 {
    text.bytes().fold(7, |hash, byte| splitmix64(hash ^ u64::from(byte)))
}

fn drawn(here: &mut Circumstances<'_>) -> Deliveries {
    if here.fault("silent", here.faults.provider_silent) {
        return Vec::new();
    }
    let mut after = 500 + u64::from(here.below("latency", 800_000));
    if here.fault("slow", here.faults.provider_slow) {
        after += u64::from(here.below("slowness", 3_000)) * 1_000_000;
    }
    let duration_ms = Millis(after / 1_000);
    let timing = Timing { started_at: here.wall, completed_at: here.wall.after(duration_ms), duration_ms };
    let outcome = if here.limited || here.fault("fails", here.faults.provider_fails) {
        Outcome::AttemptFailed { failure: failure(here, timing) }
    } else {
        Outcome::Answer { answer: answer_of(here, timing) }
    };
    here.deliver(after, outcome)
}

fn failure(here: &mut Circumstances<'_>, timing: Timing) -> AttemptFailure {
    const PASSING: [FailureKind; 4] =
        [FailureKind::RateLimited, FailureKind::Server, FailureKind::Connect, FailureKind::Quota];
    let away = here.fault("away", here.faults.provider_away);
    let kinds = if away { &PASSING } else { FailureKind::ALL };
    let mut kind = here.pick("failure", kinds).unwrap_or(FailureKind::Server);
    if here.limited {
        kind = FailureKind::RateLimited;
    }
    if kind == FailureKind::ContextLength {
        here.injector.saw("provider.too_long");
    }
    let waits = [None, None, Some(0), Some(700), Some(45_000), Some(90_000), Some(u64::MAX)];
    let resets =
        [None, Some(-5_000_000), Some(500_000), Some(20_000_000), Some(90_000_000_000), Some(i64::MAX)];
    let resets_at = here.pick("resets", &resets).flatten();
    AttemptFailure {
        kind,
        message: here.text("failure_text"),
        retry_after_ms: here.pick("retry_after", &waits).flatten().map(Millis),
        resets_at: resets_at.map(|micros: i64| Wall(here.wall.0.saturating_add(micros)).min(LATEST)),
        usage: (here.below("failure_usage", 3) == 0).then(|| usage(7)),
        timing,
        diagnostics: (here.below("diagnosed", 3) == 0).then(|| diagnostics(here)),
        delivery: None,
    }
}

fn diagnostics(here: &mut Circumstances<'_>) -> TransportDiagnostics {
    let causes = here.below("causes", 4);
    TransportDiagnostics {
        stage: "response".into(),
        url: None,
        status: here.pick("status", &[None, Some(429), Some(500)]).flatten(),
        source_chain: (0..causes).map(|number| format!("cause {number}")).collect(),
    }
}

/// The last moment that RFC 3339 can express.
const LATEST: Wall = Wall(253_402_300_799_000_000);

/// Tokens of a plain answer.
const PLAIN: u64 = 100;

fn usage(tokens: u64) -> TokenUsage {
    TokenUsage {
        input_tokens: tokens,
        output_tokens: tokens,
        total_tokens: tokens.saturating_mul(2),
        cached_input_tokens: 0,
    }
}

fn answer_of(here: &mut Circumstances<'_>, timing: Timing) -> ModelAnswer {
    let odd = here.fault("odd", here.faults.provider_odd);
    // In the quiet phase a provider comes to an end: it seldom calls anything, and then one tool.
    let huge = odd && here.below("huge", 40) == 0;
    if huge {
        here.injector.saw("provider.huge");
    }
    let calls = match (here.quiet, odd) {
        (false, true) if huge => 1_000,
        (true, _) => u32::from(here.below("calls", 6) == 0),
        (false, true) => here.pick("calls", &[0, 1, 3, 40]).unwrap_or(1),
        (false, false) => here.below("calls", 3),
    };
    let mut blocks = Vec::new();
    if here.below("reasons", 5) == 0 {
        here.injector.saw("provider.reasons");
        let bytes = 300 + u64::from(here.below("reasoning", 1_500));
        blocks.push(AnswerBlock::Reasoning { content: stored(here.site.ordinal ^ bytes, bytes) });
    }
    // An odd answer may have reasoning only.
    let talks =
        if calls == 0 { !odd || here.below("says nothing", 4) > 0 } else { here.below("talks", 2) == 0 };
    if talks {
        blocks.push(AnswerBlock::Text { text: here.text("said") });
    }
    for number in 0..calls {
        blocks.push(AnswerBlock::ToolCall(call(here, number, odd)));
    }
    // Or several text blocks.
    if odd && !blocks.is_empty() && here.below("says more", 3) == 0 {
        blocks.push(AnswerBlock::Text { text: here.text("said more") });
    }
    let commands =
        |block: &AnswerBlock| matches!(block, AnswerBlock::Text { text } if text.preview() == COMMANDS);
    if blocks.iter().any(commands) {
        here.injector.saw("provider.commands");
        here.injector.saw("a model gives commands");
    }
    let stop = match (odd && here.below("cut", 4) == 0, calls) {
        (true, _) => here
            .pick(
                "stopped by",
                &[
                    StopReason::MaxOutput,
                    StopReason::Pause,
                    StopReason::ContentFilter,
                    StopReason::Refusal,
                    StopReason::ToolUse,
                    StopReason::Other,
                ],
            )
            .unwrap_or(StopReason::Other),
        (false, 0) => StopReason::EndTurn,
        (false, _) => StopReason::ToolUse,
    };
    let tokens = if odd { here.pick("usage", &[0, 1_000, u64::MAX]).unwrap_or(0) } else { PLAIN };
    ModelAnswer { blocks, stop, usage: usage(tokens), timing, joined: None, delivery: None, stored: None }
}

/// Arguments that fit their tool, however odd, and some that don't.
const MISFITS: [(Tool, &str); 26] = [
    (Tool::ExecCommand, r#"{"cmd":"ls","cwd":"/"}"#),
    (
        Tool::ExecCommand,
        r#"{"cmd":"ls","a_field_with_a_very_long_name_that_no_tool_has_and_that_nobody_wants_to_read_in_full_because_it_goes_on_and_on":1}"#,
    ),
    (Tool::ExecCommand, r#"{"cmd":"ls","accepts_input":true}"#),
    (Tool::ExecCommand, r#"{"cmd":" "}"#),
    (Tool::ExecCommand, "{\"cmd\":\"a\0b\"}"),
    (Tool::ExecCommand, r#"{"cmd":null}"#),
    (Tool::ExecCommand, r#"{"cmd":"ls","login":null,"duplicate_policy":"start_new"}"#),
    (Tool::ExecCommand, r#"{"cmd":7}"#),
    (Tool::ExecCommand, r#"{"cmd":"ls","cmd":"rm"}"#),
    (Tool::ExecCommand, ""),
    (Tool::ExecCommand, "[]"),
    (Tool::ExecCommandBatch, r#"{"items":[{"cmd":"ls"},{"cmd":"pwd","workdir":null}],"stop_on_error":null}"#),
    (Tool::TaskList, r#"{"all":true}"#),
    (Tool::TaskStop, r#"{"task_id":"7"}"#),
    (Tool::TaskOutput, r#"{"task_id":"task_1","timeout_ms":600001}"#),
    (Tool::TaskInput, r#"{"task_id":"task_1","input":""}"#),
    (Tool::TaskStatus, "{}"),
    (Tool::ExecCommandBatch, r#"{"items":[]}"#),
    (Tool::ExecCommandBatch, r#"{"items":[{"cmd":"ls"},{"cmd":""}]}"#),
    (Tool::ExecCommandBatch, r#"{"items":"ls"}"#),
    (Tool::SpawnAgent, "{}"),
    (Tool::SpawnAgent, r#"{"initial_message":"go","agent_id":"a1"}"#),
    (Tool::SpawnAgent, r#"{"preset":"public_named","agent_id":"a1","model":"no/such"}"#),
    (Tool::ApplyPatch, r#"{"patch":" "}"#),
    (Tool::ApplyPatch, r#"{"patch":"--- a"}"#),
    (Tool::ApplyPatch, r#"{"patch":{"file":null}}"#),
];

/// A call about tasks, of which some exist.
fn about_tasks(here: &mut Circumstances<'_>) -> (Tool, String) {
    let task = 1 + here.below("task", 5);
    let with = |rest: &str| format!(r#"{{"task_id":"task_{task}"{rest}}}"#);
    match here.below("about", 9) {
        0 => (Tool::TaskList, "{}".into()),
        1 => (Tool::TaskStatus, with("")),
        2 => (Tool::TaskOutput, with("")),
        3 => (Tool::TaskOutput, with(r#","block":false"#)),
        4 => (Tool::TaskOutput, with(r#","timeout_ms":5"#)),
        5 => (Tool::TaskOutput, with(r#","timeout_ms":600000"#)),
        6 => (
            Tool::TaskInput,
            with(
                r#","input":"y
""#,
            ),
        ),
        7 => (Tool::TaskStop, with("")),
        _ => (Tool::TaskStop, with(r#","force":true"#)),
    }
}

/// A call about work items, of which some exist, or about the agent itself.
fn about_work(here: &mut Circumstances<'_>) -> (Tool, String) {
    let item = 1 + here.below("item", 4);
    let with = |rest: &str| format!(r#"{{"work_item_id":"work_{item}"{rest}}}"#);
    match here.below("about work", 27) {
        0..=2 => (Tool::CreateWorkItem, r#"{"objective":"go","plan":"first"}"#.into()),
        3 | 4 => (Tool::PickWorkItem, with(r#","clear_blocker":true"#)),
        5 => (Tool::UpdateWorkItem, with(r#","blocked_by":"rain""#)),
        6 => (Tool::UpdateWorkItem, with(r#","todo_list":[{"text":"look","state":"in_progress"}]"#)),
        7 => (Tool::GetWorkItem, with("")),
        8 => (Tool::ListWorkItems, r#"{"filter":"open","limit":2}"#.into()),
        9 => (Tool::Enqueue, r#"{"text":"look again","priority":"next"}"#.into()),
        10 => (Tool::Enqueue, r#"{"text":"look again"}"#.into()),
        12 => (Tool::Sleep, r#"{"duration_ms":3000}"#.into()),
        13 => (Tool::Sleep, r#"{"duration_ms":1200000,"reason":"long"}"#.into()),
        14 => (Tool::Sleep, "{}".into()),
        15 => (Tool::UpdateWorkItem, with(r#","blocked_by":"snow","recheck_after_ms":60000"#)),
        16 => (Tool::UpdateWorkItem, with(r#","blocked_by":"""#)),
        25 => (Tool::AgentGet, "{}".into()),
        17..=24 => (Tool::WaitFor, waits_for(here, item)),
        11 => (Tool::NotifyOperator, r#"{"message":"look here","urgency":"action_required"}"#.into()),
        _ => (Tool::CompleteWorkItem, with("")),
    }
}

/// Arguments of a wait, by the item in focus, the agent, or another item.
fn waits_for(here: &mut Circumstances<'_>, item: u32) -> String {
    let what = match here.below("waits for", 8) {
        0 => r#""wake":"operator_input""#.into(),
        1 => r#""wake":"external""#.into(),
        2 => r#""wake":"external","resource":"ci","recheck_after_ms":60000"#.into(),
        3 => r#""wake":"timer","resource":"3s""#.into(),
        4 => r#""wake":"timer","resource":"20m""#.into(),
        _ => format!(r#""wake":"task_result","resource":"task_{}""#, 1 + here.below("task", 5)),
    };
    let owner = match here.below("owner", 3) {
        0 => format!(r#","work_item_id":"work_{item}""#),
        _ => String::new(),
    };
    format!(r#"{{"reason":"it is not there yet",{what}{owner}}}"#)
}

fn call(here: &mut Circumstances<'_>, number: u32, odd: bool) -> ProposedCall {
    let site = Site { ordinal: here.site.ordinal * 1_024 + u64::from(number), ..here.site };
    let mut inner =
        Circumstances { choices: &mut *here.choices, injector: &mut *here.injector, site, ..*here };
    let mut proposed = ProposedCall {
        call_id: format!("c{}_{number}", site.ordinal),
        tool_name: "ExecCommand".into(),
        arguments: Text::Inline(r#"{"cmd":"ls"}"#.into()),
        inline: None,
    };
    let spawns = inner.faults.child_calls > 0 && !inner.quiet;
    let goes = inner.faults.folder_calls > 0 && !inner.quiet;
    let sees = inner.faults.image_calls > 0 && !inner.quiet;
    if let Some((tool, arguments)) = servers::proposed(&mut inner) {
        proposed.tool_name = tool;
        proposed.arguments = Text::Inline(arguments);
    } else if sees && inner.below("of images", 1_000) < inner.faults.image_calls {
        let (tool, arguments) = match number % 3 {
            2 => (Tool::MemorySearch, r#"{"query":"it"}"#),
            _ => (Tool::ViewImage, r#"{"path":"a.png"}"#),
        };
        proposed.tool_name = tool.name().into();
        proposed.arguments = Text::Inline(arguments.into());
    } else if spawns && inner.below("of children", 1_000) < inner.faults.child_calls {
        let (tool, arguments) = families::about_children(&mut inner);
        proposed.tool_name = tool.name().into();
        proposed.arguments = Text::Inline(arguments);
    } else if goes && inner.below("of folders", 1_000) < inner.faults.folder_calls {
        let (tool, arguments) = places::about_folders(&mut inner);
        proposed.tool_name = tool.name().into();
        proposed.arguments = Text::Inline(arguments);
    } else if inner.below("of work", 1_000) < inner.faults.task_calls {
        let (tool, arguments) = about_work(&mut inner);
        proposed.tool_name = tool.name().into();
        proposed.arguments = Text::Inline(arguments);
    } else if inner.below("of tasks", 1_000) < inner.faults.task_calls {
        let (tool, arguments) = about_tasks(&mut inner);
        proposed.tool_name = tool.name().into();
        proposed.arguments = Text::Inline(arguments);
    } else if inner.faults.commands_last > 0 && !inner.quiet {
        let number = inner.below("command", commands::count());
        proposed.arguments = Text::Inline(commands::arguments(number).into());
    }
    if !odd {
        return proposed;
    }
    match inner.below("oddity", 9) {
        0 => proposed.tool_name = "Teleport".into(),
        1 => proposed.arguments = Text::Inline(r#"{"cmd":"#.into()),
        2 => {
            let (tool, arguments) =
                inner.pick("misfit", &MISFITS).unwrap_or((Tool::ExecCommand, r#"{"cmd":7}"#));
            proposed.tool_name = tool.name().into();
            proposed.arguments = Text::Inline(arguments.into());
        }
        3 => proposed.call_id = String::new(),
        4 => proposed.call_id = "x".repeat(65),
        5 => proposed.call_id = "same".into(),
        6 => proposed.call_id = format!("call_1_0_{}", inner.below("guess", 4)),
        7 => proposed.arguments = stored(site.ordinal, 100_000),
        _ => {
            proposed.tool_name = "ApplyPatch".into();
            proposed.arguments = stored(site.ordinal, 300);
            proposed.inline = Some(r#"{"patch":"--- a"}"#.into());
        }
    }
    proposed
}

/// T12 for the provider: an answer continues the end of the conversation, and is asked to.
fn continues(request: &ModelRequest) -> Result<(), Failure> {
    let Some(last) = request.continues.last() else { return Ok(()) };
    let mut items = request.conversation.iter().rev();
    let asked = matches!(items.next(), Some(Item::User { .. }));
    let blocks = items.find_map(|item| match item {
        Item::Assistant { blocks } => Some(blocks.iter().rev()),
        Item::User { .. } | Item::ToolResults { .. } => None,
    });
    let mut blocks = blocks.into_iter().flatten();
    let text = blocks.find_map(|block| match block {
        Block::Text { text } if !text.is_empty() => Some(text),
        Block::Text { .. } | Block::ToolCall { .. } | Block::Reasoning { .. } => None,
    });
    let recapped = text.is_none();
    ensure!(asked && (recapped || text == Some(last)), "T12", "an answer continues {last:?} after {text:?}");
    Ok(())
}

/// Whether a request shows a model its own reasoning.
pub fn gets_thoughts_back(request: &ModelRequest) -> bool {
    request.conversation.iter().any(|item| match item {
        Item::Assistant { blocks } => blocks
            .iter()
            .any(|block| matches!(block, Block::Reasoning { model, .. } if *model == request.model)),
        Item::User { .. } | Item::ToolResults { .. } => false,
    })
}

/// Whether a request shows a model its own summary of a closed episode.
pub fn gets_summary(request: &ModelRequest) -> bool {
    let sums_up = |part: &Part| matches!(part, Part::Rendered(text) if text.starts_with("[your summary "));
    request.conversation.iter().any(|item| match item {
        Item::User { parts } => parts.iter().any(sums_up),
        Item::Assistant { .. } | Item::ToolResults { .. } => false,
    })
}

/// T5 for the provider: every call of the transcript is followed by its one result, and no id stands for two calls. The
/// request fits the window of its model.
pub fn check_request(request: &ModelRequest, context: &ContextLimits) -> Result<(), Failure> {
    // Counting beyond the estimate is known only after an answer; M12 covers that.
    let input = holon_core::prompt::est_tokens(request) * per_mille(request).min(1_000) / 1_000;
    let (tokens, window) = (input + request.max_output_tokens, context.window(&request.model));
    ensure!(tokens <= window, "T8", "a request of {tokens} tokens for a window of {window}");
    continues(request)?;
    let mut ids = std::collections::BTreeSet::new();
    let mut open: Vec<&str> = Vec::new();
    for item in &request.conversation {
        match item {
            Item::User { .. } => ensure!(open.is_empty(), "T5", "{open:?} have no result in the transcript"),
            Item::Assistant { blocks } => {
                ensure!(open.is_empty(), "T5", "{open:?} have no result before the next answer");
                for block in blocks.iter() {
                    if let Block::ToolCall { call_id, .. } = block {
                        ensure!(ids.insert(call_id.as_str()), "T5", "two calls have the id {call_id:?}");
                        open.push(call_id);
                    }
                }
            }
            Item::ToolResults { results } => {
                let got: Vec<&str> = results.iter().map(|result| result.call_id.as_str()).collect();
                ensure!(got == open, "T5", "calls {open:?} have the results {got:?}");
                open.clear();
            }
        }
    }
    ensure!(open.is_empty(), "T5", "{open:?} have no result at the end of the transcript");
    Ok(())
}
