//! What operators do now and then: they archive, rename and describe agents, close asks, log in anew, and send keys with
//! requests that make something.

use super::Draw;
use crate::scenario::{Action, Keyed, Timed};

/// These draws are of no agent's site.
const SITE: u32 = 5;

pub(super) fn add(draw: &mut Draw, agents: u32, span: u32, inputs: &mut Vec<Timed>) {
    (draw.agent, draw.ordinal) = (SITE, 0);
    keys(draw, inputs);
    deposits(draw, inputs);
    labels(draw, agents, span, inputs);
    closed_asks(draw, agents, span, inputs);
    logins(draw, span, inputs);
    freezes(draw, span, inputs);
    (draw.agent, draw.ordinal) = (0, 0);
}

/// In some worlds requests that make something have keys, of which few are different.
fn keys(draw: &mut Draw, inputs: &mut [Timed]) {
    if draw.below("keys of requests", 3) > 0 {
        return;
    }
    for (ordinal, input) in (1..).zip(inputs) {
        draw.ordinal = ordinal;
        if let Action::RunTask { keyed, .. }
        | Action::CreateTimer { keyed, .. }
        | Action::CreateWork { keyed } = &mut input.action
        {
            let key = draw.of("request key", &[None, Some(1), Some(2), Some(3)]);
            let payload = draw.of("request payload", &[0, 0, 0, 1]);
            *keyed = key.map(|key| Keyed { key, payload });
        }
    }
}

/// In some worlds messages were kept while nobody owned their agents. Each is sent once: the cluster marks it with the
/// batch that takes it.
fn deposits(draw: &mut Draw, inputs: &mut [Timed]) {
    draw.ordinal = 0;
    if draw.below("deposits", 6) > 0 {
        return;
    }
    for (ordinal, input) in (1..).zip(inputs) {
        draw.ordinal = ordinal;
        if let Action::Message(message) = &mut input.action
            && message.key.is_none()
            && draw.below("deposited", 2) == 0
        {
            message.deposit = Some(ordinal);
        }
    }
}

/// In some worlds operators name and list agents otherwise; some names are those of other agents.
fn labels(draw: &mut Draw, agents: u32, span: u32, inputs: &mut Vec<Timed>) {
    draw.ordinal = 0;
    for nth in 0..draw.of("labels", &[0, 0, 0, 0, 6]) {
        draw.ordinal = nth;
        let agent = draw.below("whose label", agents) + 1;
        let action = match draw.below("which label", 4) {
            0 => Action::Archive,
            1 => Action::Describe,
            _ => Action::Rename { name: 1 + draw.below("second name", 6) },
        };
        let at = 1_000 + u64::from(draw.below("labelled", span));
        inputs.push(Timed { at, agent, action });
    }
}

/// In some worlds operators close what agents have asked, or what they take for it.
fn closed_asks(draw: &mut Draw, agents: u32, span: u32, inputs: &mut Vec<Timed>) {
    draw.ordinal = 0;
    for nth in 0..draw.of("closed asks", &[0, 0, 0, 0, 0, 8]) {
        draw.ordinal = nth;
        let agent = draw.below("whose ask", agents) + 1;
        let brief = 1 + u64::from(draw.below("which ask", 8));
        let at = 1_000 + u64::from(draw.below("ask closed", span));
        inputs.push(Timed { at, agent, action: Action::CloseAsk { brief } });
    }
}

/// In some worlds somebody logs in anew at providers.
fn logins(draw: &mut Draw, span: u32, inputs: &mut Vec<Timed>) {
    draw.ordinal = 0;
    for nth in 0..draw.of("logins", &[0, 0, 0, 0, 0, 6]) {
        draw.ordinal = nth;
        let provider = draw.below("which provider", 3);
        let at = 1_000 + u64::from(draw.below("logged in", span));
        inputs.push(Timed { at, agent: 0, action: Action::Login { provider } });
    }
}

/// In some worlds the process is halted, and goes on as if no time had passed.
fn freezes(draw: &mut Draw, span: u32, inputs: &mut Vec<Timed>) {
    draw.ordinal = 0;
    for nth in 0..draw.of("freezes", &[0, 0, 0, 0, 0, 2]) {
        draw.ordinal = nth;
        let micros = draw.of("halted for", &[30_000, 3_000_000, 90_000_000, 2_000_000_000]);
        let at = 1_000 + u64::from(draw.below("frozen", span));
        inputs.push(Timed { at, agent: 0, action: Action::Freeze { micros } });
    }
}
