//! Whether those can be restored whom a start brings in: one of them that can't ends the start.

use holon_core::agent::{Agent, FoldError};
use holon_facts::{AgentId, Wall};

use super::reader::Reader;
use crate::error::{LedgerError, Position};
use crate::store::{AgentRow, LedgerReader, Restored};

/// Reads every agent that has open work, or for whom something is due by `now`, as a start does. Says how many they are.
///
/// # Errors
/// The first one that can't be restored, with its name.
pub fn check_restorable(reader: &Reader, now: Wall) -> Result<u64, LedgerError> {
    let is_brought_in = |row: &AgentRow| row.open_work > 0 || row.next_deadline.is_some_and(|at| at <= now);
    let mut restored = 0;
    for row in reader.agents()?.into_iter().filter(is_brought_in) {
        fold(reader.load(&row.agent).map_err(|error| named(&row.agent, error))?)
            .map_err(|error| LedgerError::damaged(of(&row.agent), error))?;
        restored += 1;
    }
    Ok(restored)
}

fn fold(Restored { snapshot, tail, .. }: Restored) -> Result<(), FoldError> {
    let mut tail = tail.iter();
    let mut agent = match (snapshot, tail.as_slice().first()) {
        (Some(snapshot), _) => snapshot.agent,
        (None, Some(first)) => {
            tail.next();
            Agent::created(first)?
        }
        (None, None) => return Ok(()),
    };
    tail.try_for_each(|record| agent.fold(record))
}

fn of(agent: &AgentId) -> Position {
    Position { agent: Some(agent.as_str().to_owned()), ..Position::default() }
}

/// Damage without a place is at least of this agent.
fn named(agent: &AgentId, error: LedgerError) -> LedgerError {
    if let LedgerError::Damaged { at, problem } = &error
        && at.agent.is_none()
    {
        let at = Position { agent: of(agent).agent, ..(**at).clone() };
        return LedgerError::damaged(at, problem);
    }
    error
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::testing::Home;

    #[test]
    fn an_agent_whom_a_start_brings_in_is_read_as_it_does() {
        let home = Home::with_turns(1);
        assert_eq!(check_restorable(&home.reader(), Wall(i64::MIN)).unwrap(), 0, "it has nothing to do");
        home.vandal("UPDATE agents SET open_work = 1");
        assert_eq!(check_restorable(&home.reader(), Wall(i64::MIN)).unwrap(), 1);
        home.vandal("UPDATE records SET payload = payload || ' ' WHERE event_seq = (SELECT max(event_seq) FROM records)");
        let error = check_restorable(&home.reader(), Wall(i64::MIN)).unwrap_err();
        assert!(error.is_damage() && error.to_string().contains("agent main"), "{error}");
    }
}
