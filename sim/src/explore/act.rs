//! Makes a move: calls the host, checks each step, puts its row on the disk, lets effects leave.

use std::sync::Arc;

use holon_core::agent::{Agent, OpenOp};
use holon_core::effect::Work;
use holon_core::record::Step;
use holon_core::replay::Call;
use holon_core::{Answer, Effect, Input};
use holon_facts::event::operation::OpKind;
use holon_facts::ids::{Seed, TaskId};
use holon_facts::task::TaskStatus;
use holon_facts::{AgentId, OpId, Outcome, ReplyId};

use super::command::Working;
use super::situation::{Setting, Situation};
use super::small_disk::{Image, Row as DiskRow, SmallEffect};
use super::{Ending, Move, Pot, Sabotage};
use crate::disk::{Row, effects_of};
use crate::failure::{Failure, ensure, liveness};
use crate::ingress::{self, Request};
use crate::scenario::Action;
use crate::{commands, provider};

/// More steps than this without an input are a hot loop.
const AT_ONCE: u32 = 100;

/// The newest operation of an agent that has ended.
pub(super) fn over(agent: &Agent) -> Option<OpId> {
    (1..agent.next.op.0).rev().map(OpId).find(|op| !agent.ops.contains_key(op))
}

impl Situation {
    /// Makes a move that is possible here.
    pub(super) fn act(&mut self, setting: Setting<'_>, step: Move) -> Result<(), Failure> {
        match step {
            Move::Ask(at) => {
                self.left.offers[usize::from(at)] -= 1;
                self.ask(setting, at)?;
            }
            Move::Again(at) => {
                self.outside.cut_off.remove(&at);
                self.ask(setting, at)?;
            }
            Move::Start(agent) => {
                self.request(setting, &Request { agent: agent.into(), action: Action::Start }, None)?;
            }
            Move::Dismiss(agent) => self.dismiss(setting, agent)?,
            Move::End(agent, nth, ending) => self.end(setting, agent, nth, ending)?,
            Move::Stray(agent) => self.stray(setting, agent)?,
            Move::Pass => self.pass(),
            Move::Ring => {
                self.due = false;
                if setting.sabotage != Some(Sabotage::LoseWake) {
                    self.input(setting, Input::Tick)?;
                    self.load_due(setting)?;
                }
            }
            Move::Sync => self.sync(setting)?,
            Move::Crash(kept) => self.crash(setting, kept.into())?,
            Move::Finish(agent, nth, ending) => self.finish(setting, agent, nth, ending),
            Move::Lose(agent, nth) => self.lose(agent, nth),
            Move::Boot => self.boot(setting)?,
            Move::Leave => self.leave()?,
            Move::Park(agent) => self.park(agent)?,
        }
        if setting.world.bounds.ahead == 0 {
            self.sync(setting)?;
        }
        self.forget_supervisors();
        self.performers()
    }

    fn ask(&mut self, setting: Setting<'_>, at: u8) -> Result<(), Failure> {
        let Some(offer) = setting.world.offers.get(usize::from(at)) else { return Ok(()) };
        let request = Request { agent: offer.agent.into(), action: offer.action.clone() };
        self.request(setting, &request, Some(at))
    }

    fn dismiss(&mut self, setting: Setting<'_>, number: u8) -> Result<(), Failure> {
        let Some(action) = self.dismissal(number) else { return Ok(()) };
        self.request(setting, &Request { agent: number.into(), action }, None)
    }

    /// Handles a request from outside.
    pub(super) fn request(
        &mut self,
        setting: Setting<'_>,
        request: &Request,
        at: Option<u8>,
    ) -> Result<(), Failure> {
        self.outside.next_reply += 1;
        let reply = ReplyId(self.outside.next_reply);
        self.outside.waiting.insert(reply, at);
        match ingress::input(request, Seed(1), reply) {
            Some(input) => self.input(setting, input),
            None => Ok(()),
        }
    }

    pub(super) fn pay(&mut self, pot: Pot) {
        if let Some(left) = self.left_in(pot) {
            *left -= 1;
        }
    }

    pub(super) fn pay_for(&mut self, setting: Setting<'_>, ending: Ending) {
        let pot = setting.world.endings.iter().find(|(known, _)| *known == ending);
        self.pay(pot.map_or(Pot::Free, |(_, pot)| *pot));
    }

    fn end(&mut self, setting: Setting<'_>, number: u8, nth: u8, ending: Ending) -> Result<(), Failure> {
        self.pay_for(setting, ending);
        let named = self.outside.at_work.keys().filter(|(agent, _)| *agent == number).nth(nth.into());
        let Some(working) = named.copied().and_then(|named| self.outside.at_work.remove(&named)) else {
            return Ok(());
        };
        let Some(agent) = self.agent(number).map(|agent| agent.id.clone()) else { return Ok(()) };
        let op = working.op;
        let mut outcome = ending.outcome(&working, self.round(number), self.now().wall);
        let task = self.agent(number).and_then(|agent| agent.task_of(op));
        if working.kind == OpKind::RunCommand {
            self.exits(number, op, &outcome);
        }
        let truth = outcome.clone();
        if let (Some(Sabotage::MisreportEnd), Outcome::Tool { outcome }) = (setting.sabotage, &mut outcome) {
            outcome.receipt.facts.exit_status = Some(77);
        }
        self.input(setting, Input::Completed { agent, op, outcome })?;
        task.map_or(Ok(()), |task| self.check_end(number, task, &truth))
    }

