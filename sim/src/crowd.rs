//! A load scenario: a day of many agents with many children. Each agent is asked once to delegate; its children work,
//! or delegate once more, half of them in worktrees. Some agents are stopped meanwhile, idle agents may be evicted, and
//! the process crashes while subtrees are at work.

use holon_facts::provenance::Priority;
use serde_json::json;

use crate::codec;
use crate::fault::Faults;
use crate::scenario::{Action, Message, Scenario, Sender, Timed, VERSION};
use crate::story::{Chapter, Command, Round, Story};

const SECOND: u64 = 1_000_000;
const HOUR: u64 = 3_600 * SECOND;
const DAY: u64 = 24 * HOUR;
/// One agent in so many is stopped soon after it has delegated, and started later.
const STOPPED: u32 = 10;
/// Seconds from the beginning of a subtree's work to a crash; each crash meets another subtree.
pub const DEATHS: [u32; 9] = [6, 7, 8, 9, 10, 11, 13, 16, 19];
/// How often an idle agent is evicted after a step, in a thousand.
const PARKS: u32 = 100;

/// So many named agents with so many children each, which have as many of their own if the depth is 2.
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
        let subtree = 1 + agents * number / (1 + u32::try_from(DEATHS.len()).unwrap_or(0));
        let at = begins(agents, subtree.min(agents)) + u64::from(seconds) * SECOND;
        Timed { at, agent: 0, action: Action::Kill { again: 0 } }
    });
    inputs.extend(deaths);
    inputs.sort_by_key(|timed| timed.at);
    let mut config = codec::plain();
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

/// When the subtree of an agent begins its work.
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
        deposit: None,
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
    let answer = |text: &str| Round { text: text.to_owned(), tokens: 1_000, ..Round::default() };
    let calls = |calls| Round { calls, ..answer("") };
    let chapter = |when: &str, rounds| Chapter { when: vec![when.to_owned()], rounds };
    Story {
        chapters: vec![
            chapter(
                "delegate",
                vec![calls(spawn(if depth > 1 { "branch" } else { "leaf" })), answer("delegated")],
            ),
            chapter("branch", vec![calls(spawn("leaf")), answer("branched")]),
            chapter("leaf", vec![calls(vec![make]), answer("built")]),
            chapter("task_result", vec![answer("noted")]),
        ],
        commands: vec![Command { cmd: "make".to_owned(), seconds: 5, exits: vec![0] }],
    }
}
