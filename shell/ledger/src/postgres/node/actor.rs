//! The actor of a node: the thread that owns its [`Ownership`]. It executes nothing: statements run on connections, one of
//! them for the lease alone, and the writer of each cell appends its own batches.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use holon_cluster::{
    Answer, Ask, AskId, CellId, Claimed, Dropped, Epoch, Input, Mono, NodeId, Ownership, Slot, Standing,
    Statement, Stopped,
};
use holon_facts::{Millis, Wall};
use holon_platform::clock;
use tokio::sync::{mpsc, watch};

use super::claimed_writer::Order;
use super::lot::Lot;
use super::statement::Aside;
use super::tally::Tally;
use crate::permit::{Permit, Until};
use crate::sql::postgres::Server;

/// Orders that wait for the writer of a cell, which has one batch at a time.
const ORDERS: usize = 64;
/// The longest sleep.
const LONGEST: Duration = Duration::from_secs(3_600);

/// What the actor receives.
#[derive(Debug)]
pub(super) enum Note {
    Input(Input),
    /// What a statement has read besides its answer.
    Aside(Aside),
    /// Why a lease can't be kept; none: it can.
    Problem(Option<String>),
}

/// What whoever hosts cells is told, in order.
#[derive(Debug)]
pub enum Event {
    /// Load the cell, and make it ready.
    TakeOver(Lot),
    /// Its first batch is durable: take requests.
    Serve { cell: CellId, epoch: Epoch },
    /// Give the last batch, then [`super::Node::drained`].
    Drain { cell: CellId, epoch: Epoch },
    /// End its runtime without another batch: nothing of it counts any more.
    Drop { cell: CellId, epoch: Epoch, why: Dropped },
    /// The same, and the cell stays where it is until an operator accepts what happened.
    Stop { cell: CellId, epoch: Epoch, why: Stopped },
    /// The node has left: its process may end.
    Ended,
}

/// Who owns which cell, as of the last look, and where that node is reached.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Routes {
    /// This node.
    pub own: Option<NodeId>,
    /// The others, by the cell that they own.
    pub owners: BTreeMap<CellId, (NodeId, String)>,
    /// Cells for which requests wait that came while nobody owned them.
    pub deposits: BTreeSet<CellId>,
    /// Cells whose row names why they are stopped.
    pub named: BTreeSet<CellId>,
    /// What the owners of cells have to have.
    pub labels: BTreeMap<CellId, String>,
    /// Why the database does not answer.
    pub problem: Option<String>,
}

/// One hosted cell.
struct Host {
    epoch: Epoch,
    orders: SyncSender<Order>,
    over: Arc<AtomicBool>,
}

pub(super) struct Actor {
    pub(super) machine: Ownership,
    pub(super) server: Server,
    /// Names of files of this machine that say what was acknowledged last.
    pub(super) heads: PathBuf,
    pub(super) append_within: Millis,
    pub(super) notes: Sender<Note>,
    pub(super) lease: SyncSender<(AskId, Statement)>,
    pub(super) others: SyncSender<(AskId, Statement)>,
    pub(super) settles: SyncSender<(AskId, Statement)>,
    pub(super) events: mpsc::Sender<Event>,
    pub(super) until: watch::Sender<Until>,
    pub(super) routes: watch::Sender<Routes>,
    pub(super) tally: Arc<Tally>,
    pub(super) state: State,
}

#[derive(Default)]
pub(super) struct State {
    hosts: BTreeMap<CellId, Host>,
    urls: BTreeMap<NodeId, String>,
    /// Epochs whose loss an operator accepts.
    accepted: BTreeMap<CellId, Epoch>,
    deposits: BTreeSet<CellId>,
    named: BTreeSet<CellId>,
    labels: BTreeMap<CellId, String>,
    /// What follows from doing what was asked.
    pending: VecDeque<Input>,
    problem: Option<String>,
    drains: bool,
    ended: bool,
}

impl Actor {
    /// Until the node has left, or nobody is interested any more.
    pub(super) fn run(mut self, notes: &Receiver<Note>) {
        self.step(Input::Tick);
        while !self.state.ended {
            let now = clock::boot();
            let wait = self
                .machine
                .next_deadline()
                .map_or(LONGEST, |at| Duration::from_micros(at.0.saturating_sub(now)));
            match notes.recv_timeout(wait.min(LONGEST)) {
                Ok(Note::Input(input)) => self.step(input),
                Ok(Note::Aside(aside)) => self.follow(aside),
                Ok(Note::Problem(problem)) => self.state.problem = problem,
                Err(RecvTimeoutError::Timeout) => self.step(Input::Tick),
                Err(RecvTimeoutError::Disconnected) => return,
            }
            if self.events.is_closed() && self.state.hosts.is_empty() {
                return;
            }
        }
    }

