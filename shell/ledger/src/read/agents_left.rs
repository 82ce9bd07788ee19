//! Agents whose logs are in a ledger, and which go on in another one since it was split.

use std::collections::BTreeMap;

use holon_core::replay::Call;
use holon_facts::AgentId;
use holon_law::replay::AGENTS_LEFT;

use crate::error::{LedgerError, Position};
use crate::sql::Source;

/// Who went to another cell when this one was split, and in which batch.
pub(super) fn agents_left(source: Source<'_>) -> Result<BTreeMap<AgentId, i64>, LedgerError> {
    let unreadable = || LedgerError::unreadable(Position::default());
    let sql = format!(
        "SELECT batch, call FROM recorder WHERE step IS NULL AND call LIKE '{{\"call\":\"{AGENTS_LEFT}\"%'
         ORDER BY position"
    );
    let calls = source.all(&sql, &[], |row| Ok((row.get::<i64>(0)?, row.get::<String>(1)?)));
    let mut left = BTreeMap::new();
    for (batch, call) in calls.map_err(unreadable())? {
        let damaged = |problem| LedgerError::damaged(Position::batch(batch), problem);
        match serde_json::from_str(&call) {
            Ok(Call::AgentsLeft { agents, .. }) => {
                left.extend(agents.into_iter().map(|agent| (agent, batch)))
            }
            Ok(_) => return Err(damaged("a call is not what it is named".to_owned())),
            Err(error) => return Err(damaged(error.to_string())),
        }
    }
    Ok(left)
}

#[cfg(test)]
mod tests {
    use holon_law::replay::Again;

    use super::super::garbage::{OldTexts, plan};
    use super::super::{replay, verify};
    use super::*;
    use crate::rows::batch::Batch;
    use crate::sqlite::collect;
    use crate::sqlite::testing::{Home, World, encoded, id};
    use crate::store::StoreError as _;

    const EVERYBODY: &[&str] = &["goes", "stays"];

    /// What a split records, after two agents have worked.
    fn split() -> (Home, World) {
        let home = Home::new();
        let mut world = home.start();
        for agent in EVERYBODY {
            world.create(agent);
            world.prompt(agent, "work");
        }
        let mut batch = Batch::default();
        batch.call(encoded(&Call::AgentsLeft { agents: vec![id("goes")], to: 2 }));
        world.ledger.append(&batch).unwrap();
        (home, world)
    }

    fn whole(home: &Home) -> Result<u64, String> {
        let reader = home.reader();
        let report = verify(&reader, &mut |_| Ok(())).map_err(|error| error.to_string())?;
        let replayed = replay(&reader, Again::Every).map_err(|error| error.to_string())?;
        assert_eq!((replayed.agents, replayed.judged), (report.agents, report.records));
        Ok(report.agents)
    }

    #[test]
    fn an_agent_that_left_has_a_log_and_no_row() {
        let (home, world) = split();
        world.ledger.close().unwrap();
        let error = whole(&home).unwrap_err();
        assert!(error.contains("goes"), "its row is there still: {error}");
        home.vandal("DELETE FROM agents WHERE agent = 'goes'; DELETE FROM snapshots WHERE agent = 'goes'");
        assert_eq!(whole(&home), Ok(1));
        assert!(home.reader().last_event(&id("goes")).unwrap_err().is_absent());
        // The next runtime knows nothing of it, and what is recorded then is replayed.
        let mut world = home.start();
        assert!(world.host.view().agent(&id("goes")).is_none());
        world.prompt("stays", "go on");
        world.ledger.close().unwrap();
        assert_eq!(whole(&home), Ok(1));
        // Without the call there would be an agent too many.
        let plan = plan(&home.reader(), holon_facts::Wall(i64::MAX), OldTexts::Unnamed).unwrap();
        collect(&home.ledger(), &plan).unwrap();
        assert_eq!(whole(&home), Ok(1));
    }

    #[test]
    fn an_agent_that_left_and_goes_on_is_damage() {
        let (home, mut world) = split();
        world.prompt("goes", "go on");
        world.ledger.close().unwrap();
        let error = whole(&home).unwrap_err();
        assert!(error.contains("the agent had gone to another cell before"), "{error}");
    }
}
