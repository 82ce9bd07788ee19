//! Faults that come together, as in practice: every agent is stopped in turn, all providers are overloaded at once, the
//! process dies again and again, the clock goes forward and back around a crash.

use holon_facts::provenance::Priority;
use holon_facts::timer::Misfire;

use super::Draw;
use crate::fault::{Faults, Ill, Spell};
use crate::scenario::{Action, Message, Sender, Timed};

/// A gap between two things that follow each other.
const GAP: u64 = 700_000;

pub(super) fn add(draw: &mut Draw, agents: u32, span: u32, inputs: &mut Vec<Timed>, faults: &mut Faults) {
    (draw.agent, draw.ordinal) = (0, 0);
    let at = 2_000 + u64::from(draw.below("pattern at", span));
    let everybody = |action: Action| move |agent| Timed { at, agent, action: action.clone() };
    match draw.below("pattern", 16) {
        0 => {
            let stops = (1..=agents).map(|agent| (u64::from(agent) * GAP, agent, Action::Stop));
            inputs.extend(stops.map(|(after, agent, action)| Timed { at: at + after, agent, action }));
            for agent in 1..=agents {
                draw.agent = agent;
                let after = u64::from(agents + 1) * GAP + u64::from(draw.below("started again", 3_000_000));
                inputs.push(Timed { at: at + after, agent, action: Action::Start });
            }
        }
        1 => {
            faults.spells.push(Spell { from: at, until: at + 20_000_000, what: Ill::Limited });
            inputs.extend((1..=agents).map(everybody(Action::Message(prompt()))));
        }
        2 => inputs.push(Timed { at, agent: 0, action: Action::Kill { again: 3 } }),
        3 => {
            let jump = draw.of("sandwich", &[2_000_000, 7_200_000_000, 31_536_000_000_000]);
            let layers = [
                Action::ClockJump { micros: jump },
                Action::Kill { again: 0 },
                Action::ClockJump { micros: -jump },
            ];
            let at_a_time = (0..).map(|layer| at + layer * GAP);
            inputs.extend(layers.into_iter().zip(at_a_time).map(|(action, at)| Timed {
                at,
                agent: 0,
                action,
            }));
        }
        4 => disk_full(draw, at, agents, inputs, faults),
        5 => {
            faults.spells.push(Spell { from: at, until: at + 10_000_000, what: Ill::Twice });
            inputs.extend((1..=agents).map(everybody(Action::Message(Message { key: Some(9), ..prompt() }))));
        }
        6 => {
            // Start and stop, over and over, at one instant.
            let agent = 1 + draw.below("torn between", agents);
            for number in 0..6 {
                let action = if number % 2 == 0 { Action::Stop } else { Action::Start };
                inputs.push(Timed { at, agent, action });
            }
        }
        7 => flood(draw, at, agents, inputs),
        8 => aborted_trial(draw, at, agents, inputs, faults),
        9 => many_timers(draw, at, agents, inputs),
        _ => {}
    }
}

/// The disk fills up; a client sends a message, and stops an agent or the process.
fn disk_full(draw: &mut Draw, at: u64, agents: u32, inputs: &mut Vec<Timed>, faults: &mut Faults) {
    let lasts = draw.of("full for", &[3_000_000_u64, 60_000_000]);
    faults.spells.push(Spell { from: at, until: at + lasts, what: Ill::DiskFull });
    // Something must be written before the full disk is noticed.
    inputs.push(Timed { at: at + 1_000, agent: 1, action: Action::Message(prompt()) });
    inputs.push(Timed { at: at + GAP, agent: agents, action: Action::Message(prompt()) });
    let last = draw.of("stopped", &[Action::Stop, Action::Stop, Action::Restart]);
    let agent = if last == Action::Restart { 0 } else { 1 };
    inputs.push(Timed { at: at + 2 * GAP, agent, action: last });
}

/// One source sends more than a queue holds.
fn flood(draw: &mut Draw, at: u64, agents: u32, inputs: &mut Vec<Timed>) {
    let agent = 1 + draw.below("flooded", agents);
    let sender = draw.of("flood", &[Sender::Channel, Sender::Webhook, Sender::TaskResult]);
    let message = Message { sender, priority: Priority::Normal, bytes: 100, ..prompt() };
    let drops = (0..60).map(|_| Timed { at, agent, action: Action::Message(message.clone()) });
    inputs.extend(drops);
    inputs.push(Timed { at: at + 1, agent, action: Action::Message(prompt()) });
}

/// Providers are overloaded until agents hold; an operator starts a trial, a message arrives that needs no turn, and
/// the operator takes the trial back.
fn aborted_trial(draw: &mut Draw, at: u64, agents: u32, inputs: &mut Vec<Timed>, faults: &mut Faults) {
    faults.spells.push(Spell { from: at, until: at + 20_000_000, what: Ill::Limited });
    let agent = 1 + draw.below("tried", agents);
    let notice = Message { sender: Sender::BriefAck, priority: Priority::Normal, ..prompt() };
    let trial = 10_000_000;
    inputs.extend([
        Timed { at, agent, action: Action::Message(prompt()) },
        Timed { at: at + trial, agent, action: Action::Message(prompt()) },
        Timed { at: at + trial + 1_000, agent, action: Action::Message(notice) },
        Timed { at: at + trial + 2_000, agent, action: Action::Abort { run: None, stop: false } },
    ]);
}

/// More timers than an agent remembers, or than may be armed.
fn many_timers(draw: &mut Draw, at: u64, agents: u32, inputs: &mut Vec<Timed>) {
    let agent = 1 + draw.below("many timers", agents);
    let (count, seconds) = draw.of("how many", &[(70, 1), (260, 60)]);
    let action =
        Action::CreateTimer { seconds, every: None, misfire: Misfire::Once, summary: 0, keyed: None };
    inputs.extend((0..count).map(|_| Timed { at, agent, action: action.clone() }));
}

pub(super) fn prompt() -> Message {
    Message {
        sender: Sender::Operator,
        priority: Priority::Next,
        bytes: 10,
        key: None,
        payload: 0,
        refs: 0,
        images: 0,
        skills: 0,
        names: None,
        deposit: None,
        text: None,
    }
}
