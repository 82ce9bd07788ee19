//! From a failure to a test: a path as short as possible, as text for a person and as a scenario.

use std::collections::BTreeMap;

use holon_facts::OpId;
use holon_facts::event::operation::OpKind;

use super::command::Working;
use super::search::{Found, MAX_MOVES_TO_REST};
use super::situation::{Setting, Situation};
use super::{Move, Sabotage, SmallWorld};
use crate::failure::{Failure, liveness};
use crate::fault::Faults;
use crate::ingress::Request;
use crate::options::Options;
use crate::scenario::{Action, Scenario, Timed, VERSION};
use crate::script::{Deed, Line};
use crate::story::Story;
use crate::verdict::{caught, guarded};
use crate::world::of_child;

/// Runs that the search for the boundaries of crashes may take.
const RUNS: u64 = 2_000;

/// Makes the moves one after the other, then drains. None when a move is not possible.
pub fn replay(world: &SmallWorld, sabotage: Option<Sabotage>, path: &[Move]) -> Option<Result<(), Failure>> {
    let setting = Setting { world, sabotage };
    let made = caught(|| {
        let mut situation = Situation::new(setting)?;
        for step in path {
            if !situation.moves(setting).contains(step) {
                return Ok(None);
            }
            let before = situation.clone();
            situation.act(setting, *step)?;
            situation.snapshots(&before)?;
        }
        drained(setting, situation).map(Some)
    });
    match made.and_then(|made| made) {
        Ok(Some(())) => Some(Ok(())),
        Ok(None) => None,
        Err(failure) => Some(Err(failure)),
    }
}

fn drained(setting: Setting<'_>, mut situation: Situation) -> Result<(), Failure> {
    for _ in 0..MAX_MOVES_TO_REST {
        let Some(step) = situation.drain() else {
            let rests = situation.rests();
            return if rests { Ok(()) } else { Err(liveness("V10", situation.stuck())) };
        };
        situation.act(setting, step)?;
    }
    Err(liveness("V10", situation.stuck()))
}

/// Removes moves that the failure does not need.
#[must_use]
pub fn shorten(world: &SmallWorld, sabotage: Option<Sabotage>, found: &Found) -> Vec<Move> {
    let fails = |path: &[Move]| match replay(world, sabotage, path) {
        Some(Err(failure)) => failure.law == found.failure.law,
        Some(Ok(())) | None => false,
    };
    let mut best = found.path.clone();
    let mut size = best.len() / 2;
    while size > 0 {
        let mut from = 0;
        while from < best.len() {
            let mut shorter = best.clone();
            shorter.drain(from..(from + size).min(best.len()));
            if fails(&shorter) { best = shorter } else { from += size }
        }
        size /= 2;
    }
    best
}

/// The path as a scenario, where a scenario can express it: not performers that break down, evictions, or outcomes of
/// ended operations; and the disk syncs at once.
pub fn scenario(world: &SmallWorld, path: &[Move]) -> Option<Scenario> {
    let setting = Setting { world, sabotage: None };
    let mut writer = Writer::default();
    let mut situation = Situation::new(setting).ok()?;
    for (at, step) in (1_000..).zip(path) {
        writer.note(world, &situation, *step, situation.at + at)?;
        // Nothing follows a failed law.
        if !situation.moves(setting).contains(step) || situation.act(setting, *step).is_err() {
            break;
        }
        writer.begun(&situation, situation.at + at);
    }
    let agents = u32::from(world.agents);
    let created =
        (1..=agents).map(|agent| Timed { at: 0, agent, action: Action::Create { settings: false } });
    Some(Scenario {
        version: VERSION,
        about: String::new(),
        seed: 1,
        config: world.config.clone(),
        later: Vec::new(),
        story: Story::default(),
        began: None,
        rings: Vec::new(),
        agents,
        inputs: created.chain(writer.inputs).collect(),
        faults: Faults::default(),
        script: writer.script,
        budget: 40_000,
    })
}

/// The scenario with crashes where it fails alike, if there is such a boundary: by the same law, or by one of the same
/// kind, since failures that are V10 in a small world have other laws where time passes.
pub fn with_crashes(scenario: &Scenario, crashes: usize, failure: &Failure) -> Option<Scenario> {
    let mut runs = 0;
    place_crashes(scenario, crashes, 0, failure, &mut runs)
}

fn place_crashes(
    scenario: &Scenario,
    left: usize,
    after: u64,
    like: &Failure,
    runs: &mut u64,
) -> Option<Scenario> {
    *runs += 1;
    let report = guarded(scenario, Options::default());
    if left == 0 {
        let fails =
            report.failure.is_some_and(|failure| failure.law == like.law || failure.kind == like.kind);
        return fails.then(|| scenario.clone());
    }
    (after + 1..=report.boundaries).find_map(|boundary| {
        let mut crashing = scenario.clone();
        crashing.faults.crashes.push(boundary);
        (*runs < RUNS).then(|| place_crashes(&crashing, left - 1, boundary, like, runs)).flatten()
    })
}