    fn step(&mut self, input: Input) {
        self.state.pending.push_back(input);
        while let Some(input) = self.state.pending.pop_front() {
            let renewed = renewal(&input);
            if let Input::Answer { answer: Answer::Polled(poll), .. } = &input {
                let own = self.machine.node();
                let drains = poll.nodes.iter().any(|node| Some(node.node) == own && node.draining);
                if drains && !std::mem::replace(&mut self.state.drains, true) {
                    self.state.pending.push_back(Input::Drain);
                }
            }
            for ask in self.machine.step(Mono(clock::boot()), input) {
                self.obey(ask);
            }
            if let Some(ask) = renewed
                && let Some(wall) = self.machine.wall(Mono(clock::boot()))
            {
                self.tally.renewed_in(clock::boot().saturating_sub(ask.sent.0));
                clock::go_by(Wall(wall.0));
            }
        }
        self.tally.owns(self.state.hosts.len());
        self.show_routes();
    }

    fn obey(&mut self, ask: Ask) {
        match ask {
            Ask::Query { id, statement } => self.query(id, statement),
            // Its connection gives up by itself, at the same time.
            Ask::Abandon { .. } => {}
            Ask::TakeOver { cell, epoch, head, acceptance } => {
                self.take_over(Claimed { cell, epoch, head, acceptance });
            }
            Ask::Serve { cell, epoch } => self.tell(cell, epoch, Event::Serve { cell, epoch }),
            Ask::Durable { cell, epoch, through } => self.order(cell, epoch, Order::Durable(through)),
            Ask::Refused { cell, epoch, why, .. } => {
                self.tally.was_refused();
                self.order(cell, epoch, Order::Refused(why));
            }
            Ask::DrainCell { cell, epoch, .. } => self.tell(cell, epoch, Event::Drain { cell, epoch }),
            Ask::DropCell { cell, epoch, why } => {
                if let Dropped::Fenced { .. } = why {
                    self.tally.was_refused();
                }
                self.end(cell, epoch, Order::Dropped(why));
                self.tell(cell, epoch, Event::Drop { cell, epoch, why });
            }
            Ask::StopCell { cell, epoch, why } => {
                self.end(cell, epoch, Order::Stopped(why));
                self.tell(cell, epoch, Event::Stop { cell, epoch, why });
            }
            Ask::Effects { until } => self.may_begin_until(Some(until.0)),
            Ask::HoldEffects => self.may_begin_until(None),
            Ask::Ended => {
                self.state.ended = true;
                // Whoever waits for it sees that the events end, too.
                drop(self.events.try_send(Event::Ended));
            }
        }
    }

    fn may_begin_until(&self, until: Option<u64>) {
        self.tally.may_begin_until(until);
        self.until.send_replace(until);
    }

    fn query(&mut self, id: AskId, statement: Statement) {
        let to = match &statement {
            Statement::Append { parts } => {
                // Each statement has one part, by the terms of this node.
                let part = parts.first().copied();
                let hosted = part.and_then(|part| self.host(part.cell, part.epoch));
                if hosted.is_none_or(|host| host.orders.try_send(Order::Append(id)).is_err()) {
                    self.state.pending.push_back(Input::NoAnswer { ask: id });
                }
                return;
            }
            Statement::Register { .. } | Statement::Renew { .. } => &self.lease,
            Statement::Settle { .. } => {
                self.tally.settles();
                &self.settles
            }
            Statement::Poll { .. }
            | Statement::Claim { .. }
            | Statement::Release { .. }
            | Statement::MarkDraining { .. }
            | Statement::Leave { .. } => &self.others,
        };
        if to.try_send((id, statement)).is_err() {
            self.state.pending.push_back(Input::NoAnswer { ask: id });
        }
    }

