//! What follows a batch when nobody waits for it: states of agents, those that they take the place of, and rows of agents
//! that leave memory. Nothing of it is needed: the log is there.

use holon_facts::{AgentId, EventSeq};

use super::open::ANSWER;
use crate::rows::batch::Batch;
use crate::rows::packed::{Packed, SNAPSHOTS, STRETCH};
use crate::sql::postgres::{PostgresError, Session};
use crate::store::AgentRow;

/// States that wait at most; older ones are left out.
const WAITING: usize = 1_024;

#[derive(Debug, Default)]
pub(super) struct States {
    packed: Vec<Packed>,
    rejected: Vec<(AgentId, EventSeq)>,
    rests: Vec<AgentRow>,
}

impl States {
    /// What a batch brought.
    pub(super) fn add(&mut self, batch: &Batch) {
        self.keep(&batch.packed);
        self.rejected.extend(batch.rejected.iter().cloned());
        self.rests.extend(batch.rests.iter().cloned());
        self.rejected.truncate(WAITING);
        self.rests.truncate(WAITING);
    }

    pub(super) fn keep(&mut self, packed: &[Packed]) {
        self.packed.extend(packed.iter().cloned());
        let old = self.packed.len().saturating_sub(WAITING);
        self.packed.drain(..old);
    }

    /// Writes all of it, as long as the cell has this epoch.
    pub(super) fn write(&mut self, session: &Session, epoch: i64) -> Result<(), PostgresError> {
        for (agent, event_seq) in std::mem::take(&mut self.rejected) {
            let sql = "DELETE FROM snapshots WHERE cell = $1 AND agent = $2 AND event_seq = $3";
            session.query(sql, &[&session.cell(), &agent.as_str(), &number(event_seq.0)], ANSWER)?;
        }
        let rests = std::mem::take(&mut self.rests);
        write_rests(session, epoch, &rests)?;
        let packed = std::mem::take(&mut self.packed);
        write_states(session, epoch, &packed)
    }
}

fn write_rests(session: &Session, epoch: i64, rests: &[AgentRow]) -> Result<(), PostgresError> {
    if rests.is_empty() {
        return Ok(());
    }
    let sql = "UPDATE agents a SET next_deadline = u.next_deadline, open_work = u.open_work
        FROM cells c, unnest($3::text[], $4::bigint[], $5::bigint[], $6::bigint[])
            u(agent, event_seq, next_deadline, open_work)
        WHERE c.cell = $1 AND c.epoch = $2 AND a.cell = $1 AND a.agent = u.agent AND a.event_seq = u.event_seq
            AND (a.open_work <> u.open_work OR a.next_deadline IS DISTINCT FROM u.next_deadline)";
    let agent: Vec<&str> = rests.iter().map(|row| row.agent.as_str()).collect();
    let event_seq: Vec<i64> = rests.iter().map(|row| number(row.event_seq.0)).collect();
    let deadline: Vec<Option<i64>> = rests.iter().map(|row| row.next_deadline.map(|at| at.0)).collect();
    let open_work: Vec<i64> = rests.iter().map(|row| number(row.open_work)).collect();
    session
        .query(sql, &[&session.cell(), &epoch, &agent, &event_seq, &deadline, &open_work], ANSWER)
        .map(drop)
}

fn write_states(session: &Session, epoch: i64, packed: &[Packed]) -> Result<(), PostgresError> {
    // One statement changes a row once.
    for state in packed {
        let sql = "INSERT INTO snapshots (cell, agent, event_seq, version, hash, packed)
            SELECT cell, $3, $4, $5, $6, $7 FROM cells WHERE cell = $1 AND epoch = $2
            ON CONFLICT (cell, agent, event_seq) DO UPDATE
            SET version = excluded.version, state = '', hash = excluded.hash, packed = excluded.packed";
        let (agent, event_seq) = (state.agent.as_str(), number(state.event_seq.0));
        let (version, hash) = (i64::from(state.version), state.hash.as_slice());
        session.query(
            sql,
            &[&session.cell(), &epoch, &agent, &event_seq, &version, &hash, &state.bytes],
            ANSWER,
        )?;
    }
    if packed.is_empty() {
        return Ok(());
    }
    let agents: Vec<&str> = packed.iter().map(|state| state.agent.as_str()).collect();
    let sql = "DELETE FROM snapshots s USING (
            SELECT agent, event_seq, row_number() OVER (PARTITION BY agent ORDER BY event_seq DESC) AS newest,
                row_number() OVER (PARTITION BY agent, event_seq / $3 ORDER BY event_seq) AS of_stretch
            FROM snapshots WHERE cell = $1 AND agent = ANY ($2)
        ) k WHERE s.cell = $1 AND s.agent = k.agent AND s.event_seq = k.event_seq
            AND k.newest > $4 AND k.of_stretch > 1";
    session.query(sql, &[&session.cell(), &agents, &STRETCH, &SNAPSHOTS], ANSWER).map(drop)
}

fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
