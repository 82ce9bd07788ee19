//! What can go wrong between a client and its runtime.

use super::ErrorBody;

/// A request without the answer that was hoped for.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ClientError {
    #[error("the runtime can't be reached at {at}: {problem}")]
    NotReachable { at: String, problem: String },
    /// The runtime answered with an error.
    #[error("{}", body.error)]
    Refused { status: u16, body: Box<ErrorBody> },
    /// What was asked may have been done.
    #[error("the connection to the runtime ended before its answer: {problem}")]
    Broken { problem: String },
    #[error("the runtime did not answer within {seconds} s")]
    TimedOut { seconds: u64 },
    #[error("the answer of the runtime can't be read: {problem}")]
    Odd { problem: String },
    #[error("{problem}")]
    Token { problem: String },
}

impl ClientError {
    /// Whether the same request may succeed if it is sent again, and does no harm if it can't be done twice.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::NotReachable { .. } | Self::Broken { .. } | Self::TimedOut { .. } => true,
            Self::Refused { status, .. } => *status == 503,
            Self::Odd { .. } | Self::Token { .. } => false,
        }
    }

    /// The code of a refusal.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { body, .. } => Some(&body.code),
            Self::NotReachable { .. }
            | Self::Broken { .. }
            | Self::TimedOut { .. }
            | Self::Odd { .. }
            | Self::Token { .. } => None,
        }
    }

    /// The next command to try.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NotReachable { .. } => Some("holon daemon start".to_owned()),
            Self::Refused { status: 401 | 403, .. } | Self::Token { .. } => {
                Some("HOLON_CONTROL_TOKEN with the token that the runtime was started with".to_owned())
            }
            Self::Refused { body, .. } => body.hint.clone(),
            Self::Broken { .. } | Self::TimedOut { .. } => {
                Some("holon daemon status, then holon daemon logs".to_owned())
            }
            Self::Odd { .. } => Some(
                "a client of the runtime's own build: holon daemon status and holon --version show both"
                    .to_owned(),
            ),
        }
    }
}
