//! Agents whose logs are in a ledger, and which go on in another one since it was split.

use std::collections::BTreeMap;

use holon_core::replay::Call;
use holon_facts::AgentId;
use holon_law::replay::AGENTS_LEFT;

use super::error::{LedgerError, Position};
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
