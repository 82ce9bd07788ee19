//! The search: breadth first while the states that wait fit into memory, depth first beyond that.

use std::collections::VecDeque;

use super::digest::digest;
use super::state::{Setting, State};
use super::{Move, SmallWorld, quiet};
use crate::cluster::rules::Sabotage;
use crate::explore::table::Table;
use crate::failure::{Failure, Kind};
use crate::verdict::caught;

/// States that may wait; each takes some five thousand bytes.
const WAITING: usize = 50_000;
/// One in so many states is driven until a single process serves, which takes as long as a hundred moves.
const QUIET: u128 = 16;

/// How far a search goes.
pub struct Options<'a> {
    pub states: usize,
    /// Asked now and then, with the states so far; false ends the search as a full number of states does.
    pub goes_on: &'a dyn Fn(usize) -> bool,
    pub sabotage: Option<Sabotage>,
}

/// The result of a search.
#[derive(Debug, Clone)]
pub struct Report {
    pub world: SmallWorld,
    pub states: usize,
    pub transitions: u64,
    pub depth: u32,
    /// States that were driven until one process serves, counted per process.
    pub quiet: u64,
    /// Every state within the bounds was visited.
    pub finished: bool,
    pub found: Option<Found>,
}

/// A law that a path breaks.
#[derive(Debug, Clone)]
pub struct Found {
    pub failure: Failure,
    pub path: Vec<Move>,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    parent: u32,
    depth: u32,
    by: Move,
}

struct Search<'a> {
    setting: Setting,
    options: &'a Options<'a>,
    nodes: Vec<Node>,
    table: Table,
    waiting: VecDeque<(u32, State)>,
    transitions: u64,
    quiet: u64,
}

/// Visits every state of a world, as far as the options allow.
pub fn explore(world: &SmallWorld, options: &Options<'_>) -> Report {
    let mut search = Search {
        setting: Setting { world: *world, sabotage: options.sabotage },
        options,
        nodes: Vec::new(),
        table: Table::new(),
        waiting: VecDeque::new(),
        transitions: 0,
        quiet: 0,
    };
    let ended = search.visit_all();
    Report {
        world: *world,
        states: search.nodes.len(),
        transitions: search.transitions,
        depth: search.nodes.iter().map(|node| node.depth).max().unwrap_or(0),
        quiet: search.quiet,
        finished: ended.as_ref().is_ok_and(|finished| *finished),
        found: ended.err().map(|found| *found),
    }
}

/// The state in which a search begins.
fn first(setting: Setting) -> Result<State, Failure> {
    let mut state = State::new(setting)?;
    if setting.world.begins_served() {
        quiet::drive(&mut state, setting, 0)?;
        quiet::drive(&mut state, setting, 1)?;
    }
    Ok(state)
}

impl Search<'_> {
    /// Visits the states; returns whether all were visited.
    fn visit_all(&mut self) -> Result<bool, Box<Found>> {
        let first = first(self.setting).map_err(|failure| Box::new(Found { failure, path: Vec::new() }))?;
        self.nodes.push(Node { parent: 0, depth: 0, by: Move::Start });
        self.table.file(digest(&first), 0);
        self.waiting.push_back((0, first));
        let mut visited = 0_u64;
        while let Some((number, state)) = self.next() {
            let asks = visited.is_multiple_of(256);
            if self.nodes.len() >= self.options.states || (asks && !(self.options.goes_on)(self.nodes.len()))
            {
                return Ok(false);
            }
            visited += 1;
            for step in state.moves(self.setting) {
                self.make(number, &state, step)?;
            }
        }
        Ok(true)
    }

    fn next(&mut self) -> Option<(u32, State)> {
        if self.waiting.len() > WAITING { self.waiting.pop_back() } else { self.waiting.pop_front() }
    }

    fn make(&mut self, number: u32, state: &State, step: Move) -> Result<(), Box<Found>> {
        self.transitions += 1;
        let setting = self.setting;
        let mut next = state.clone();
        let made = caught(|| next.act(setting, step)).and_then(|made| made);
        made.map_err(|failure| self.found(failure, number, Some(step)))?;
        let (hash, fresh) = (digest(&next), u32::try_from(self.nodes.len()).unwrap_or(u32::MAX));
        if self.table.file(hash, fresh) != fresh {
            return Ok(());
        }
        let depth = self.nodes[number as usize].depth + 1;
        self.nodes.push(Node { parent: number, depth, by: step });
        if hash % QUIET == 0 {
            for of in [0, 1] {
                self.quiet += 1;
                let led = caught(|| quiet::serves(&next, setting, of)).and_then(|led| led);
                led.map_err(|failure| self.found(failure, fresh, None))?;
            }
        }
        self.waiting.push_back((fresh, next));
        Ok(())
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
    /// The exit code of the search: that of its failure, or of a budget that ran out.
    pub fn exit_code(&self) -> u8 {
        match &self.found {
            Some(found) => found.failure.kind.exit_code(),
            None if self.finished => 0,
            None => Kind::Budget.exit_code(),
        }
    }

    /// Two lines for a person.
    pub fn lines(&self, micros: u64) -> String {
        let Self { world, states, transitions, depth, quiet, finished, .. } = self;
        let seconds = micros as f64 / 1e6;
        let all = if *finished { "all" } else { "bounded" };
        format!(
            "{:<10} {states:>9} states ({all}), {transitions:>9} transitions, depth {depth:>3}, {quiet:>7} led on by one node, \
             {seconds:.1} s, {:.0} states/s\n{:<10} {}",
            world.name,
            *states as f64 / seconds.max(1e-6),
            "",
            world.bounds_text(),
        )
    }
}
