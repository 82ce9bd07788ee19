//! A conversation that closes episodes between turns and in the middle of one, as a host has written it, and ways to break
//! the laws about it.

use alloc::vec::Vec;

use holon_facts::call::ToolName;
use holon_facts::config::{Config, ContextLimits};
use holon_facts::episode::{EpisodeBoundary, EventSpan, TurnSpan};
use holon_facts::event::operation::{OperationFact, OperationOpened};
use holon_facts::event::turn::{ToolStarted, TurnStarted};
use holon_facts::event::{EpisodeClosed, EpisodeFact, Event, TurnFact};
use holon_facts::ids::{EpisodeId, EventSeq, RunId, TurnIndex};
use holon_facts::model::FailureKind;
use holon_facts::request::{PrefixBreak, PrefixHash, Ratio, RequestRecord};
use holon_facts::time::Millis;

use super::sabotage::{Case, Script};
use crate::testing::{World, answers, calls, config, context, fails, prompt, tool_answers};

fn case(law: &'static str, what: &'static str, sabotage: impl FnOnce(&mut Script)) -> Case {
    Case::of(law, what, Script::of(life()), sabotage)
}

pub(super) fn cases() -> Vec<Case> {
    alloc::vec![
        asked("M4", "the first request goes on with another", 0, |request| request.broke = None),
        asked("M4", "less is shared than there is", 2, |request| request.shared_bytes -= 1),
        asked("M4", "what goes on is on record as another conversation", 2, |request| {
            request.broke = Some(PrefixBreak::Conversation);
        }),
        asked("M4", "the policy is another one in the middle of a run", 4, |request| {
            let PrefixHash(hash) = request.layers.surface.fingerprint;
            request.layers.surface.fingerprint = PrefixHash(hash ^ 1);
            (request.broke, request.shared_bytes) = (Some(PrefixBreak::Surface), 0);
        }),
        asked("M4", "the head is another one and no episode has closed", 4, |request| {
            let PrefixHash(hash) = request.layers.head.fingerprint;
            request.layers.head.fingerprint = PrefixHash(hash ^ 1);
            (request.broke, request.shared_bytes) = (Some(PrefixBreak::Head), request.layers.standing.bytes);
        }),
        asked("M12", "a request is longer than fits", 1, |request| request.size.limit /= 100),
        asked("M12", "a request is taken for shorter than counted", 0, |request| {
            request.size.ratio = Ratio(100);
        }),
        case("M5", "another model is asked in the same episode", |s| {
            let mut fact = started(s, 2);
            fact.models.reverse();
            s.replace("turn_started", 2, fact);
        }),
        case("M5", "other tools are offered in the same episode", |s| {
            let tools_offered = Some([ToolName::new("Levitate")].into());
            let fact = TurnStarted { tools_offered, ..started(s, 2) };
            s.replace("turn_started", 2, fact);
        }),
        case("T13", "a tool is executed that is not offered", |s| {
            let Event::Turn(TurnFact::ToolStarted(fact)) = s.event("tool_started", 0) else { panic!() };
            let fact = ToolStarted { tool: ToolName::new("Levitate"), ..(**fact).clone() };
            s.replace("tool_started", 0, fact);
        }),
        case("T13", "what a run executes is offered no more", |s| {
            let tools_offered = Some([ToolName::new("ApplyPatch")].into());
            let fact = TurnStarted { tools_offered, ..started(s, 3) };
            s.replace("turn_started", 3, fact);
        }),
        closed("M7", "a number is left out", 0, |fact| fact.episode_id = EpisodeId(2)),
        closed("M7", "a turn is left out", 0, |fact| fact.turns = None),
        closed("M7", "a turn of the next one is taken", 1, |fact| {
            fact.turns = Some(TurnSpan { first: TurnIndex(2), last: TurnIndex(4) });
        }),
        closed("M7", "records are left out", 1, |fact| {
            fact.events = EventSpan { first: EventSeq(1), ..fact.events };
        }),
        closed("M7", "it closes in no turn for the size of a request", 0, |fact| {
            fact.boundary = EpisodeBoundary::Size;
        }),
        closed("M7", "it closes for a rest in the middle of a turn", 1, |fact| {
            fact.boundary = EpisodeBoundary::Rest;
        }),
        closed("M7", "it closes in the middle of another turn", 1, |fact| fact.run_id = Some(RunId(9))),
        closed("M7", "an operator closes it in a turn and did not ask for that", 1, |fact| {
            fact.boundary = EpisodeBoundary::Operator;
        }),
        case("M7", "it closes twice", |s| {
            let fact = EpisodeClosed { episode_id: EpisodeId(2), ..fact(s, 0) };
            s.after("episode_closed", 0, fact);
        }),
        closed("T8", "the newest rounds are hidden", 1, |fact| fact.hidden_rounds = 2),
    ]
}

/// The case in which one of the requests is another one.
fn asked(
    law: &'static str,
    what: &'static str,
    nth: usize,
    sabotage: impl FnOnce(&mut RequestRecord),
) -> Case {
    case(law, what, |s| {
        let opened = (0..).map(|at| (at, opened(s, at))).filter(|(_, fact)| fact.request.is_some()).nth(nth);
        let Some((at, mut fact)) = opened else { panic!() };
        if let Some(request) = &mut fact.request {
            sabotage(request);
        }
        s.replace("operation_opened", at, fact);
    })
}

fn opened(script: &Script, nth: usize) -> OperationOpened {
    let Event::Operation(OperationFact::OperationOpened(fact)) = script.event("operation_opened", nth) else {
        panic!()
    };
    (**fact).clone()
}

/// The case in which one of the two closes is another one.
fn closed(
    law: &'static str,
    what: &'static str,
    nth: usize,
    sabotage: impl FnOnce(&mut EpisodeClosed),
) -> Case {
    case(law, what, |s| {
        let mut fact = fact(s, nth);
        sabotage(&mut fact);
        s.replace("episode_closed", nth, fact);
    })
}

fn fact(script: &Script, nth: usize) -> EpisodeClosed {
    let Event::Episode(EpisodeFact::EpisodeClosed(fact)) = script.event("episode_closed", nth) else {
        panic!()
    };
    (**fact).clone()
}

fn started(script: &Script, nth: usize) -> TurnStarted {
    let Event::Turn(TurnFact::TurnStarted(fact)) = script.event("turn_started", nth) else { panic!() };
    (**fact).clone()
}

/// A turn, a rest, two turns, and one whose second request is refused as too long.
fn life() -> Vec<holon_facts::Record> {
    let context_limits = ContextLimits { episode_idle: Millis::minutes(30), ..config().context };
    let mut world = World::with_config("main", Config { context: context_limits, ..config() });
    for rests in [Millis(0), Millis::hours(2), Millis::minutes(1)] {
        world.pass(rests);
        world.admit("main", prompt("go"));
        world.complete("main", context());
        world.complete("main", answers("done"));
    }
    world.admit("main", prompt("go on"));
    world.complete("main", context());
    for _ in 0..2 {
        world.complete("main", calls(&[("", "ExecCommand", r#"{"cmd":"ls"}"#)]));
        world.complete("main", tool_answers("a b"));
    }
    world.complete("main", fails(FailureKind::ContextLength));
    world.complete("main", answers("done"));
    world.log
}
