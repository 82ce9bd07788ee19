//! A node: one process that shares the cells of a database with others (contract: scale.md). [`Ownership`] decides; the
//! thread of the `Actor` gives it what the database answers, and sends whoever hosts cells the events to act on.
//!
//! ```text
//! connection of the lease ──┐                     ┌─► Event: take over, serve, drain, drop
//! connection of the others ─┼─► actor: Ownership ─┼─► orders for writers: append, durable, dropped
//! writers, operators ───────┘                     └─► Permit: until when effects may begin
//! ```

mod about;
mod actor;
mod claimed_writer;
mod cluster;
mod deposits;
mod directory;
mod grants;
mod lot;
mod roots;
mod split;
mod statement;
mod tally;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SendError, Sender, SyncSender, sync_channel};

use holon_cluster::{Answer, AskId, Input, Label, Ownership, Slot, Span, Statement, Terms};
use holon_facts::Millis;
use holon_platform::spawn;
use tokio::sync::{mpsc, watch};

use self::actor::{Actor, Note, State, is_late};
use self::statement::{Aside, Executor};
use crate::permit::Until;
use crate::sql::postgres::{PostgresError, Server, Session};

pub use self::about::AboutNode;
pub use self::actor::{Event, Routes};
pub use self::claimed_writer::ClaimedWriter;
pub use self::cluster::{CellStatus, Cluster, ClusterError, ClusterStatus, MOST_CELLS, NodeStatus};
pub use self::deposits::{Deposited, Deposits, Waiting};
pub use self::directory::{Directory, chosen};
pub use self::grants::{Granted, Grants};
pub use self::lot::Lot;
pub(crate) use self::lot::OpenedLot;
pub use self::roots::{Bound, Roots, Taken, Tenant};
pub use self::split::{Split, SplitError, split};
pub use self::tally::Tally;
pub use holon_cluster::{CellId, Dropped, Epoch, NodeId, Stopped};

/// Statements that wait for a connection.
const WAITING: usize = 256;
/// Events that wait for whoever hosts cells.
const EVENTS: usize = 1_024;

/// A node that begins.
pub struct Node {
    notes: Sender<Note>,
    events: mpsc::Receiver<Event>,
    routes: watch::Receiver<Routes>,
    until: watch::Receiver<Until>,
    tally: Arc<Tally>,
}

/// What a node begins with.
#[derive(Debug)]
pub struct NodeStart {
    pub server: Server,
    pub about: AboutNode,
    pub labels: Vec<String>,
    /// The folder of this machine that remembers what was acknowledged to it.
    pub heads: PathBuf,
    pub lease: Millis,
    pub grace: Millis,
}

/// Terms that fit a lease: the margin covers clocks whose rates differ by a tenth.
fn terms(lease: Millis, grace: Millis) -> Terms {
    let default = Terms::default();
    Terms {
        lease: Span::millis(lease.0),
        margin: Span::millis(lease.0 / 10),
        grace: Span::millis(grace.0),
        renew_every: Span::millis(lease.0 / 3),
        fresh_within: Span::millis(lease.0 / 2).max(Span::millis(lease.0 / 3)),
        // The writer of each cell appends its own batches.
        append_connections: u8::MAX,
        cells_per_append: 1,
        ..default
    }
}

impl Node {
    /// Begins a node: it registers, renews its lease, and claims its share of the cells.
    ///
    /// # Errors
    /// When there are no threads, or the terms can't be.
    pub fn begin(start: NodeStart) -> io::Result<Self> {
        let terms = terms(start.lease, start.grace);
        let (answer_within, append_within) = (millis(terms.answer_within), millis(terms.append_within));
        let tally = Arc::<Tally>::default();
        let executor = |server: Server| Executor {
            tally: tally.clone(),
            session: Session::new(server, 0),
            about: start.about.clone(),
            lease: terms.lease,
            grace: terms.grace,
            within: answer_within,
        };
        let (sender, notes) = std::sync::mpsc::channel();
        // The lease has a connection and threads that nobody else keeps busy.
        let lease = connection("lease", executor(start.server.apart()?), answer_within, &sender)?;
        let others = connection("cluster", executor(start.server.clone()), answer_within, &sender)?;
        let settles = connection("settle", executor(start.server.clone()), answer_within, &sender)?;
        let labels = start.labels.into_iter().map(Label).collect();
        let machine = Ownership::new(terms, labels).map_err(io::Error::other)?;
        let (events_sender, events) = mpsc::channel(EVENTS);
        let (routes_sender, routes) = watch::channel(Routes::default());
        let (until_sender, until) = watch::channel(None);
        let actor = Actor {
            machine,
            server: start.server,
            heads: start.heads,
            append_within,
            notes: sender.clone(),
            lease,
            others,
            settles,
            events: events_sender,
            until: until_sender,
            routes: routes_sender,
            tally: tally.clone(),
            state: State::default(),
        };
        spawn::thread("node-actor", move || actor.run(&notes))?;
        Ok(Self { notes: sender, events, routes, until, tally })
    }

