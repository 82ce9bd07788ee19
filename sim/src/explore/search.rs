//! The search: breadth first, so that a failure is found on a shortest path, as long as the situations that wait fit
//! into memory; depth first beyond that. A state is kept as its number and the move that led there.

use std::collections::VecDeque;

use super::drain::{self, RESTS, UNKNOWN};
use super::situation::{Setting, Situation};
use super::table::Table;
use super::{Move, Sabotage, SmallWorld};
use crate::failure::{Failure, Kind, liveness};
use crate::verdict::caught;

/// Situations that may wait; each takes some fifty thousand bytes.
const WAITING: usize = 8_000;
/// A state that takes more moves than this to come to rest breaks V10.
pub const MAX_MOVES_TO_REST: u32 = 200;

/// How far a search goes.
pub struct Options<'a> {
    /// States after which the search only leads each known state to rest.
    pub states: usize,
    /// Asked now and then, with the states so far; false ends the search as a full number of states does.
    pub patient: &'a dyn Fn(usize) -> bool,
    pub sabotage: Option<Sabotage>,
}

/// The result of a search.
#[derive(Debug, Clone)]
pub struct Report {
    pub world: &'static str,
    pub states: usize,
    pub transitions: u64,
    /// Moves to the farthest state.
    pub depth: u32,
    /// States in which everything has come to rest.
    pub resting: usize,
    /// Every state within the bounds was visited.
    pub finished: bool,
    /// The most moves from any state to rest.
    pub drained_within: Option<u32>,
    pub found: Option<Found>,
}

/// A law that a path breaks.
#[derive(Debug, Clone)]
pub struct Found {
    pub failure: Failure,
    pub path: Vec<Move>,
}

/// A state that was reached.
#[derive(Debug, Clone, Copy)]
struct Node {
    parent: u32,
    depth: u32,
    by: Move,
    /// The state that follows when nothing goes wrong.
    drain: u32,
}

struct Search<'a> {
    setting: Setting<'a>,
    nodes: Vec<Node>,
    table: Table,
    waiting: VecDeque<(u32, Situation)>,
    transitions: u64,
}

/// Visits every state of a world, as far as the options allow.
pub fn explore(world: &SmallWorld, options: &Options<'_>) -> Report {
    let setting = Setting { world, sabotage: options.sabotage };
    let (nodes, waiting) = (Vec::new(), VecDeque::new());
    let mut search = Search { setting, nodes, table: Table::new(), waiting, transitions: 0 };
    let ended = search.visit_all(options).and_then(|finished| Ok((finished, search.prove()?)));
    Report {
        world: world.name,
        states: search.nodes.len(),
        transitions: search.transitions,
        depth: search.nodes.iter().map(|node| node.depth).max().unwrap_or(0),
        resting: search.nodes.iter().filter(|node| node.drain == RESTS).count(),
        finished: ended.as_ref().is_ok_and(|(finished, _)| *finished),
        drained_within: ended.as_ref().ok().map(|(_, moves)| *moves),
        found: ended.err().map(|found| *found),
    }
}

