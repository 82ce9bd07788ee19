//! What keeps a node from working, for its log and for whoever asks the process how it is.

use std::collections::BTreeMap;
use std::time::Duration;

use holon_ledger::postgres::Server;
use holon_ledger::postgres::node::{CellId, Cluster, Epoch, Routes};
use holon_platform::spawn;
use tokio::task::JoinHandle;

use crate::http::Process;

/// How often it is tried to write why a cell is stopped, and after what.
const NAMING: u32 = 120;
const AGAIN: Duration = Duration::from_millis(500);

pub(super) struct Problems {
    process: Process,
    server: Server,
    /// Why it takes no cells until it is started again.
    unfit: Option<String>,
    /// Why its lease can't be renewed.
    lease: Option<String>,
    /// Cells that stay as they are until an operator has looked at them.
    stopped: BTreeMap<CellId, StoppedCell>,
}

struct StoppedCell {
    epoch: Epoch,
    problem: String,
    /// The work that writes the problem into the row of the cell.
    naming: JoinHandle<()>,
}

impl Problems {
    pub(super) fn of(process: Process, server: Server) -> Self {
        Self { process, server, unfit: None, lease: None, stopped: BTreeMap::new() }
    }

    /// What its own configuration or build makes impossible.
    pub(super) fn unfit(&mut self, problem: String) {
        tracing::error!("{problem}");
        self.unfit = Some(problem);
        self.show();
    }

    /// Who owns which cell, and whether the database renews the lease.
    pub(super) fn follow(&mut self, routes: &Routes) {
        let elsewhere =
            |cell: &CellId| routes.owners.get(cell).is_some_and(|(node, _)| Some(*node) != routes.own);
        self.stopped.retain(|cell, _| !elsewhere(cell));
        let no_lease =
            |problem| format!("this node can't renew its lease, without which nothing begins: {problem}");
        let problem = routes.problem.as_ref().map(no_lease);
        match (&self.lease, &problem) {
            (None, Some(problem)) => tracing::warn!("{problem}"),
            (Some(_), None) => tracing::info!("this node renews its lease again"),
            (None, None) | (Some(_), Some(_)) => {}
        }
        self.lease = problem;
        self.name_unnamed(routes);
        self.show();
    }

    /// Its row shows it to whoever looks at the cluster.
    pub(super) fn stopped(&mut self, cell: CellId, epoch: Epoch, problem: String) {
        let naming = spawn::task(name(self.server.clone(), cell, epoch, problem.clone()));
        self.stopped.insert(cell, StoppedCell { epoch, problem, naming });
        self.show();
    }

    /// Names stopped cells again that their rows do not: the database was away, or has forgotten them.
    fn name_unnamed(&mut self, routes: &Routes) {
        for (cell, stopped) in &mut self.stopped {
            if !routes.named.contains(cell) && stopped.naming.is_finished() {
                let work = name(self.server.clone(), *cell, stopped.epoch, stopped.problem.clone());
                stopped.naming = spawn::task(work);
            }
        }
    }

    /// The cell is taken over anew.
    pub(super) fn taken(&mut self, cell: CellId) {
        self.stopped.remove(&cell);
        self.show();
    }

    fn show(&self) {
        let stopped = self.stopped.iter().next();
        let stopped = stopped.map(|(cell, it)| format!("cell {} is stopped: {}", cell.0, it.problem));
        self.process.set_problem(self.unfit.clone().or_else(|| self.lease.clone()).or(stopped));
    }
}

/// Writes it into the row of the cell, as soon as the database takes it.
async fn name(server: Server, cell: CellId, epoch: Epoch, problem: String) {
    for _ in 0..NAMING {
        let (server, problem) = (server.clone(), problem.clone());
        let told = spawn::blocking(move || Cluster::tell_problem(&server, cell.0, epoch.0, &problem)).await;
        match told {
            Ok(Ok(())) | Err(_) => return,
            Ok(Err(error)) => tracing::warn!("the problem can't be shown to others: {error}"),
        }
        tokio::time::sleep(AGAIN).await;
    }
}
