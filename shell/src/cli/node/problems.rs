//! What keeps a node from working, for its log and for whoever asks the process how it is.

use std::collections::BTreeMap;

use holon_ledger::postgres::node::{CellId, Epoch, Routes};

use crate::http::Process;

pub(super) struct Problems {
    process: Process,
    /// Why it takes no cells until it is started again.
    unfit: Option<String>,
    /// Why its lease can't be renewed.
    lease: Option<String>,
    /// Cells that stay as they are until an operator has looked at them.
    stopped: BTreeMap<CellId, (Epoch, String)>,
}

impl Problems {
    pub(super) fn of(process: Process) -> Self {
        Self { process, unfit: None, lease: None, stopped: BTreeMap::new() }
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
        self.show();
    }

    pub(super) fn stopped(&mut self, cell: CellId, epoch: Epoch, problem: String) {
        self.stopped.insert(cell, (epoch, problem));
        self.show();
    }

    /// Those of stopped cells that their rows do not name: the database was away, or has forgotten them.
    pub(super) fn unnamed(&self, routes: &Routes) -> Vec<(CellId, Epoch, String)> {
        let unnamed = self.stopped.iter().filter(|(cell, _)| !routes.named.contains(cell));
        unnamed.map(|(cell, (epoch, problem))| (*cell, *epoch, problem.clone())).collect()
    }

    /// The cell is taken over anew.
    pub(super) fn taken(&mut self, cell: CellId) {
        self.stopped.remove(&cell);
        self.show();
    }

    fn show(&self) {
        let stopped = self.stopped.iter().next();
        let stopped = stopped.map(|(cell, (_, problem))| format!("cell {} is stopped: {problem}", cell.0));
        self.process.set_problem(self.unfit.clone().or_else(|| self.lease.clone()).or(stopped));
    }
}
