//! Everything that only reads a ledger, whatever stores it: a [`Reader`] gives back agents, records, texts and past states,
//! exports and replays them, and checks that all of it is what was written. It reads rows over a connection, and does not
//! know how a file or a cell is opened.

mod agents_left;
mod content;
mod export;
pub(crate) mod garbage;
mod history;
mod landmarks;
pub(crate) mod loss;
mod of_kinds;
mod overall;
pub(crate) mod past;
mod reader;
pub(crate) mod recorder;
mod replay;
mod restorable;
mod restore;
mod verify;
mod verify_newest;
mod verify_others;

pub use content::text_reader;
pub use export::{ExportError, export, export_recorder};
pub use garbage::{Garbage, OldTexts, Plan, plan};
pub use history::{Beginning, ListedAgent, Listing, Wanted};
pub use landmarks::Landmark;
pub use overall::{LedgerSeq, Located, Overall, Stretch};
pub use past::{PAST_RECORDS, PastError, PastRuntime, PastState};
pub use reader::{Reader, Stopper};
pub use replay::{ReplayFailure, replay, replay_under};
pub use restorable::check_restorable;
pub use restore::Records;
pub use verify::{VerifyError, VerifyReport, verify, verify_some_at_once};
pub use verify_newest::{NewestReport, verify_newest};
pub use verify_others::RecordLaws;
