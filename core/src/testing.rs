//! A host with a scripted world around it: every effect waits until the test answers it. After each step the
//! laws judge its records, the host checks itself, and each agent must be what its log folds to.

mod outcomes;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::config::{Config, SummaryBy};
use holon_facts::content::Text;
use holon_facts::decision::{DeadlineReason, DecisionKind};
use holon_facts::event::operation::OpKind;
use holon_facts::event::workspace::TreeMoment;
use holon_facts::event::{BriefFact, Event, OperationFact, SchedulingFact};
use holon_facts::identity::{AgentKind, AgentSpec, InitialSettings};
use holon_facts::ids::{AgentId, MessageId, OpId, ReplyId, Seed, WorkItemId};
use holon_facts::message::{Ingress, Origin};
use holon_facts::model::{FailureKind, ModelRequest};
use holon_facts::model_ref::ModelRef;
use holon_facts::outcome::Outcome;
use holon_facts::provenance::{AdmissionContext, MessageKind, Priority, Surface};
use holon_facts::record::Record;
use holon_facts::time::{Millis, Mono, Now, Wall};
use holon_facts::work::PlanSeen;
use holon_facts::workspace::ExecutionBinding;
use holon_law::Laws;

use crate::accounts::Accounts;
use crate::agent::Agent;
use crate::agent::budget::Account;
use crate::effect::{AgentView, Answer, Effect, Look, ServerCall, TaskWork, Work, WorkView};
use crate::grants::Loan;
use crate::host::Host;
use crate::input::{ControlRequest, Input};
use crate::prompt::reworded::reworded;
use crate::record::{Durable, Step};
use crate::recovery::{Found, FoundCommand, RecoveryReport};
use crate::turns::TurnsUse;
use crate::view::{decided, past};

pub(crate) use outcomes::*;

/// Steps after which something that should rest counts as running for ever.
const PATIENCE: usize = 10_000;

pub(crate) struct World {
    pub(crate) host: Host,
    pub(crate) laws: Laws,
    /// Everything that was recorded, in order.
    pub(crate) log: Vec<Record>,
    pub(crate) now: Now,
    /// Operations that wait for an outcome.
    pub(crate) open: BTreeMap<(AgentId, OpId), OpKind>,
    /// Every request to a model, in order.
    pub(crate) requests: Vec<ModelRequest>,
    /// Requests as the records before them have it, until they are sent.
    rebuilt: BTreeMap<(AgentId, OpId), ModelRequest>,
    /// Supervisors come up at once; otherwise tests say when.
    pub(crate) prepares: bool,
    /// What a start of the runtime finds of commands, by agent.
    pub(crate) found: BTreeMap<AgentId, Found>,
    /// Commands that were asked to end, and whether at once.
    pub(crate) stops: Vec<(AgentId, OpId, bool)>,
    /// What was to be done about tasks, in order.
    pub(crate) works: Vec<TaskWork>,
    /// Calls of tools of other programs.
    pub(crate) server_calls: Vec<ServerCall>,
    /// What was shown of work items, in order.
    pub(crate) views: Vec<WorkView>,
    /// What agents were shown of themselves, in order.
    pub(crate) seen: Vec<AgentView>,
    /// The generations of addresses that commands were given, in order.
    pub(crate) given_generations: Vec<Option<u64>>,
    /// Agents that have left memory.
    pub(crate) parked: BTreeSet<AgentId>,
    /// Whom a start does not bring into memory.
    pub(crate) left_out: BTreeSet<AgentId>,
    /// Agents that are asked for come back at once.
    pub(crate) loads: bool,
    to_load: Vec<AgentId>,
    /// Plans that are to be looked at, and what is known of each.
    pub(crate) plans: Vec<(WorkItemId, PlanSeen)>,
    /// What was to be lent, in order.
    pub(crate) loans: Vec<Loan>,
    /// What is known of the turns that it uses.
    pub(crate) turns: Option<TurnsUse>,
    /// Where files are to be kept, and when.
    pub(crate) trees: Vec<(ExecutionBinding, TreeMoment)>,
    to_prepare: Vec<(AgentId, OpId)>,
    answers: BTreeMap<ReplyId, Answer>,
    folded: BTreeMap<AgentId, Agent>,
    next_reply: ReplyId,
}

pub(crate) fn agent(name: &str) -> AgentId {
    AgentId::new(name).unwrap()
}

pub(crate) fn config() -> Config {
    let mut config = Config::new(["local/one", "local/two"].map(|name| ModelRef::new(name).unwrap()).into());
    // Tests of summaries turn them on.
    config.context.summary = SummaryBy::Facts;
    config
}

