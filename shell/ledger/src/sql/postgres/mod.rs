//! A database that speaks PostgreSQL's protocol, asked by whoever blocks: one thread moves the bytes of all sessions, and
//! each session waits for its own answer.

mod block;
pub(crate) mod feed;
mod pool;
mod server;
mod session;
mod statement;

pub(crate) use pool::Work;
pub use server::{Server, UrlError};
pub(crate) use session::Session;
pub(crate) use statement::{ALL, Statements};
use tokio_postgres::types::WrongType;

/// A statement that a database did not carry out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PostgresError {
    /// Whether it was carried out is not known.
    #[error("the database does not answer: {0}")]
    Unanswered(String),
    #[error("{0}")]
    Refused(#[from] Refusal),
}

/// What a database said against a statement. Nothing of it was carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message} (SQLSTATE {code})")]
pub(crate) struct Refusal {
    /// SQLSTATE.
    pub(crate) code: String,
    pub(crate) message: String,
}

impl Refusal {
    /// The disk of the database has no room.
    pub(crate) fn is_full(&self) -> bool {
        self.code == "53100"
    }

    /// A number of rows is not the one that was expected: statements of this crate divide by zero then.
    pub(crate) fn is_miscounted(&self) -> bool {
        self.code == "22012"
    }

    /// Its user may not do it.
    pub(crate) fn lacks_rights(&self) -> bool {
        matches!(self.code.as_str(), "42501" | "3F000")
    }

    /// It takes no writes: a standby, or one that was told so.
    pub(crate) fn is_read_only(&self) -> bool {
        self.code == "25006"
    }

    /// It may be asked again, and whether it was carried out is not sure: the session ended, was stopped by an operator, ran
    /// into another one, or the server has no means for now.
    fn is_passing(&self) -> bool {
        let class = ["08", "40", "53", "57"].iter().any(|class| self.code.starts_with(class));
        class && !self.is_full()
    }
}

impl From<tokio_postgres::Error> for PostgresError {
    fn from(error: tokio_postgres::Error) -> Self {
        let Some(refusal) = error.as_db_error() else {
            let text = chain(&error);
            let unsent = std::error::Error::source(&error).is_some_and(|source| source.is::<WrongType>());
            let refusal = || Refusal { code: "none, nothing was sent".to_owned(), message: text.clone() };
            return if unsent { Self::Refused(refusal()) } else { Self::Unanswered(text) };
        };
        let refusal =
            Refusal { code: refusal.code().code().to_owned(), message: refusal.message().to_owned() };
        if refusal.is_passing() { Self::Unanswered(refusal.to_string()) } else { Self::Refused(refusal) }
    }
}

/// An error with what caused it. Passwords are in none of them.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !text.contains(&next) {
            text = format!("{text}: {next}");
        }
        cause = error.source();
    }
    text
}
