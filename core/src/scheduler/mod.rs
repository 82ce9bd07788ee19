//! What happens next, from facts alone.

pub mod decision;
pub mod projection;
pub(crate) mod results;

pub use decision::decide_next_action;
pub use projection::{
    AwaitedFact, Head, HintsFact, HoldFact, HostFacts, ItemFact, RecheckFact, RunFact, SchedulerProjection,
    project,
};