pub(crate) fn spec() -> AgentSpec {
    AgentSpec::named(AgentKind::Named, binding())
}

fn binding() -> ExecutionBinding {
    ExecutionBinding::project("/w", "/w")
}

/// A message of any kind, from where it may come from.
pub(crate) fn ingress(kind: MessageKind, priority: Priority, text: &str) -> Ingress {
    let prompt = Ingress::prompt(Text::short(text), Surface::CliPrompt, AdmissionContext::LocalProcess);
    Ingress { kind, origin: origin_of(kind), priority, ..prompt }
}

pub(crate) fn prompt(text: &str) -> Ingress {
    ingress(MessageKind::OperatorPrompt, Priority::Normal, text)
}

pub(crate) fn interjection(text: &str) -> Ingress {
    ingress(MessageKind::OperatorPrompt, Priority::Interject, text)
}

fn origin_of(kind: MessageKind) -> Origin {
    match kind {
        MessageKind::OperatorPrompt | MessageKind::Control => Origin::Operator { actor_id: None },
        MessageKind::ChannelEvent => Origin::Channel { channel_id: "c".into(), sender_id: None },
        MessageKind::WebhookEvent => Origin::Webhook { source: "w".into(), event_type: None },
        MessageKind::CallbackEvent => Origin::Callback { descriptor_id: "d".into(), source: None },
        MessageKind::TimerTick => Origin::Timer { timer_id: "t".into() },
        MessageKind::SystemTick
        | MessageKind::InternalFollowup
        | MessageKind::BriefAck
        | MessageKind::BriefResult => Origin::System { subsystem: "s".into() },
        MessageKind::TaskResult | MessageKind::TaskStatus => Origin::Task { task_id: "task_1".into() },
    }
}

impl World {
    pub(crate) fn new(config: Config) -> Self {
        Self {
            host: Host::new(config, Seed(7)).unwrap(),
            laws: Laws::new(),
            log: Vec::new(),
            now: Now { mono: Mono(0), wall: Wall(1_700_000_000_000_000) },
            open: BTreeMap::new(),
            requests: Vec::new(),
            rebuilt: BTreeMap::new(),
            prepares: true,
            found: BTreeMap::new(),
            stops: Vec::new(),
            seen: Vec::new(),
            given_generations: Vec::new(),
            works: Vec::new(),
            server_calls: Vec::new(),
            views: Vec::new(),
            parked: BTreeSet::new(),
            left_out: BTreeSet::new(),
            loads: true,
            to_load: Vec::new(),
            plans: Vec::new(),
            loans: Vec::new(),
            turns: None,
            trees: Vec::new(),
            to_prepare: Vec::new(),
            answers: BTreeMap::new(),
            folded: BTreeMap::new(),
            next_reply: ReplyId(1),
        }
    }

    /// A world with one agent.
    pub(crate) fn with_agent(name: &str) -> Self {
        Self::with_config(name, config())
    }

    pub(crate) fn with_config(name: &str, config: Config) -> Self {
        let mut world = Self::new(config);
        world.create(name);
        world
    }

    /// One agent whose providers are away: its message waits under a hold.
    pub(crate) fn held(name: &str) -> Self {
        let mut world = Self::with_agent(name);
        world.admit(name, prompt("go"));
        world.complete(name, context());
        while world.agent(name).hold.is_none() {
            world.complete(name, fails(FailureKind::Server));
            world.pass(Millis::seconds(1));
        }
        world
    }

    pub(crate) fn create(&mut self, name: &str) -> Answer {
        self.create_with(name, InitialSettings::default())
    }

    pub(crate) fn create_with(&mut self, name: &str, settings: InitialSettings) -> Answer {
        self.ask(|reply| Input::CreateAgent { agent: agent(name), spec: spec(), settings, reply })
    }

    pub(crate) fn send(&mut self, name: &str, ingress: Ingress) -> Answer {
        self.ask(|reply| Input::Ingress { agent: agent(name), ingress, reply })
    }

    /// Sends what must be admitted.
    pub(crate) fn admit(&mut self, name: &str, ingress: Ingress) -> MessageId {
        let answer = self.send(name, ingress);
        let Answer::Admitted { message_id, .. } = answer else { panic!("not admitted: {answer:?}") };
        message_id
    }

    pub(crate) fn control(&mut self, name: &str, request: ControlRequest) -> Answer {
        self.ask(|reply| Input::Control { agent: agent(name), request, reply })
    }