    /// P8: the recorded end of a task is the end of its command.
    fn check_end(&self, number: u8, task: TaskId, truth: &Outcome) -> Result<(), Failure> {
        let Outcome::Tool { outcome } = truth else { return Ok(()) };
        let Some(task) = self.agent(number).and_then(|agent| agent.tasks.get(task)) else { return Ok(()) };
        let recorded = (task.status, task.end.as_ref().and_then(|end| end.exit_status));
        let right = commands::status_of(outcome);
        // A deadline may have come first.
        ensure!(
            recorded == right || task.status == TaskStatus::Interrupted,
            "P8",
            "{} ends {recorded:?}, right is {right:?}",
            task.id
        );
        Ok(())
    }

    /// The round of an agent's run, counted with earlier runs of its message.
    pub(super) fn round(&self, number: u8) -> usize {
        let run = self.agent(number).and_then(|agent| agent.run.as_ref());
        run.map_or(0, |run| run.conversation.rounds.len())
    }

    /// L8: an outcome of an ended operation changes nothing.
    fn stray(&mut self, setting: Setting<'_>, number: u8) -> Result<(), Failure> {
        self.pay(Pot::Strays);
        let Some(agent) = self.agent(number) else { return Ok(()) };
        let (Some(op), before) = (over(agent), agent.event_seq) else { return Ok(()) };
        let (agent, due) = (agent.id.clone(), self.due);
        let stray = Working::new(number, op, OpKind::CallModel);
        let outcome = Ending::Plain.outcome(&stray, 0, self.now().wall);
        self.input(setting, Input::Completed { agent: agent.clone(), op, outcome })?;
        let after = self.checks.agents().get(&agent).map(|agent| agent.event_seq);
        ensure!(
            due || after == Some(before),
            "L8",
            "{op} of {agent} is over, and its outcome changed something"
        );
        Ok(())
    }

    fn pass(&mut self) {
        if let Some(pot) = self.passing() {
            self.pay(pot);
        }
        let own = self.host.as_ref().and_then(|host| host.next_deadline()).map(|deadline| deadline.wait);
        if let Some(wait) = own.into_iter().chain(self.absent_wait()).min() {
            self.at += wait.0.saturating_mul(1_000);
            self.due = true;
        }
    }

    /// One input, and as many further steps as the host asks for.
    pub(super) fn input(&mut self, setting: Setting<'_>, input: Input) -> Result<(), Failure> {
        if setting.sabotage != Some(Sabotage::ForgetParked) {
            self.bring_in(&input)?;
        }
        let now = self.now();
        let Some(host) = &mut self.host else { return Ok(()) };
        let step = host.step(now, input.clone());
        self.due = false;
        let more = self.take(setting, Call::Step { now, input }, step, true)?;
        self.follow_up(setting, more)
    }

    pub(super) fn follow_up(&mut self, setting: Setting<'_>, mut more: bool) -> Result<(), Failure> {
        let mut steps = 0;
        while more && setting.sabotage != Some(Sabotage::IgnoreMore) {
            let now = self.now();
            let Some(host) = &mut self.host else { return Ok(()) };
            let step = host.step(now, Input::Tick);
            more = self.take(setting, Call::Step { now, input: Input::Tick }, step, true)?;
            steps += 1;
            if steps > AT_ONCE {
                return Err(liveness("T7", format!("more than {AT_ONCE} steps at one moment")));
            }
        }
        Ok(())
    }

    /// Checks a step and puts its row on the disk; returns whether the host asks for another step.
    pub(super) fn take(
        &mut self,
        setting: Setting<'_>,
        call: Call,
        step: Step,
        settles: bool,
    ) -> Result<bool, Failure> {
        let Some(host) = &self.host else { return Ok(false) };
        let (now, at, seq, more) = (self.now(), self.at, step.seq(), step.more());
        let row = Row::new(call, Some(seq), step.records().to_vec());
        let checks = Arc::make_mut(&mut self.checks);
        checks.row(&row)?;
        checks.time(&row, now, at)?;
        checks.live(host, settles && !more)?;
        checks.fold_is_live(host)?;
        let mut effects = Vec::new();
        for effect in effects_of(step) {
            if let Effect::Perform { work: Work::CallModel { request }, .. } = &effect {
                provider::check_request(request, &setting.world.config.context)?;
            }
            effects.push(SmallEffect::of(effect));
        }
        // A row without records and effects is not kept: nothing waits for it.
        if !row.records.is_empty() || !effects.is_empty() {
            let image = Image { checks: self.checks.clone(), step: seq };
            self.disk.pending.push(DiskRow { image, effects });
        }
        Ok(more)
    }

