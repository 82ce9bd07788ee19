//! What effects do in the world, and whether they may.

use holon_core::{AgentId, Answer, Effect, OpId, Outcome, ReplyId, StepSeq};

use super::agenda::Happening;
use super::{Sabotage, World};
use crate::choices::Site;
use crate::failure::{Failure, ensure};
use crate::provider::{self, Circumstances, Deliveries};
use crate::script::Line;
use crate::{ingress, tools};

impl World<'_> {
    pub(super) fn perform(&mut self, effect: Effect, step: StepSeq) -> Result<(), Failure> {
        ensure!(self.disk.holds(step), "D1", "an effect of step {step} before the step is on the disk");
        match effect {
            Effect::Reply { reply, answer } => self.reply(reply, answer),
            Effect::LoadContext { agent, op, .. } => {
                self.begin(&agent, op, "context", tools::load_context).map(drop)
            }
            Effect::CallModel { agent, op, request } => {
                provider::judge(&request, &self.scenario.config.context)?;
                self.begin(&agent, op, "provider", provider::answer).map(drop)
            }
            Effect::CallTool { agent, op, .. } => self.begin(&agent, op, "tool", tools::call).map(drop),
            Effect::PrepareCommand { agent, op, .. } => self.prepare(&agent, op),
            Effect::RunCommand { agent, op, supervisor } => self.go(&agent, op, &supervisor),
            Effect::Cancel { agent, op } => {
                self.outside.supervised.remove(&agent);
                if self.outside.inflight.get(&agent) == Some(&op) {
                    self.outside.inflight.remove(&agent);
                }
                let number = self.number(&agent);
                let site = self.site("cancel", number, "ignored");
                let faults = &self.scenario.faults;
                let late = faults.outcome_late;
                if !self.injector.strikes(faults, &mut *self.choices, site, "ignored", late) {
                    self.outside.cancelled.insert((agent, op));
                }
                Ok(())
            }
        }
    }

    /// Lets a performer work; says what is heard of it first, and after how long.
    pub(super) fn begin(
        &mut self,
        agent: &AgentId,
        op: OpId,
        component: &'static str,
        work: impl FnOnce(&mut Circumstances<'_>) -> Deliveries,
    ) -> Result<Option<(u64, Outcome)>, Failure> {
        self.checks.say("D1");
        ensure!(self.disk.holds_op(agent, op), "D1", "{op} of {agent} begins, and is not on the disk");
        let other = self.outside.inflight.insert(agent.clone(), op);
        ensure!(other.is_none(), "T3", "{op} of {agent} begins while {other:?} is under way");
        let number = self.number(agent);
        let site: Site = self.site(component, number, "");
        let wall = self.now().wall;
        let deliveries = if self.scenario.faults.is_dead(component, number, self.at) {
            self.injector.saw(&format!("{component}.dead"));
            Vec::new()
        } else if let Some(line) = self.scripted(site) {
            line.deliveries(wall)
        } else {
            work(&mut Circumstances {
                wall,
                choices: &mut *self.choices,
                faults: &self.scenario.faults,
                injector: &mut self.injector,
                quiet: self.quiet,
                site,
            })
        };
        let life = self.life.number;
        let first = deliveries.first().cloned();
        for (after, outcome) in deliveries {
            let happening =
                Happening::Completed { agent: agent.clone(), op, outcome: Box::new(outcome), life };
            self.plan(self.at + after, number, happening);
        }
        Ok(first)
    }

    /// What the scenario says of this work, word by word.
    fn scripted(&self, site: Site) -> Option<&Line> {
        self.scenario.script.iter().find(|line| {
            line.agent == site.agent && line.nth == site.ordinal && line.deed.component() == site.component
        })
    }

    /// A caller is told something: from now on it is a promise.
    fn reply(&mut self, reply: ReplyId, mut answer: Answer) -> Result<(), Failure> {
        if self.options.sabotage == Some(Sabotage::SwallowReply) {
            return Ok(());
        }
        if let (Some(Sabotage::ChangeReply), Answer::Admitted { message_id, .. }) =
            (self.options.sabotage, &mut answer)
        {
            *message_id = message_id.next();
        }
        let waiting = self.outside.clients.waiting.remove(&reply);
        ensure!(waiting.is_some(), "Q6", "reply {reply} goes to nobody: {answer:?}");
        let Some(mut waiting) = waiting else { return Ok(()) };
        self.checks.reference.answered(reply, &answer)?;
        self.checks.say("G5");
        if self.options.sabotage == Some(Sabotage::LateStop) {
            waiting.since = waiting.since.saturating_sub(5_000_000);
        }
        self.obeyed(&waiting)?;
        let request = waiting.request;
        match &answer {
            Answer::Admitted { message_id, .. } => {
                let agent = ingress::agent_id(request.agent);
                let held = self.disk.holds_message(&agent, *message_id);
                self.checks.say("Q6");
                ensure!(held, "Q6", "{message_id} of {agent} is acknowledged, and is not on the disk");
                self.outside.acknowledged.insert((agent, *message_id));
            }
            Answer::Drained => {
                self.injector.saw("restart");
                self.agenda.plan(self.at + 5_000, 0, Happening::Shutdown(self.life.number));
            }
            Answer::Refused { reject } if reject.code() == "draining" && request.repeatable() => {
                self.plan(self.at + 200_000, request.agent, Happening::Request(request));
            }
            Answer::Created { .. } | Answer::Controlled(_) | Answer::Refused { .. } => {}
        }
        Ok(())
    }
}