    pub(crate) fn drain(&mut self) -> Answer {
        self.ask(|reply| Input::Drain { reply })
    }

    /// What the agent's one open operation waits for.
    pub(crate) fn waits_for(&self, name: &str) -> Option<OpKind> {
        let mut open = self.open.iter().filter(|((agent, _), _)| agent.as_str() == name);
        open.next().map(|(_, kind)| *kind)
    }

    /// Answers the agent's one open operation.
    pub(crate) fn complete(&mut self, name: &str, outcome: Outcome) {
        let open = self.open.keys().find(|(agent, _)| agent.as_str() == name).cloned();
        let (agent, op) = open.unwrap_or_else(|| panic!("{name} has no open operation"));
        self.open.remove(&(agent.clone(), op));
        self.step(Input::Completed { agent, op, outcome });
    }

    /// Answers the agent's first open operation of a kind.
    pub(crate) fn complete_one(&mut self, name: &str, kind: OpKind, outcome: Outcome) {
        let fits =
            |((agent, _), open): &(&(AgentId, OpId), &OpKind)| agent.as_str() == name && **open == kind;
        let open = self.open.iter().find(fits).map(|(open, _)| open.clone());
        let (agent, op) = open.unwrap_or_else(|| panic!("{name} has no {kind}: {:?}", self.open));
        self.open.remove(&(agent.clone(), op));
        self.step(Input::Completed { agent, op, outcome });
    }

    /// Lets time pass on both clocks, stopping at no deadline in between.
    pub(crate) fn pass(&mut self, time: Millis) {
        self.now.mono = self.now.mono.after(time);
        self.now.wall = self.now.wall.after(time);
        self.step(Input::Tick);
    }

    /// Lets time pass until the next deadline; false when nothing is armed.
    pub(crate) fn pass_to_deadline(&mut self) -> bool {
        let Some(deadline) = self.host.next_deadline() else { return false };
        self.pass(Millis(deadline.wait.0.saturating_add(1)));
        true
    }

    /// The process ends; a new host reads the log and recovers every agent.
    pub(crate) fn crash(&mut self) {
        let config = self.host.config().clone();
        self.restart(config);
    }

    pub(crate) fn restart(&mut self, config: Config) {
        self.host = Host::new(config, Seed(7)).unwrap();
        self.host.resume_after(self.log.last().map_or_else(Default::default, |record| record.step));
        self.host.resume_accounts(self.accounts(Accounts::add_absent));
        self.open.clear();
        self.to_prepare.clear();
        self.to_load.clear();
        self.parked.clear();
        let (agents, out): (Vec<AgentId>, Vec<AgentId>) =
            self.folded.keys().cloned().partition(|id| !self.left_out.contains(id));
        self.parked.extend(out);
        for id in &agents {
            let log = self.log.iter().filter(|record| record.agent == *id).cloned();
            assert_eq!(self.host.admit(None, log), Ok(id.clone()));
        }
        for id in &agents {
            let step = self.host.recover(self.now, id, self.report(id));
            self.take(step);
        }
        self.settle();
        self.load();
        self.rests();
    }

    /// Lets an agent leave memory; it has to have nothing to do.
    pub(crate) fn evict(&mut self, name: &str) {
        assert!(self.host.evict(&agent(name)).is_some(), "{name} has something to do");
        self.parked.insert(agent(name));
    }

    /// Lets it leave memory if it has nothing to do.
    pub(crate) fn evict_if_idle(&mut self, name: &str) {
        if self.host.evict(&agent(name)).is_some() {
            self.parked.insert(agent(name));
        }
    }

    /// Brings an agent back that has left memory.
    pub(crate) fn bring_in(&mut self, id: &AgentId) {
        if self.parked.remove(id) {
            let log = self.log.iter().filter(|record| record.agent == *id).cloned();
            assert_eq!(self.host.admit(None, log), Ok(id.clone()));
            let step = self.host.recover(self.now, id, self.report(id));
            if self.take(step) {
                self.settle();
            }
        }
    }

    /// What all agents have spent, one added after the other.
    fn accounts(&self, add: impl Fn(&mut Accounts, &Account)) -> Accounts {
        let mut accounts = Accounts::default();
        self.folded.values().for_each(|agent| add(&mut accounts, &agent.account));
        accounts
    }

    /// What the supervisors of the agent's commands say when they are asked.
    fn report(&self, id: &AgentId) -> RecoveryReport {
        let (Some(agent), Some(found)) = (self.host.agent(id), self.found.get(id)) else {
            return RecoveryReport::default();
        };
        let command = |&op: &OpId| FoundCommand::new(op, found.clone());
        RecoveryReport { commands: agent.ops.keys().map(command).collect() }
    }

