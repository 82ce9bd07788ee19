//! Exit codes (contract: surface.md).

use holon_api::Code;
use holon_core::view::RunVerdict;
use holon_facts::Reject;

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Completed = 0,
    Failed = 1,
    Usage = 2,
    NotFound = 3,
    RefusedByState = 4,
    NotReachable = 5,
    WaitingForOperator = 6,
    Waiting = 7,
    Limit = 8,
    Interrupted = 130,
}

impl Exit {
    /// The number that the caller sees.
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The meaning of the number that another process of this program ended with.
    pub fn of(code: u8) -> Option<Self> {
        let all = [
            Self::Completed,
            Self::Failed,
            Self::Usage,
            Self::NotFound,
            Self::RefusedByState,
            Self::NotReachable,
            Self::WaitingForOperator,
            Self::Waiting,
            Self::Limit,
            Self::Interrupted,
        ];
        all.into_iter().find(|exit| exit.code() == code)
    }

    /// Of a refusal by its status, its code and, of a command that nothing was executed of, the kind of its error (contract:
    /// tools.md): in another process it means the same as here.
    pub fn of_refusal(status: u16, code: &str, kind: &str) -> Self {
        match (status, code) {
            (404, _) => Self::NotFound,
            // What stands against these is what was asked for, not what is there.
            (409, "invalid_model" | "invalid_workspace") => Self::Usage,
            (409, "command_refused") => match kind {
                "limit_reached" | "policy_denied" | "workspace_occupied" => Self::RefusedByState,
                "invalid_tool_input" | "execution_root_violation" => Self::Usage,
                _ => Self::Failed,
            },
            // What is not stored yet was not refused: it is known to be neither done nor undone.
            (409 | 410 | 429, _)
            | (503, "draining" | "disk_full" | "ledger_locked" | "database_away" | "moving") => {
                Self::RefusedByState
            }
            (400 | 401 | 403 | 413 | 414 | 422, _) => Self::Usage,
            _ => Self::Failed,
        }
    }
}

impl From<RunVerdict> for Exit {
    fn from(verdict: RunVerdict) -> Self {
        match verdict {
            RunVerdict::Completed => Self::Completed,
            RunVerdict::Failed => Self::Failed,
            RunVerdict::WaitingForOperator => Self::WaitingForOperator,
            RunVerdict::WaitingForExternal | RunVerdict::WaitingForTimer => Self::Waiting,
            RunVerdict::BudgetExhausted | RunVerdict::MaxTurnsExceeded => Self::Limit,
            RunVerdict::Aborted | RunVerdict::Interrupted => Self::Interrupted,
            RunVerdict::Stopped => Self::RefusedByState,
        }
    }
}

impl From<&Reject> for Exit {
    fn from(reject: &Reject) -> Self {
        let kind = if let Reject::CommandRefused { error } = reject { error.kind.name() } else { "" };
        let code = Code::from(reject);
        Self::of_refusal(code.status().as_u16(), code.name(), kind)
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The contract's list, and the page of the documentation that shows it.
    const TABLE: [(RunVerdict, u8); 10] = [
        (RunVerdict::Completed, 0),
        (RunVerdict::WaitingForOperator, 6),
        (RunVerdict::WaitingForExternal, 7),
        (RunVerdict::WaitingForTimer, 7),
        (RunVerdict::Failed, 1),
        (RunVerdict::BudgetExhausted, 8),
        (RunVerdict::MaxTurnsExceeded, 8),
        (RunVerdict::Aborted, 130),
        (RunVerdict::Stopped, 4),
        (RunVerdict::Interrupted, 130),
    ];

    #[test]
    fn each_verdict_has_its_code() {
        assert_eq!(TABLE.map(|(verdict, _)| verdict).as_slice(), RunVerdict::ALL);
        for (verdict, code) in TABLE {
            assert_eq!(Exit::from(verdict).code(), code, "{verdict}");
        }
    }

    #[test]
    fn the_docs_list_every_code_and_verdict() {
        let rows = include_str!("../../docs/run.md").lines().filter_map(|line| {
            let mut cells = line.strip_prefix("| ")?.split(" | ");
            Some((cells.next()?.parse::<u8>().ok()?, cells.next()?.trim_end_matches(" |").to_owned()))
        });
        let rows: Vec<(u8, String)> = rows.collect();
        let codes: Vec<u8> = rows.iter().map(|(code, _)| *code).collect();
        assert_eq!(codes, [0, 1, 2, 3, 4, 5, 6, 7, 8, 130]);
        for (verdict, code) in TABLE {
            let named = rows.iter().filter(|(_, text)| text.contains(&format!("`{verdict}`")));
            assert_eq!(named.map(|(code, _)| *code).collect::<Vec<_>>(), [code], "{verdict}");
        }
    }
}