impl Search<'_> {
    /// Returns whether every state was visited.
    fn visit_all(&mut self, options: &Options<'_>) -> Result<bool, Box<Found>> {
        let root = caught(|| Situation::new(self.setting)).and_then(|made| made);
        let root = root.map_err(|failure| Box::new(Found { failure, path: Vec::new() }))?;
        self.nodes.push(Node { parent: 0, depth: 0, by: Move::Boot, drain: UNKNOWN });
        self.table.file(root.number(), 0);
        self.waiting.push_back((0, root));
        let mut visited = 0_u64;
        while let Some((number, situation)) = self.next() {
            let tired = visited.is_multiple_of(64) && !(options.patient)(self.nodes.len());
            if tired || self.nodes.len() >= options.states {
                self.waiting.push_back((number, situation));
                self.lead_on()?;
                return Ok(false);
            }
            visited += 1;
            self.visit(number, &situation)?;
        }
        Ok(true)
    }

    fn next(&mut self) -> Option<(u32, Situation)> {
        if self.waiting.len() > WAITING { self.waiting.pop_back() } else { self.waiting.pop_front() }
    }

    /// Makes every possible move of a state.
    fn visit(&mut self, number: u32, situation: &Situation) -> Result<(), Box<Found>> {
        let drain = situation.drain();
        if drain.is_none() {
            self.at_the_end(number, situation)?;
        }
        for step in situation.moves(self.setting) {
            let (next, new) = self.make(number, situation, step)?;
            if drain == Some(step) {
                self.leads(number, next)?;
            }
            self.waiting.extend(new.map(|situation| (next, situation)));
        }
        Ok(())
    }

    /// Leads the waiting states to rest, by one move each.
    fn lead_on(&mut self) -> Result<(), Box<Found>> {
        while let Some((number, situation)) = self.waiting.pop_front() {
            self.lead_one(number, situation)?;
        }
        Ok(())
    }

    fn lead_one(&mut self, mut number: u32, mut situation: Situation) -> Result<(), Box<Found>> {
        for _ in 0..MAX_MOVES_TO_REST {
            if self.nodes[number as usize].drain != UNKNOWN {
                return Ok(());
            }
            let Some(step) = situation.drain() else { return self.at_the_end(number, &situation) };
            let (next, new) = self.make(number, &situation, step)?;
            self.leads(number, next)?;
            let Some(new) = new else { return Ok(()) };
            (number, situation) = (next, new);
        }
        let failure = liveness("V10", format!("not at rest after {MAX_MOVES_TO_REST} moves"));
        Err(self.found(failure, number, None))
    }

    /// Notes that a state leads to another by itself. A cycle never rests.
    fn leads(&mut self, number: u32, next: u32) -> Result<(), Box<Found>> {
        self.nodes[number as usize].drain = next;
        let mut at = next;
        while at < UNKNOWN {
            if at == number {
                return Err(self.circle(number));
            }
            at = self.nodes[at as usize].drain;
        }
        Ok(())
    }

    fn circle(&self, number: u32) -> Box<Found> {
        self.found(liveness("V10", "what happens next goes round in circles"), number, None)
    }

    /// Makes one move; returns the next state, and its situation if it is new.
    fn make(
        &mut self,
        number: u32,
        situation: &Situation,
        step: Move,
    ) -> Result<(u32, Option<Situation>), Box<Found>> {
        self.transitions += 1;
        let setting = self.setting;
        let made = caught(|| {
            let mut next = situation.clone();
            next.act(setting, step)?;
            Ok((next.number(), next))
        });
        let (hash, next) =
            made.and_then(|made| made).map_err(|failure| self.found(failure, number, Some(step)))?;
        let fresh = u32::try_from(self.nodes.len()).unwrap_or(UNKNOWN);
        let known = self.table.file(hash, fresh);
        if known != fresh {
            return Ok((known, None));
        }
        let depth = self.nodes[number as usize].depth + 1;
        self.nodes.push(Node { parent: number, depth, by: step, drain: UNKNOWN });
        next.snapshots(situation).map_err(|failure| self.found(failure, fresh, None))?;
        Ok((fresh, Some(next)))
    }

    /// Nothing follows by itself: everything must be at rest.
    fn at_the_end(&mut self, number: u32, situation: &Situation) -> Result<(), Box<Found>> {
        if !situation.rests() {
            return Err(self.found(liveness("V10", situation.stuck()), number, None));
        }
        self.nodes[number as usize].drain = RESTS;
        Ok(())
    }

    /// V10: every state leads to rest, within the bound.
    fn prove(&self) -> Result<u32, Box<Found>> {
        let next: Vec<u32> = self.nodes.iter().map(|node| node.drain).collect();
        match drain::longest(&next) {
            Ok(moves) if moves <= MAX_MOVES_TO_REST => Ok(moves),
            Ok(moves) => {
                let failure = liveness("V10", format!("some state takes {moves} moves to come to rest"));
                Err(self.found(failure, 0, None))
            }
            Err(state) => Err(self.circle(state)),
        }
    }

    fn found(&self, failure: Failure, number: u32, step: Option<Move>) -> Box<Found> {
        let mut path: Vec<Move> = step.into_iter().collect();
        let mut at = number as usize;
        while at != 0 {
            path.push(self.nodes[at].by);
            at = self.nodes[at].parent as usize;
        }
        path.reverse();
        Box::new(Found { failure, path })
    }
}

impl Report {
    /// The exit code of the search: that of its failure, or of a budget that ran out while states waited.
    pub fn exit_code(&self) -> u8 {
        match &self.found {
            Some(found) => found.failure.kind.exit_code(),
            None if self.finished => 0,
            None => Kind::Budget.exit_code(),
        }
    }
}
