//! A decision of the past with the facts that it was taken from, from records alone.

use holon_api::rows::ShowSchedulerFixture;
use holon_api::{Code, FixtureQuery, SchedulerFixture, SchedulerScenario};
use holon_core::view::decided::{self, Decided};
use holon_facts::event::SchedulingFact;
use holon_facts::{AgentId, Event, EventSeq, Record};
use holon_ledger::read::Wanted;

use super::super::App;
use super::super::failure::Failure;
use super::super::route::{Call, Handled};

pub(in super::super) async fn fixture(
    app: App,
    call: Call<ShowSchedulerFixture>,
) -> Handled<SchedulerFixture> {
    let (agent, FixtureQuery { at }) = (call.path.agent_id, call.query);
    app.blocking(move |app| {
        let record = found(app, &agent, at)?;
        let event_seq = record.event_seq;
        let config = match app.reader.runtime_of(&agent, event_seq)? {
            Some(runtime) => runtime.config,
            None => app.runtime.config(),
        };
        let (recorded, decided) =
            if let Event::Scheduling(SchedulingFact::SchedulerDecision(decision)) = &record.event {
                let state = app.reader.agent_before(&agent, event_seq)?.agent;
                (true, decided::recorded(&state, &config, (decision, record.at)))
            } else {
                let state = app.reader.agent_after(&agent, event_seq)?.agent;
                (false, decided::looked(&state, &config, record.at))
            };
        Ok(reply(agent, &record, recorded, decided))
    })
    .await
}

/// The event that is meant.
fn found(app: &App, agent: &AgentId, at: Option<EventSeq>) -> Handled<Record> {
    let last = app.last_event(agent)?;
    if let Some(at) = at {
        let found = app.reader.record(agent, at)?;
        return found.ok_or_else(|| Failure::unknown_event(agent, at, last));
    }
    let (kinds, before) = (&["scheduler_decision"][..], last.next());
    let wanted = Wanted { kinds, after: EventSeq(0), before, limit: 1, newest: true };
    let newest = app.reader.of_kinds(agent, wanted)?.pop();
    newest.ok_or_else(|| {
        Failure::new(Code::UnknownEvent, format!("no decision about {agent} is on record"))
            .detail("last_event_seq", last.0)
    })
}

fn reply(agent: AgentId, record: &Record, recorded: bool, decided: Decided) -> SchedulerFixture {
    let Decided { facts, decision, as_recorded } = decided;
    let (row, seq) = (decision.row, record.event_seq);
    let (kind, reason, boundary) = (decision.kind, decision.reason, decision.boundary);
    let name = format!("{row}: {kind}, {reason}, at {boundary}: event {seq} of {agent}");
    SchedulerFixture {
        ok: true,
        file: format!("{row:02}-{agent}-{seq}.json"),
        agent_id: agent,
        event_seq: seq,
        at: record.at,
        recorded,
        as_recorded,
        scenario: SchedulerScenario { name, facts },
        decision,
    }
}
