//! What was promised, in a small model of its own: which messages exist and where each of them is, whether
//! an agent may run, what a caller must be told. It reads calls and records, and shares no code with the
//! core; recovery is nothing special to it.

mod admission;
mod agent;

use std::collections::BTreeMap;

use holon_core::event::{InboxFact, LifecycleFact};
use holon_core::input::ControlRequest;
use holon_core::lifecycle::Status;
use holon_core::model::ModelRef;
use holon_core::replay::Call;
use holon_core::{AgentId, Answer, Config, Event, Input, MessageId, Record, ReplyId};

use crate::failure::{Failure, ensure};
use agent::Model;

/// All agents as far as anybody was promised anything.
#[derive(Debug, Clone)]
pub struct Reference {
    config: Config,
    agents: BTreeMap<AgentId, Model>,
    draining: bool,
    expected: BTreeMap<ReplyId, Vec<Told>>,
    /// The authority of every message of an agent, in the order of admission.
    authority: BTreeMap<AgentId, Vec<&'static str>>,
    /// A reference that is broken on purpose: nothing fits a queue.
    pub(crate) no_room: bool,
    /// Messages that were admitted.
    pub(crate) admissions: u64,
}

/// An answer without its wording.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Told {
    Created,
    Admitted { message: MessageId, duplicate: bool },
    Refused(&'static str),
    Controlled { stopped: bool, changed: bool },
    ModelSet { model: Option<ModelRef>, changed: bool },
    Drained,
}

impl Reference {
    pub fn new(config: Config) -> Self {
        Self {
            config,
            agents: BTreeMap::new(),
            draining: false,
            expected: BTreeMap::new(),
            authority: BTreeMap::new(),
            no_room: false,
            admissions: 0,
        }
    }

    /// One call of the host, with the records that it brought.
    pub fn step(&mut self, call: &Call, records: &[Record]) -> Result<(), Failure> {
        let input = match call {
            Call::RuntimeStarted { config, .. } => {
                self.draining = false;
                self.config = config.clone();
                return Ok(());
            }
            Call::Admit { .. } | Call::Park { .. } | Call::Copy { .. } => return Ok(()),
            Call::Recover { .. } => None,
            Call::Step { input, .. } => Some(input),
        };
        let before = input.map(|input| self.before(input)).unwrap_or_default();
        if let Some(Input::Control { agent, request, .. }) = input {
            self.command(agent, request);
        }
        // So does a model: a turn that begins in the same step has it already.
        if let Some(Input::SetModel { agent, model, .. }) = input
            && let Some(known) = self.agents.get_mut(agent)
        {
            known.model.clone_from(model);
        }
        for record in records {
            self.record(record)?;
            if let (Event::Inbox(InboxFact::MessageAdmitted(_)), Some(Input::Ingress { ingress, .. })) =
                (&record.event, input)
            {
                self.admissions += 1;
                let of_agent = self.authority.entry(record.agent.clone()).or_default();
                of_agent.push(admission::authority(ingress.kind));
            }
        }
        if let Some(input) = input {
            self.expect(input, &before, records);
        }
        Ok(())
    }

    /// A start or a stop counts from the moment at which it is given.
    fn command(&mut self, agent: &AgentId, request: &ControlRequest) {
        if let Some(model) = self.agents.get_mut(agent) {
            match request {
                ControlRequest::Start => model.stopped = false,
                ControlRequest::Stop => model.stopped = true,
                ControlRequest::Abort { .. } => {}
            }
        }
    }

    fn record(&mut self, record: &Record) -> Result<(), Failure> {
        if let Event::Lifecycle(LifecycleFact::AgentCreated(_)) = &record.event {
            let before = self.agents.insert(record.agent.clone(), Model::default());
            ensure!(before.is_none(), "Q9", "{} was created twice", record.agent);
            return Ok(());
        }
        let model = self.agents.get_mut(&record.agent);
        ensure!(model.is_some(), "Q9", "a record of {}, which was never created", record.agent);
        let no_room = self.no_room;
        model.map_or(Ok(()), |model| model.apply(record, &self.config, no_room))
    }

    fn before(&self, input: &Input) -> Before {
        let agent = match input {
            Input::CreateAgent { agent, .. }
            | Input::Ingress { agent, .. }
            | Input::Control { agent, .. }
            | Input::SetModel { agent, .. } => self.agents.get(agent).cloned(),
            // Nobody is told anything about one agent.
            Input::Completed { .. } | Input::Tick | Input::Drain { .. } => None,
        };
        Before { agent, agents: self.agents.len() as u64 }
    }