    fn take_over(&mut self, claimed: Claimed) {
        let Claimed { cell, epoch, head, acceptance } = claimed;
        let (orders, given) = sync_channel(ORDERS);
        let over = Arc::new(AtomicBool::new(false));
        let permit = Permit::limited(self.until.subscribe(), over.clone());
        self.state.hosts.insert(cell, Host { epoch, orders, over });
        self.tally.took_over();
        let lot = Lot::new(
            super::lot::Parts {
                server: self.server.clone(),
                cell,
                epoch,
                head,
                acceptance,
                file: self.heads.join(format!("cell-{}.cell", cell.0)),
                accepts_loss: self
                    .state
                    .accepted
                    .get(&cell)
                    .is_some_and(|accepted| accepted.0 + 1 == epoch.0),
                within: self.append_within,
                notes: self.notes.clone(),
                permit,
            },
            given,
        );
        self.tell(cell, epoch, Event::TakeOver(lot));
    }

    /// Whoever hosts cells and does not listen any more can't host them.
    fn tell(&mut self, cell: CellId, epoch: Epoch, event: Event) {
        if self.events.try_send(event).is_err() {
            self.state.pending.push_back(Input::HostFailed { cell, epoch });
        }
    }

    fn order(&mut self, cell: CellId, epoch: Epoch, order: Order) {
        let Some(host) = self.host(cell, epoch) else { return };
        match host.orders.try_send(order) {
            // A writer that is gone needs no orders.
            Ok(()) | Err(TrySendError::Disconnected(_)) => {}
            Err(TrySendError::Full(_)) => self.state.pending.push_back(Input::HostFailed { cell, epoch }),
        }
    }

    /// No effect of the host begins any more.
    fn end(&mut self, cell: CellId, epoch: Epoch, order: Order) {
        let Some(host) = self.state.hosts.get(&cell).filter(|host| host.epoch == epoch) else { return };
        host.over.store(true, Ordering::Release);
        // A writer that does not get it finds its orders at an end.
        drop(host.orders.try_send(order));
        self.state.hosts.remove(&cell);
    }

    fn host(&self, cell: CellId, epoch: Epoch) -> Option<&Host> {
        self.state.hosts.get(&cell).filter(|host| host.epoch == epoch)
    }

    /// What operators have written into the rows of cells.
    fn follow(&mut self, aside: Aside) {
        self.state.urls = aside.urls.into_iter().collect();
        self.state.deposits = aside.deposits.into_iter().collect();
        self.state.named = aside.named.into_iter().collect();
        self.state.labels = aside.labels.into_iter().collect();
        for (cell, node) in aside.wanted {
            let serves = self.machine.standing(cell) == Standing::Serving;
            if serves && Some(node) != self.machine.node() {
                self.step(Input::Move { cell, to: node });
            }
        }
        for cell in aside.held {
            if self.machine.standing(cell) == Standing::Serving {
                self.step(Input::Release { cell });
            }
        }
        self.state.accepted = aside.accepted.iter().copied().collect();
        for (cell, epoch) in aside.accepted {
            let own = self.machine.cells().any(|(id, own, _)| id == cell && own == epoch);
            if own && matches!(self.machine.standing(cell), Standing::Stopped(_)) {
                self.step(Input::Accept { cell });
            }
        }
        self.show_routes();
    }

    fn show_routes(&self) {
        let own = self.machine.node();
        let owners = self.state.urls.iter().flat_map(|(node, url)| {
            let cells = self.machine.routes().filter(move |(_, owner)| owner == node);
            cells.map(move |(cell, _)| (cell, (*node, url.clone())))
        });
        let routes = Routes {
            own,
            owners: owners.collect(),
            deposits: self.state.deposits.clone(),
            named: self.state.named.clone(),
            labels: self.state.labels.clone(),
            problem: self.state.problem.clone(),
        };
        self.routes.send_if_modified(|before| {
            let other = *before != routes;
            if other {
                *before = routes;
            }
            other
        });
    }
}

/// The statement that this is the good answer to, where it was about the lease.
fn renewal(input: &Input) -> Option<AskId> {
    let Input::Answer { ask, answer } = input else { return None };
    matches!(answer, Answer::Registered { .. } | Answer::Renewed { .. }).then_some(*ask)
}

/// Whether a statement has waited for its connection for so long that its answer comes too late anyway.
pub(super) fn is_late(id: AskId, within: Millis) -> bool {
    clock::boot().saturating_sub(id.sent.0) > within.0.saturating_mul(1_000) && id.slot != Slot::Leave
}
