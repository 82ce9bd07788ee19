//! Who waits for another login of a provider. While somebody does, and only then, the login's file is read every few
//! seconds; the core decides what another one changes.

use std::collections::{BTreeMap, BTreeSet};

use holon_facts::event::SchedulingFact;
use holon_facts::{AgentId, Event, Record};
use tokio::task::AbortHandle;

use crate::perform::Performers;
use crate::work::Work;

/// The logins that somebody waits for, by provider.
#[derive(Default)]
pub(super) struct Logins(BTreeMap<String, Awaited>);

struct Awaited {
    agents: BTreeSet<AgentId>,
    /// Ends with the first login that is another one.
    reading: AbortHandle,
}

impl Logins {
    /// Follows what durable records say of holds.
    pub(super) fn follow(&mut self, record: &Record, performers: &Performers, work: &mut Work) {
        let Event::Scheduling(fact) = &record.event else { return };
        let refused_by = match fact {
            SchedulingFact::HoldSet(fact) => fact.refused_by.as_slice(),
            SchedulingFact::HoldEnded(_) => &[],
            SchedulingFact::SchedulerDecision(_)
            | SchedulingFact::ContinuationResolved(_)
            | SchedulingFact::ClosureDecided(_)
            | SchedulingFact::SelfTurnCounted(_)
            | SchedulingFact::UnattendedTurnsExhausted(_)
            | SchedulingFact::UnattendedTurnsRaised(_)
            | SchedulingFact::SleepBegun(_)
            | SchedulingFact::SleepElapsed(_) => return,
        };
        for awaited in self.0.values_mut() {
            awaited.agents.remove(&record.agent);
        }
        for provider in refused_by.iter().filter(|provider| performers.has_login(provider)) {
            let read = |work: &mut Work| work.look(performers.await_login(provider.clone()));
            let awaited = self.0.entry(provider.clone());
            let awaited = awaited.or_insert_with(|| Awaited { agents: BTreeSet::new(), reading: read(work) });
            if awaited.reading.is_finished() {
                awaited.reading = read(work);
            }
            awaited.agents.insert(record.agent.clone());
        }
        self.0.retain(|_, awaited| {
            if awaited.agents.is_empty() {
                awaited.reading.abort();
            }
            !awaited.agents.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use holon_core::Input;
    use holon_facts::event::scheduling::{HoldCause, HoldEnd, HoldEnded, HoldSet};
    use holon_facts::ids::RunId;
    use holon_facts::{EventSeq, StepSeq, Wall};
    use holon_models::built_in::built_in;
    use holon_models::{Providers, Tools};
    use holon_text::{Secrets, Texts};

    use super::*;
    use crate::live::LiveSink;
    use crate::perform::Settings;
    use crate::perform::tool::CommandEnvironment;

    fn record(agent: &str, fact: SchedulingFact) -> Record {
        let (agent, event) = (AgentId::new(agent).unwrap(), Event::Scheduling(fact));
        Record { step: StepSeq(1), agent, event_seq: EventSeq(1), at: Wall(0), event }
    }

    fn held(agent: &str, refused_by: &[&str]) -> Record {
        let refused_by = refused_by.iter().map(|provider| (*provider).to_owned()).collect();
        let (cause, run_id) = (HoldCause::Credentials, RunId(1));
        let fact = HoldSet { cause, run_id, since: Wall(0), step: 0, until: None, budget: None, refused_by };
        record(agent, SchedulingFact::HoldSet(Box::new(fact)))
    }

    fn ended(agent: &str) -> Record {
        let fact = HoldEnded { since: Wall(0), reason: HoldEnd::Stopped };
        record(agent, SchedulingFact::HoldEnded(Box::new(fact)))
    }

    #[tokio::test(start_paused = true)]
    async fn a_login_is_read_while_somebody_waits_for_it_and_no_longer() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().display().to_string();
        let specs = built_in(|name: &str| (name == "CODEX_HOME").then(|| home.clone()));
        let settings = Settings::new(crate::home::Home::at(folder.path()), CommandEnvironment::new([]));
        let providers = Providers::new(specs, Tools::default());
        let texts = Texts::new(Secrets::default(), Box::new(|_| Ok(None)));
        let performers = Performers::new(texts, providers, settings, LiveSink::nobody());
        let (mut logins, mut work) = (Logins::default(), Work::default());
        let mut follow = |record: &Record| logins.follow(record, &performers, &mut work);
        follow(&held("one", &["openai"]));
        follow(&held("one", &["openai-codex"]));
        follow(&held("other", &["openai", "openai-codex"]));
        follow(&ended("one"));
        assert_eq!(logins.0.keys().collect::<Vec<_>>(), ["openai-codex"]);
        let soon = Duration::from_secs(60);
        assert!(tokio::time::timeout(soon, work.next()).await.is_err(), "there is no login yet");
        std::fs::write(folder.path().join("auth.json"), r#"{"tokens": {"access_token": "new"}}"#).unwrap();
        let changed = tokio::time::timeout(soon, work.next()).await.unwrap();
        assert_eq!(changed, Input::LoginChanged { provider: "openai-codex".to_owned() });
        assert!(work.is_empty());
        logins.follow(&held("other", &["openai-codex"]), &performers, &mut work);
        assert!(!work.is_empty(), "it was refused as well");
        logins.follow(&ended("other"), &performers, &mut work);
        assert!(logins.0.is_empty());
        assert!(tokio::time::timeout(soon, work.next()).await.is_err() && work.is_empty());
    }
}
