//! What keeps a node from working, for its log and for whoever asks the process how it is.

use std::collections::BTreeMap;

use holon_ledger::postgres::node::{CellId, Routes};

use crate::http::Process;

pub(super) struct Problems {
    process: Process,
    /// Why it takes no cells until it is started again.
    unfit: Option<String>,
    /// Why its lease can't be renewed.
    lease: Option<String>,
    /// Cells that stay as they are until an operator has looked at them.
    stopped: BTreeMap<CellId, String>,
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

    pub(super) fn stopped(&mut self, cell: CellId, problem: &str) {
        self.stopped.insert(cell, format!("cell {} is stopped: {problem}", cell.0));
        self.show();
    }

    /// The cell is taken over anew.
    pub(super) fn taken(&mut self, cell: CellId) {
        self.stopped.remove(&cell);
        self.show();
    }

    fn show(&self) {
        let problem = self.unfit.as_ref().or(self.lease.as_ref()).or(self.stopped.values().next());
        self.process.set_problem(problem.cloned());
    }
}