    /// What is to be done next. Nothing more comes after [`Event::Ended`].
    pub async fn next(&mut self) -> Event {
        self.events.recv().await.unwrap_or(Event::Ended)
    }

    /// Who owns which cell.
    pub fn routes(&self) -> watch::Receiver<Routes> {
        self.routes.clone()
    }

    /// What the node counts of itself.
    pub fn tally(&self) -> Arc<Tally> {
        self.tally.clone()
    }

    /// Before which moment of [`holon_platform::clock::boot`] effects may begin and commands may run; none: not now.
    pub fn lease(&self) -> watch::Receiver<Option<u64>> {
        self.until.clone()
    }

    /// The runtime of a cell has given its last batch.
    pub fn drained(&self, cell: CellId, epoch: Epoch) {
        self.tell(Input::Drained { cell, epoch });
    }

    /// The runtime of a cell can't be started, or can't go on.
    pub fn failed(&self, cell: CellId, epoch: Epoch) {
        self.tell(Input::HostFailed { cell, epoch });
    }

    /// The runtime of a cell can't go on for the moment: whoever can claims it anew.
    pub fn give_back(&self, cell: CellId, epoch: Epoch) {
        self.tell(Input::Release { cell });
        self.drained(cell, epoch);
    }

    /// Hands all cells over, and gets none any more: this process can't host them, and others may.
    pub fn drain(&self) {
        self.tell(Input::Drain);
    }

    /// Hands all cells over, then ends.
    pub fn stop(&self) {
        self.tell(Input::Stop);
    }

    /// An actor that has ended needs no input.
    fn tell(&self, input: Input) {
        drop(self.notes.send(Note::Input(input)));
    }
}

fn millis(span: Span) -> Millis {
    Millis(span.0 / 1_000)
}

/// A thread with a connection that executes statements one after the other.
fn connection(
    name: &str,
    executor: Executor,
    within: Millis,
    notes: &Sender<Note>,
) -> io::Result<SyncSender<(AskId, Statement)>> {
    let (asks, waiting) = sync_channel(WAITING);
    let notes = notes.clone();
    spawn::thread(name, move || execute_all(&executor, within, &waiting, &notes))?;
    Ok(asks)
}

fn execute_all(
    executor: &Executor,
    within: Millis,
    waiting: &Receiver<(AskId, Statement)>,
    notes: &Sender<Note>,
) {
    while let Ok((ask, statement)) = waiting.recv() {
        let executed = (!is_late(ask, within)).then(|| executor.execute(&statement));
        if told(ask, executed, notes).is_err() {
            return;
        }
    }
}

/// What a statement came to.
fn told(
    ask: AskId,
    executed: Option<Result<(Answer, Aside), PostgresError>>,
    notes: &Sender<Note>,
) -> Result<(), SendError<Note>> {
    let answer = match executed {
        None => None,
        Some(Ok((answer, aside))) => {
            match ask.slot {
                Slot::Poll => notes.send(Note::Aside(aside))?,
                Slot::Lease => notes.send(Note::Problem(None))?,
                Slot::Claim
                | Slot::Append(_)
                | Slot::Settle(_)
                | Slot::Release(_)
                | Slot::Draining
                | Slot::Leave => {}
            }
            Some(answer)
        }
        Some(Err(error)) => {
            if ask.slot == Slot::Lease {
                notes.send(Note::Problem(Some(error.to_string())))?;
            }
            None
        }
    };
    let input = answer.map_or(Input::NoAnswer { ask }, |answer| Input::Answer { ask, answer });
    notes.send(Note::Input(input))
}
