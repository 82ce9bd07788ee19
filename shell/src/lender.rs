//! Budgets that the agents of several cells have together: each cell is lent what it needs of them.

use std::sync::Arc;

use holon_core::Input;
use holon_core::grants::Loan;
use holon_ledger::postgres::node::{CellId, Directory, Grants};
use holon_platform::spawn;

/// Who lends to one cell; by default nobody has to. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Lender(Option<(Arc<Grants>, Arc<Directory>, CellId)>);

impl Lender {
    /// That of a cell, where its directory has several.
    pub fn of(cell: Option<(Arc<Grants>, Arc<Directory>, CellId)>) -> Self {
        Self(cell.filter(|(_, directory, _)| directory.has_several()))
    }

    /// Whether what is for all agents has to be borrowed.
    pub fn is_needed(&self) -> bool {
        self.0.is_some()
    }

    /// What the database says to a loan; nothing where it does not answer: whoever waits asks again.
    pub fn borrow(&self, loan: Loan) -> impl Future<Output = Option<Input>> + Send + use<> {
        let lender = self.0.clone();
        async move {
            let (grants, directory, cell) = lender?;
            let cells = directory.cells().len();
            let lent = spawn::blocking(move || grants.lend(cell.0, loan, cells)).await.ok()?;
            let grant = lent.inspect_err(|problem| tracing::warn!("a budget is not lent: {problem}")).ok()?;
            Some(Input::Granted { grant })
        }
    }
}