    /// One input, then as many ticks as the host asks for.
    pub(crate) fn step(&mut self, input: Input) {
        if let Some(whose) = input.agent().cloned() {
            self.bring_in(&whose);
        }
        let step = self.host.step(self.now, input);
        if self.take(step) {
            self.settle();
        }
        while let Some((agent, op)) = self.to_prepare.pop() {
            self.step(Input::Completed { agent, op, outcome: prepared() });
        }
        self.load();
        self.rests();
    }

    /// Whoever was asked for comes in.
    fn load(&mut self) {
        while self.loads
            && let Some(agent) = self.to_load.pop()
        {
            self.bring_in(&agent);
        }
    }

    pub(crate) fn agent(&self, name: &str) -> &Agent {
        self.host.view().agent(&agent(name)).unwrap()
    }

    /// The kinds of the records from a position of the log on.
    pub(crate) fn kinds(&self, from: usize) -> Vec<&'static str> {
        self.log[from..].iter().map(|record| record.event.kind()).collect()
    }

    /// The texts of the briefs so far, with their kinds.
    pub(crate) fn briefs(&self) -> Vec<String> {
        let brief = |record: &Record| {
            let Event::Brief(BriefFact::BriefCreated(fact)) = &record.event else { return None };
            Some(alloc::format!("{}: {}", fact.kind, fact.text.preview()))
        };
        self.log.iter().filter_map(brief).collect()
    }

    pub(crate) fn ask(&mut self, input: impl FnOnce(ReplyId) -> Input) -> Answer {
        let reply = self.next_reply;
        self.next_reply = reply.next();
        self.step(input(reply));
        self.answers.remove(&reply).expect("every caller is answered")
    }

    /// Asks what may be answered later: when an operation has ended, or never in this process.
    pub(crate) fn later(&mut self, input: impl FnOnce(ReplyId) -> Input) -> ReplyId {
        let reply = self.next_reply;
        self.next_reply = reply.next();
        self.step(input(reply));
        reply
    }

    /// What a caller was shown, if anything yet.
    pub(crate) fn answer(&mut self, reply: ReplyId) -> Option<Answer> {
        self.answers.remove(&reply)
    }

    fn settle(&mut self) {
        for _ in 0..PATIENCE {
            let step = self.host.step(self.now, Input::Tick);
            if !self.take(step) {
                return;
            }
        }
        panic!("the host never rests");
    }

    /// Whatever was sent is to be rendered again from what is on record before it, and whatever was decided to be decided again.
    fn rebuild(&mut self, record: &Record) {
        if let Event::Scheduling(SchedulingFact::SchedulerDecision(decision)) = &record.event {
            let agent = self.folded.get(&record.agent).unwrap();
            let again = decided::recorded(agent, self.host.config(), (decision, record.at));
            assert!(again.as_recorded, "{:?} instead of {decision:?} from {:?}", again.decision, again.facts);
        }
        let Event::Operation(OperationFact::OperationOpened(fact)) = &record.event else { return };
        if fact.kind == OpKind::Summarize {
            let agent = self.folded.get(&record.agent).unwrap();
            let request = past::summary(agent, self.host.config()).unwrap();
            let again = past::rendered_summary(agent, self.host.config()).map(|again| again.record);
            assert_eq!(fact.request.as_deref(), again.as_ref());
            self.rebuilt.insert((record.agent.clone(), fact.op), request);
        }
        if fact.kind == OpKind::CallModel {
            let agent = self.folded.get(&record.agent).unwrap();
            let request = past::request(agent, self.host.config()).unwrap();
            let again = past::rendered(agent, self.host.config()).map(|again| again.record);
            assert_eq!(fact.request.as_deref(), again.as_ref());
            self.rebuilt.insert((record.agent.clone(), fact.op), request);
        }
    }

    /// Judges a step and takes its effects; says whether there is more.
    fn take(&mut self, step: Step) -> bool {
        for record in step.records() {
            if let Err(violation) = self.laws.step(record) {
                panic!("{violation}\n{:#?}", record.event);
            }
            let event = &record.event;
            let read = Event::decode(event.kind(), event.version(), &event.payload().unwrap());
            assert_eq!(read.as_ref(), Ok(event), "a record does not read back");
            self.rebuild(record);
            // Whatever the prompts of another build say: the fold is the same.
            reworded(|| match self.folded.get_mut(&record.agent) {
                Some(agent) => agent.fold(record).unwrap(),
                None => drop(self.folded.insert(record.agent.clone(), Agent::created(record).unwrap())),
            });
        }
        self.host.check().unwrap();
        assert_eq!(*self.host.accounts(), self.accounts(Accounts::add), "accounts do not add up");
        for (id, agent) in self.folded.iter().filter(|(id, _)| !self.parked.contains(*id)) {
            assert_eq!(self.host.view().agent(id), Some(agent), "{id} is not what its log says");
        }
        self.log.extend_from_slice(step.records());
        let (more, seq) = (step.more(), step.seq());
        #[expect(clippy::disallowed_methods, reason = "this log is durable at once")]
        let durable = Durable::attest(seq);
        for effect in step.release(durable) {
            self.perform(effect);
        }
        more
    }

    /// At rest there is nothing left to decide, whatever is under way has something that ends it, and nobody is at work
    /// for nothing.
    fn rests(&self) {
        for (id, op) in self.open.keys() {
            let open = self.host.agent(id).is_some_and(|agent| agent.ops.contains_key(op));
            assert!(open, "somebody is at work for {op} of {id}, which is settled");
        }
        for id in self.folded.keys().filter(|id| !self.parked.contains(*id)) {
            let decision = self.host.view().explain(id).unwrap().decision;
            assert!(decision.rests(), "{id} rests and should not: {decision:?}");
            let agent = self.host.agent(id).unwrap();
            let waits = decision.kind == DecisionKind::WaitForTimer && agent.inbox.queued_entries() > 0;
            // Where slots are lent, whoever is in line for one that was called back decides again when there is one.
            let lent = self.host.config().lent_turns.is_some();
            let in_line = || self.host.view().waiting_for_slot().any(|waiting| waiting == id);
            let armed = self.host.next_deadline().is_some() || (lent && in_line());
            assert!(!waits || armed, "{id} waits for nothing: {decision:?}");
            let backs_off = || {
                let deadlines = self.host.deadlines_of(id);
                deadlines.iter().any(|deadline| deadline.reason == DeadlineReason::Backoff)
            };
            let goes_on = agent.run.is_none() || !agent.run_ops().is_empty() || backs_off();
            assert!(goes_on, "{id} has a run that nothing will end: {:?}", agent.run);
        }
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Reply { reply, answer } => {
                assert!(self.answers.insert(reply, answer).is_none(), "{reply} is answered twice");
            }
            Effect::Perform { agent, op, work } => self.begin(agent, op, work),
            Effect::Cancel { agent, op } => {
                self.open.remove(&(agent, op));
            }
            Effect::LoadChild { child, .. } => self.to_load.push(child),
            Effect::ProbePlan { item, known, .. } => self.plans.push((item, known)),
            Effect::KeepTree { execution, moment, .. } => self.trees.push((execution, moment)),
            Effect::Borrow { loan } => self.loans.push(loan),
            Effect::ShareTurns { used } => self.turns = Some(used),
            Effect::StopCommand { agent, op, force } => self.stops.push((agent, op, force)),
        }
    }

    fn begin(&mut self, agent: AgentId, op: OpId, work: Work) {
        let kind = work.kind();
        match work {
            Work::CallModel { request } | Work::Summarize { request } => {
                let rebuilt = self.rebuilt.remove(&(agent.clone(), op));
                assert_eq!(rebuilt.as_ref(), Some(&request), "a request is not what its records have");
                self.requests.push(request);
            }
            Work::PrepareCommand { trigger_generation, .. } => {
                self.given_generations.push(trigger_generation);
                if self.prepares {
                    self.to_prepare.push((agent, op));
                    return;
                }
            }
            Work::CallWork { view } => self.views.push(view),
            Work::Look { looks } => looks.into_iter().for_each(|look| match look {
                Look::Work { view } => self.views.push(view),
                Look::Agent { view } => self.seen.push(view),
                Look::Tasks { .. } | Look::Task { .. } => {}
            }),
            Work::CallTask { work } => self.works.push(work),
            Work::CallServer { call } => self.server_calls.push(call),
            Work::LoadContext { .. }
            | Work::CallTool { .. }
            | Work::RunCommand { .. }
            | Work::WatchCommand { .. }
            | Work::PrepareAgent { .. }
            | Work::FindWorkspace { .. }
            | Work::RemoveWorktree { .. } => {}
        }
        assert!(self.open.insert((agent, op), kind).is_none(), "an operation is opened twice");
    }
}