    /// What the caller must be told, and what changes by its word alone.
    fn expect(&mut self, input: &Input, before: &Before, records: &[Record]) {
        let (reply, told) = match input {
            Input::CreateAgent { reply, .. } => (*reply, self.creation(before)),
            Input::Ingress { agent, ingress, reply } => {
                let after = self.agents.get(agent);
                let told = match (&before.agent, after) {
                    (Some(before), Some(after)) => {
                        admission::expected(&self.config, self.draining, before, after, ingress)
                    }
                    (None, _) | (_, None) => vec![Told::Refused("unknown_agent")],
                };
                (*reply, told)
            }
            Input::Control { agent, request, reply } => {
                let applied = records.iter().any(|record| {
                    matches!(record.event, Event::Lifecycle(LifecycleFact::ControlApplied(_)))
                        && record.agent == *agent
                });
                (*reply, self.control(agent, request, before, applied))
            }
            Input::SetModel { agent, model, reply } => {
                let told = match &before.agent {
                    None => Told::Refused("unknown_agent"),
                    Some(was) => Told::ModelSet { model: model.clone(), changed: was.model != *model },
                };
                (*reply, vec![told])
            }
            Input::Drain { reply } => {
                self.draining = true;
                (*reply, vec![Told::Drained])
            }
            Input::Completed { .. } | Input::Tick => return,
        };
        self.expected.insert(reply, told);
    }

    fn creation(&self, before: &Before) -> Vec<Told> {
        let told = if before.agent.is_some() {
            Told::Refused("agent_exists")
        } else if self.draining {
            Told::Refused("draining")
        } else if before.agents >= self.config.limits.agents {
            Told::Refused("too_many_agents")
        } else {
            Told::Created
        };
        vec![told]
    }

    fn control(
        &mut self,
        agent: &AgentId,
        request: &ControlRequest,
        before: &Before,
        applied: bool,
    ) -> Vec<Told> {
        let (Some(model), Some(was)) = (self.agents.get_mut(agent), &before.agent) else {
            return vec![Told::Refused("unknown_agent")];
        };
        match request {
            ControlRequest::Start => {
                vec![Told::Controlled { stopped: false, changed: was.stopped }]
            }
            ControlRequest::Stop => {
                vec![Told::Controlled { stopped: true, changed: !was.stopped }]
            }
            ControlRequest::Abort { run_id, stop_after_abort } => {
                let fits = was.run.is_some_and(|(run, _)| run_id.is_none_or(|asked| asked == run));
                if fits && applied {
                    model.stopped = *stop_after_abort;
                    return vec![Told::Controlled { stopped: *stop_after_abort, changed: true }];
                }
                // A run that a deadline ended at the beginning of the step is no longer there.
                match was.run {
                    Some(_) if fits => vec![Told::Refused("no_current_run")],
                    Some(_) => vec![Told::Refused("stale_run_id"), Told::Refused("no_current_run")],
                    None => vec![Told::Refused("no_current_run")],
                }
            }
        }
    }

    /// A caller was answered; says whether that is what was due.
    pub fn answered(&mut self, reply: ReplyId, answer: &Answer) -> Result<(), Failure> {
        let got = match answer {
            Answer::Created { .. } => Told::Created,
            Answer::Admitted { message_id, duplicate } => {
                Told::Admitted { message: *message_id, duplicate: *duplicate }
            }
            Answer::Controlled(outcome) => {
                Told::Controlled { stopped: outcome.next == Status::Stopped, changed: outcome.changed }
            }
            Answer::ModelSet { state, changed } => {
                Told::ModelSet { model: state.override_model.clone(), changed: *changed }
            }
            Answer::Drained => Told::Drained,
            Answer::Refused { reject } => Told::Refused(reject.code()),
        };
        let expected = self.expected.remove(&reply);
        ensure!(expected.is_some(), "Q6", "an answer to nobody: {got:?}");
        let expected = expected.unwrap_or_default();
        ensure!(expected.contains(&got), "G5", "a caller was told {got:?}, expected one of {expected:?}");
        Ok(())
    }

    pub fn stopped(&self, agent: &AgentId) -> Option<bool> {
        self.agents.get(agent).map(|model| model.stopped)
    }

    /// The authority that a message was admitted with.
    pub fn authority(&self, agent: &AgentId, message: MessageId) -> Option<&'static str> {
        let at = usize::try_from(message.0.checked_sub(1)?).ok()?;
        self.authority.get(agent)?.get(at).copied()
    }

    /// How many keys an agent may have to remember.
    pub fn keys(&self, agent: &AgentId) -> u64 {
        self.agents.get(agent).map_or(0, |model| model.keys.len() as u64)
    }

    pub fn holds(&self, agent: &AgentId, message: MessageId) -> bool {
        self.agents.get(agent).is_some_and(|model| message.0 <= model.last)
    }

    /// An admitted message of an agent that has not come to an end.
    pub fn unfinished(&self, agent: &AgentId) -> Option<MessageId> {
        self.agents.get(agent).and_then(Model::unfinished)
    }

    /// Agents that should be at work although nothing keeps them: started, idle, something queued.
    pub fn idle_with_work(&self) -> impl Iterator<Item = &AgentId> {
        self.agents
            .iter()
            .filter(|(_, model)| !model.stopped && model.run.is_none() && model.has_queued())
            .map(|(id, _)| id)
    }

    pub fn running(&self) -> u64 {
        self.agents.values().filter(|model| model.run.is_some()).count() as u64
    }

    pub fn draining(&self) -> bool {
        self.draining
    }
}

/// How things stood before a call.
#[derive(Debug, Default)]
struct Before {
    agent: Option<Model>,
    agents: u64,
}