    /// Syncs the disk; effects leave in the order of their steps.
    pub(super) fn sync(&mut self, setting: Setting<'_>) -> Result<(), Failure> {
        for effect in self.disk.sync() {
            match effect {
                SmallEffect::Reply { reply, answer } => self.reply(setting, reply, &answer)?,
                SmallEffect::Begin { kind: OpKind::CallModel, .. }
                    if setting.sabotage == Some(Sabotage::LoseEffect) => {}
                SmallEffect::Begin { agent, op, kind } => self.begin(&agent, op, kind)?,
                SmallEffect::Word { agent, op, supervisor } => self.go(&agent, op, &supervisor)?,
                SmallEffect::Watch { agent, op, supervisor } => self.watch(&agent, op, &supervisor)?,
                SmallEffect::Prepare { agent, op, command } => self.prepare(setting, &agent, op, command)?,
                SmallEffect::Stop { agent, op } => self.asked(&agent, op)?,
                SmallEffect::Load { child } => self.load(setting, &child)?,
                SmallEffect::Look => {}
                SmallEffect::Cancel { agent, op } => {
                    let number = self.number_of(&agent);
                    self.outside.at_work.remove(&(number, op));
                    self.kill(number, op);
                }
            }
        }
        Ok(())
    }

    /// A performer begins an operation.
    pub(super) fn begin(&mut self, agent: &AgentId, op: OpId, kind: OpKind) -> Result<(), Failure> {
        let number = self.number_of(agent);
        let exclusive = |kind: OpKind| [OpKind::LoadContext, OpKind::CallModel].contains(&kind);
        let mut all = self.outside.at_work.values();
        let other =
            all.find(|other| other.agent == number && exclusive(other.kind)).filter(|_| exclusive(kind));
        ensure!(other.is_none(), "T3", "{op} of {agent} begins while {other:?} is under way");
        let again = self.outside.at_work.insert((number, op), Working::new(number, op, kind));
        ensure!(again.is_none(), "P6", "{op} of {agent} begins twice");
        Ok(())
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
    fn reply(&mut self, setting: Setting<'_>, reply: ReplyId, answer: &Answer) -> Result<(), Failure> {
        if setting.sabotage == Some(Sabotage::SwallowReply) {
            return Ok(());
        }
        let waiting = self.outside.waiting.remove(&reply);
        ensure!(waiting.is_some(), "Q6", "reply {reply} goes to nobody: {answer:?}");
        Arc::make_mut(&mut self.checks).reference.answered(reply, answer)?;
        match answer {
            Answer::Drained => self.outside.leaving = true,
            Answer::Refused { reject } if reject.code() == "draining" => {
                let again = waiting.flatten().filter(|at| setting.world.repeatable(*at));
                self.outside.cut_off.extend(again);
            }
            _ => {}
        }
        for agent in self.disk.durable.checks.agents().values() {
            self.outside.shown.insert(agent.id.clone(), agent.event_seq);
        }
        Ok(())
    }

    /// P5: once all effects have left, each open operation has a performer, and no other operation has one. A child
    /// performs the operation that supervises it.
    fn performers(&self) -> Result<(), Failure> {
        if self.host.is_none() || !self.disk.pending.is_empty() {
            return Ok(());
        }
        for (number, agent) in self.agents() {
            let waits = |open: &OpenOp| [OpKind::AwaitTask, OpKind::SuperviseChild].contains(&open.kind);
            let open: Vec<OpId> =
                agent.ops.iter().filter(|(_, open)| !waits(open)).map(|(op, _)| *op).collect();
            let working = self.outside.at_work.keys().filter(|(agent, _)| *agent == number);
            let working: Vec<OpId> = working.map(|(_, op)| *op).collect();
            ensure!(open == working, "P5", "{}: {open:?} is open, {working:?} is worked on", agent.id);
        }
        Ok(())
    }

    pub(super) fn number_of(&self, agent: &AgentId) -> u8 {
        self.agents().find(|(_, known)| known.id == *agent).map_or(0, |(number, _)| number)
    }

    fn bring_in(&mut self, input: &Input) -> Result<(), Failure> {
        match input {
            Input::CreateAgent { agent, .. }
            | Input::Ingress { agent, .. }
            | Input::Control { agent, .. }
            | Input::SetModel { agent, .. }
            | Input::Label { agent, .. }
            | Input::CloseAsk { agent, .. }
            | Input::Compact { agent, .. }
            | Input::RunTask { agent, .. }
            | Input::StopTask { agent, .. }
            | Input::WriteTask { agent, .. }
            | Input::CreateTimer { agent, .. }
            | Input::CancelTimer { agent, .. }
            | Input::CreateWorkItem { agent, .. }
            | Input::CompleteWorkItem { agent, .. }
            | Input::Wake { agent, .. }
            | Input::Deliver { agent, .. }
            | Input::ChangeTrigger { agent, .. }
            | Input::ChangeWorkspace { agent, .. }
            | Input::Completed { agent, .. }
            | Input::PlanProbed { agent, .. }
            | Input::TreeKept { agent, .. } => self.admit(agent),
            Input::LoginChanged { .. }
            | Input::Granted { .. }
            | Input::TurnsLent { .. }
            | Input::Tick
            | Input::Drain { .. } => Ok(()),
        }
    }
}
