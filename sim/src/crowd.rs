//! A day of many agents with many children: each is asked once to delegate, and its children do what they are told, or
//! delegate it once more. Some are stopped in the middle of it, and the process dies three times.

use holon_core::message::Priority;
use serde_json::json;

use crate::fault::Faults;
use crate::form;
use crate::scenario::{Action, Message, Scenario, Sender, Timed, VERSION};
use crate::story::{Chapter, Command, Round, Story};

const SECOND: u64 = 1_000_000;
const HOUR: u64 = 3_600 * SECOND;
const DAY: u64 = 24 * HOUR;
/// One in so many is stopped soon after it has delegated, and started later.
const STOPPED: u32 = 10;

/// So many named agents with so many children each, which have as many of their own where the depth is 2.
pub fn day(agents: u32, children: u32, depth: u32) -> Scenario {
    let mut inputs = Vec::new();
    for agent in 1..=agents {
        let at = DAY / u64::from(agents) * u64::from(agent - 1);
        inputs.push(Timed { at: u64::from(agent), agent, action: Action::Create });
        inputs.push(Timed { at: SECOND + at, agent, action: Action::Message(asked()) });
        if agent % STOPPED == 0 {
            inputs.push(Timed { at: 12 * SECOND + at, agent, action: Action::Stop });
            inputs.push(Timed { at: HOUR + at, agent, action: Action::Start });
        }
    }
    let dies =
        |hour: u64| Timed { at: hour * HOUR + 10 * SECOND, agent: 0, action: Action::Kill { again: 0 } };
    inputs.extend([6, 12, 18].map(dies));
    inputs.sort_by_key(|timed| timed.at);
    let mut config = form::plain();
    config.children.per_agent = u64::from(children).max(config.children.per_agent);
    Scenario {
        version: VERSION,
        about: format!("A day of {agents} agents with {children} children each, {depth} deep."),
        seed: 1,
        config,
        later: Vec::new(),
        began: None,
        rings: Vec::new(),
        agents,
        inputs,
        faults: Faults::default(),
        script: Vec::new(),
        story: story(children, depth),
        budget: u64::from(agents) * u64::from(children + 1).pow(depth) * 200,
    }
}

fn asked() -> Message {
    let text = Some("delegate it".to_owned());
    Message {
        sender: Sender::Operator,
        priority: Priority::Normal,
        bytes: 0,
        key: None,
        payload: 0,
        text,
        refs: 0,
    }
}

fn story(children: u32, depth: u32) -> Story {
    let spawn = |what: &'static str| {
        let one =
            move |number| ("SpawnAgent".to_owned(), json!({ "initial_message": format!("{what} {number}") }));
        (0..children).map(one).collect::<Vec<_>>()
    };
    let make = ("ExecCommand".to_owned(), json!({ "cmd": "make" }));
    let says = |text: &str| Round { text: text.to_owned(), tokens: 1_000, ..Round::default() };
    let calls = |calls| Round { calls, ..says("") };
    let chapter = |when: &str, rounds| Chapter { when: vec![when.to_owned()], rounds };
    Story {
        chapters: vec![
            chapter(
                "delegate",
                vec![calls(spawn(if depth > 1 { "branch" } else { "leaf" })), says("delegated")],
            ),
            chapter("branch", vec![calls(spawn("leaf")), says("branched")]),
            chapter("leaf", vec![calls(vec![make]), says("built")]),
            chapter("task_result", vec![says("noted")]),
        ],
        commands: vec![Command { cmd: "make".to_owned(), seconds: 5, exits: vec![0] }],
    }
}
