//! The result of a run.

use std::collections::BTreeMap;

use holon_facts::AgentId;

use crate::decisions::Came;
use crate::failure::Failure;
use crate::fault::Strike;
use crate::trace::{Kept, Trace};
use crate::witness::Pair;

/// The result of a run.
#[derive(Debug, Clone)]
pub struct Report {
    pub failure: Option<Failure>,
    pub steps: u64,
    pub records: u64,
    pub crashes: u64,
    pub boundaries: u64,
    /// Turns that ended otherwise than by an interruption.
    pub turns: u64,
    /// The moment of each step, and the agent of the first step there, if the options ask for them.
    pub stepped: BTreeMap<u64, Option<AgentId>>,
    /// Microseconds.
    pub virtual_time: u64,
    pub trace: Trace,
    /// How often each law of records was checked, on the final ledger.
    pub antecedents: Vec<(&'static str, u64)>,
    /// How often each law of the world was checked.
    pub checked: BTreeMap<&'static str, u64>,
    /// How often each kind of fault fired.
    pub fired: BTreeMap<String, u64>,
    /// How often each pair of event kinds followed each other in the log of an agent.
    pub pairs: BTreeMap<Pair, u64>,
    /// How often each error was returned, by its group and name.
    pub errors: BTreeMap<(&'static str, &'static str), u64>,
    /// How often each row of the decision table came up.
    pub decisions: BTreeMap<Came, u64>,
    /// The faults of performers that struck, one by one.
    pub struck: Vec<Strike>,
}

impl Report {
    /// The report of a run that only has a failure.
    pub fn of_failure(failure: Failure) -> Self {
        Self {
            failure: Some(failure),
            steps: 0,
            records: 0,
            crashes: 0,
            boundaries: 0,
            turns: 0,
            stepped: BTreeMap::new(),
            virtual_time: 0,
            trace: Trace::new(Kept::Nothing),
            antecedents: Vec::new(),
            checked: BTreeMap::new(),
            fired: BTreeMap::new(),
            pairs: BTreeMap::new(),
            errors: BTreeMap::new(),
            decisions: BTreeMap::new(),
            struck: Vec::new(),
        }
    }
}
