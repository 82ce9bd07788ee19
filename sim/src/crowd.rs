//! A day of many agents with many children: each is asked once to delegate, and its children do what they are told, or
//! delegate it once more, half of them in worktrees. Some are stopped in the middle of it, whoever is idle may leave memory,
//! and the process dies in the middle of families.

use holon_facts::provenance::Priority;
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
/// So many seconds after a family has begun the process dies in it, of another family each time.
pub const DEATHS: [u32; 9] = [6, 7, 8, 9, 10, 11, 13, 16, 19];
/// How often an idle agent leaves memory after a step, in a thousand.
const PARKS: u32 = 100;

/// So many named agents with so many children each, which have as many of their own where the depth is 2.
pub fn day(agents: u32, children: u32, depth: u32) -> Scenario {
    let mut inputs = Vec::new();
    for agent in 1..=agents {
        let at = begins(agents, agent);
        inputs.push(Timed { at: u64::from(agent), agent, action: Action::Create { settings: false } });
        inputs.push(Timed { at: SECOND + at, agent, action: Action::Message(asked()) });
        if agent % STOPPED == 0 {
            inputs.push(Timed { at: 12 * SECOND + at, agent, action: Action::Stop });
            inputs.push(Timed { at: HOUR + at, agent, action: Action::Start });
        }
    }
    let deaths = (1..).zip(DEATHS).map(|(number, seconds)| {
        let family = 1 + agents * number / (1 + u32::try_from(DEATHS.len()).unwrap_or(0));
        let at = begins(agents, family.min(agents)) + u64::from(seconds) * SECOND;
        Timed { at, agent: 0, action: Action::Kill { again: 0 } }
    });
    inputs.extend(deaths);
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
        faults: Faults { parks: PARKS, ..Faults::default() },
        script: Vec::new(),
        story: story(children, depth),
        budget: u64::from(agents) * u64::from(children + 1).pow(depth) * 200,
    }
}

/// When the family of an agent begins.
fn begins(agents: u32, agent: u32) -> u64 {
    DAY / u64::from(agents) * u64::from(agent - 1)
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
        images: 0,
        skills: 0,
        names: None,
    }
}

fn story(children: u32, depth: u32) -> Story {
    let spawn = |what: &'static str| {
        let one = move |number: u32| {
            let mode = if number.is_multiple_of(2) { "worktree" } else { "inherit" };
            let asked = json!({ "initial_message": format!("{what} {number}"), "workspace_mode": mode });
            ("SpawnAgent".to_owned(), asked)
        };
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