/// A scenario under construction.
#[derive(Default)]
struct Writer {
    inputs: Vec<Timed>,
    script: Vec<Line>,
    /// When each agent's performers began their operations.
    begun: BTreeMap<(u8, OpId), Begun>,
    counts: BTreeMap<(u8, &'static str), u64>,
}

struct Begun {
    kind: OpKind,
    nth: u64,
    at: u64,
}

impl Writer {
    /// Adds a move at its moment; none if a scenario can't express it.
    fn note(&mut self, world: &SmallWorld, situation: &Situation, step: Move, at: u64) -> Option<()> {
        match step {
            Move::Ask(offer) => {
                let offer = world.offers.get(usize::from(offer))?;
                let Request { agent, action } =
                    Request { agent: offer.agent.into(), action: offer.action.clone() };
                self.inputs.push(Timed { at, agent, action });
                Some(())
            }
            Move::Start(agent) => {
                self.inputs.push(Timed { at, agent: agent.into(), action: Action::Start });
                Some(())
            }
            Move::Dismiss(agent) => {
                let action = situation.dismissal(agent)?;
                self.inputs.push(Timed { at, agent: agent.into(), action });
                Some(())
            }
            Move::End(agent, position, ending) => {
                let at_work = &situation.outside.at_work;
                let named = at_work.keys().filter(|(of, _)| *of == agent).nth(position.into())?;
                let Begun { kind, nth, at: since } = self.begun.remove(named)?;
                let deed = ending.deed(kind, situation.round(agent))?;
                self.script.push(Line { agent: numbered(situation, agent), nth, after: at - since, deed });
                Some(())
            }
            Move::Finish(agent, position, ending) => {
                let named = (agent, situation.runs_unobserved(agent, position)?);
                let Begun { kind, nth, at: since } = self.begun.remove(&named)?;
                self.script.push(Line {
                    agent: numbered(situation, agent),
                    nth,
                    after: at - since,
                    deed: ending.deed(kind, 0)?,
                });
                Some(())
            }
            // A command that is lost; an end of it would be on record.
            Move::Lose(agent, position) => situation.runs_unobserved(agent, position).map(drop),
            Move::Stray(_) | Move::Park(_) => None,
            Move::Boot => {
                // A supervisor that is probed counts as one that comes up.
                for (agent, _) in situation.agents() {
                    let asked = situation.named(agent).len() as u64;
                    *self.counts.entry((agent, component(OpKind::PrepareCommand))).or_default() += asked;
                }
                Some(())
            }
            Move::Again(_) | Move::Pass | Move::Ring | Move::Sync | Move::Crash(_) | Move::Leave => Some(()),
        }
    }

    /// Notes performers that have begun since the last move, and those that will never answer.
    fn begun(&mut self, situation: &Situation, at: u64) {
        let at_work = &situation.outside.at_work;
        let over = |named: &(u8, OpId), begun: &Begun| {
            let runs = begun.kind == OpKind::RunCommand && situation.runs(named.0, named.1);
            !runs && !at_work.contains_key(named)
        };
        let silent: Vec<(u8, OpId)> =
            self.begun.iter().filter(|(named, begun)| over(named, begun)).map(|(named, _)| *named).collect();
        for named in silent {
            let agent = named.0;
            if let Some(Begun { kind, nth, .. }) = self.begun.remove(&named)
                && let Some(deed) = silence(kind)
            {
                self.script.push(Line { agent: numbered(situation, agent), nth, after: 0, deed });
            }
        }
        for (named, Working { kind, .. }) in at_work {
            if !self.begun.contains_key(named) {
                let count = self.counts.entry((named.0, component(*kind))).or_default();
                *count += 1;
                self.begun.insert(*named, Begun { kind: *kind, nth: *count, at });
            }
        }
    }
}

/// The number of an agent in a scenario, where children are numbered otherwise.
fn numbered(situation: &Situation, agent: u8) -> u32 {
    let child = situation.agent(agent).filter(|agent| agent.spec.supervisor.is_some());
    child.map_or_else(|| agent.into(), |child| of_child(&child.id))
}

fn silence(kind: OpKind) -> Option<Deed> {
    match kind {
        OpKind::LoadContext | OpKind::SuperviseChild | OpKind::FindWorkspace | OpKind::RemoveWorktree => None,
        OpKind::CallModel | OpKind::Summarize => Some(Deed::ProviderSilent),
        OpKind::CallTool | OpKind::RunCommand => Some(Deed::ToolSilent),
        OpKind::PrepareCommand => Some(Deed::PrepareSilent),
        OpKind::PromoteCommand | OpKind::AwaitTask | OpKind::WriteInput => Some(Deed::TaskSilent),
    }
}

/// The component of a scenario that performs an operation.
fn component(kind: OpKind) -> &'static str {
    match kind {
        OpKind::LoadContext => "context",
        OpKind::CallModel | OpKind::Summarize => "provider",
        OpKind::CallTool | OpKind::RunCommand => "tool",
        OpKind::PrepareCommand => "supervisor",
        OpKind::PromoteCommand | OpKind::AwaitTask | OpKind::WriteInput | OpKind::SuperviseChild => "task",
        OpKind::FindWorkspace | OpKind::RemoveWorktree => "workspace",
    }
}
