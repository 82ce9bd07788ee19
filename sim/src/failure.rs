//! How a run can fail.

use std::fmt;

/// The kinds of failures; each has an exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Safety,
    Liveness,
    Nondeterminism,
    Panic,
    Budget,
}

impl Kind {
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Safety => 10,
            Self::Liveness => 11,
            Self::Nondeterminism => 12,
            Self::Panic => 14,
            Self::Budget => 15,
        }
    }
}

/// A broken law, and how it was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    pub kind: Kind,
    pub law: String,
    pub problem: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?}): {}", self.law, self.kind, self.problem)
    }
}

/// A broken law of safety.
pub fn safety(law: &str, problem: impl Into<String>) -> Failure {
    Failure { kind: Kind::Safety, law: law.into(), problem: problem.into() }
}

/// A failure of something to happen in time.
pub fn liveness(law: &str, problem: impl Into<String>) -> Failure {
    Failure { kind: Kind::Liveness, law: law.into(), problem: problem.into() }
}

/// Fails with a law and a formatted problem unless the condition holds.
macro_rules! ensure {
    ($holds:expr, $law:literal, $($problem:tt)*) => {
        if !$holds {
            return Err($crate::failure::safety($law, format!($($problem)*)));
        }
    };
}
pub(crate) use ensure;
