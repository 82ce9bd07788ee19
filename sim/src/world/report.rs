//! How a run is made, and what it came to.

use std::collections::BTreeMap;

use crate::failure::Failure;
use crate::fault::Strike;
use crate::trace::Trace;

/// How a run is made.
#[derive(Debug, Clone, Copy, Default)]
pub struct Options {
    /// Keep lines for a person.
    pub readable: bool,
    pub sabotage: Option<Sabotage>,
    /// Leave out the replay of decisions at the end.
    pub no_replay: bool,
}

/// A world that is broken on purpose, so that the laws can be seen to catch it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sabotage {
    /// A crash loses a row that somebody was told about.
    LoseAcknowledged,
    /// Effects leave before their records are on the disk.
    ReleaseEarly,
    /// A record is written twice.
    DuplicateRecord,
    /// A caller is told another message id.
    ChangeReply,
    /// The flight recorder loses a call.
    ForgetCall,
    /// The driver's timer never rings.
    LoseWake,
    /// A snapshot misses its last record.
    StaleSnapshot,
    /// An answer is never sent.
    SwallowReply,
    /// A stop is acknowledged long after it was durable.
    LateStop,
    /// A command that came to its end while the process was down is not asked for.
    ForgetEnd,
    /// A parked agent is handed something without being brought in.
    ForgetParked,
}

/// What a run came to.
#[derive(Debug, Clone)]
pub struct Report {
    pub failure: Option<Failure>,
    pub steps: u64,
    pub records: u64,
    pub crashes: u64,
    pub boundaries: u64,
    /// Microseconds.
    pub virtual_time: u64,
    pub trace: Trace,
    /// How often each law of records had something to say, on the final ledger.
    pub antecedents: Vec<(&'static str, u64)>,
    /// How often each law of the world had something to say.
    pub said: BTreeMap<&'static str, u64>,
    /// How often each kind of fault fired.
    pub fired: BTreeMap<String, u64>,
    /// The faults of performers that struck, one by one.
    pub struck: Vec<Strike>,
}

impl Report {
    /// Of a run that ended in nothing but a failure.
    pub fn of_failure(failure: Failure) -> Self {
        Self {
            failure: Some(failure),
            steps: 0,
            records: 0,
            crashes: 0,
            boundaries: 0,
            virtual_time: 0,
            trace: Trace::new(false),
            antecedents: Vec::new(),
            said: BTreeMap::new(),
            fired: BTreeMap::new(),
            struck: Vec::new(),
        }
    }
}
