//! What effects do in the world, and whether they are allowed.

use std::mem;

use holon_core::effect::Work;
use holon_core::grants::Loan;
use holon_core::tool::Tool;
use holon_core::{Answer, Effect, Input};
use holon_facts::ids::TaskId;
use holon_facts::{AgentId, OpId, ReplyId, StepSeq};

use super::World;
use super::agenda::Happening;
use crate::choices::Site;
use crate::failure::{Failure, ensure};
use crate::fault::Ill;
use crate::ingress::{self, Request, Waiting};
use crate::options::{Judges, Sabotage};
use crate::performer::{Circumstances, Deliveries};
use crate::promise::times::performer_has_its_time;
use crate::provider;
use crate::script::Line;
use crate::story::Round;
use crate::{commands, places, readers, servers, tools, wire};

impl World<'_> {
    pub(super) fn perform(&mut self, effect: Effect, step: StepSeq) -> Result<(), Failure> {
        ensure!(self.disk.get().holds(step), "D1", "an effect of step {step} before the step is on the disk");
        self.only_closing_effects(&effect, step)?;
        self.executes(&effect)?;
        match effect {
            Effect::Reply { reply, answer } => self.reply(reply, answer, step),
            Effect::Perform { agent, op, work } => self.perform_work(&agent, op, work),
            Effect::StopCommand { .. } if self.options.sabotage == Some(Sabotage::LetRun) => Ok(()),
            Effect::StopCommand { agent, op, force } => self.stop(&agent, op, force),
            Effect::ProbePlan { agent, item, .. } => {
                self.look_at_plan(agent, item);
                Ok(())
            }
            Effect::KeepTree { agent, execution, moment } => {
                self.keep_tree(agent, execution, moment);
                Ok(())
            }
            Effect::Borrow { loan } => {
                self.lend(loan);
                Ok(())
            }
            Effect::ShareTurns { used } => {
                self.share_turns(used);
                Ok(())
            }
            Effect::LoadChild { agent, op, child } => {
                self.child_is_wanted(&child);
                if let Some(engine) = &mut self.life.engine {
                    engine.wants_child(agent, op, child);
                }
                Ok(())
            }
            Effect::Cancel { agent, op } => {
                self.cancel(agent, op);
                Ok(())
            }
        }
    }

    fn perform_work(&mut self, agent: &AgentId, op: OpId, work: Work) -> Result<(), Failure> {
        performer_has_its_time(&work, self.scenario.config_of(self.life.number))?;
        match work {
            Work::LoadContext { untrusted, work_tree, .. } => {
                self.begin(agent, op, "context", |here| tools::load_context(here, untrusted, work_tree))
            }
            Work::CallModel { request } => {
                provider::check_request(&request, &self.scenario.config_of(self.life.number).context)?;
                if provider::gets_summary(&request) {
                    self.injector.saw("a summary is shown");
                }
                if provider::gets_thoughts_back(&request) {
                    self.injector.saw("a thought comes back");
                }
                self.checks.authority(&request)?;
                if self.options.judges == Judges::All {
                    self.checks.shown.request(op, &request)?;
                }
                wire::lowered(&request, self.disk.get().texts())?;
                self.checks.say("P7");
                let round = self.scripted_round(agent);
                // Drawn budgets assume cheap answers.
                let counts = self.scenario.config_of(self.life.number).budgets.is_none();
                self.begin(agent, op, "provider", |here| {
                    let answer = provider::answer(here, round.as_ref());
                    let answer = if counts { provider::counted(answer, &request) } else { answer };
                    provider::joined(answer, &request.continues)
                })
            }
            Work::Summarize { request } => {
                if self.options.judges == Judges::All {
                    self.checks.shown.summary(op, &request)?;
                }
                wire::lowered(&request, self.disk.get().texts())?;
                self.injector.saw("provider.sums_up");
                self.begin(agent, op, "summary", |here| provider::answer(here, None))
            }
            Work::CallTool { call } if [Tool::MemorySearch, Tool::ToolSearch].contains(&call.tool) => {
                self.begin(agent, op, "memory", tools::look)
            }
            Work::CallServer { .. } => self.begin(agent, op, "server", servers::call),
            Work::CallTool { .. } => self.begin(agent, op, "tool", tools::call),
            Work::PrepareCommand { task, call, .. } => self.prepare(agent, op, task, &call),
            Work::RunCommand { supervisor } => self.go(agent, op, &supervisor),
            Work::WatchCommand { supervisor } => self.watch(agent, op, &supervisor),
            Work::CallTask { work } => self.call_task(agent, op, &work),
            Work::CallWork { .. } => self.begin(agent, op, "task", commands::show),
            Work::Look { looks } => {
                if looks.len() > 1 {
                    self.injector.saw("calls look together");
                }
                self.begin(agent, op, "task", |here| commands::looked(here, &looks))
            }
            Work::PrepareAgent { template, .. } => {
                self.begin(agent, op, "template", |here| commands::prepare_agent(here, template.as_ref()))
            }
            Work::FindWorkspace { wanted } => {
                let mut trees = mem::take(&mut self.outside.trees);
                let find = |here: &mut Circumstances<'_>| places::find(here, agent, &wanted, &mut trees);
                let begun = self.begin(agent, op, "workspace", find);
                self.outside.trees = trees;
                begun
            }
            Work::RemoveWorktree { worktree } => {
                let sabotage = self.options.sabotage;
                let mut trees = mem::take(&mut self.outside.trees);
                let begun =
                    self.begin(agent, op, "workspace", |here| trees.remove(here, &worktree, sabotage));
                self.outside.trees = trees;
                begun
            }
        }
    }

    fn cancel(&mut self, agent: AgentId, op: OpId) {
        self.outside.inflight.remove(&(agent.clone(), op));
        let number = self.number(&agent);
        let site = self.site("cancel", number, "ignored");
        let faults = &self.scenario.faults;
        let late = faults.outcome_late;
        let late = self.injector.strikes(faults, &mut *self.choices, site, "ignored", late);
        if self.options.sabotage != Some(Sabotage::LetRun) {
            self.dismiss(&agent, op, late);
        }
        if !late {
            self.outside.cancelled.insert((agent, op));
        }
    }

    /// M3: a performer executes the open call, with that call's arguments.
    fn executes(&mut self, effect: &Effect) -> Result<(), Failure> {
        let Effect::Perform { agent, op, work } = effect else { return Ok(()) };
        let Some(called) = self.checks.shown.called(agent, *op) else { return Ok(()) };
        match work {
            Work::CallTool { call } | Work::PrepareCommand { call, .. } => called.executed(agent, call)?,
            Work::CallTask { work } => called.on_task(agent, work)?,
            Work::CallWork { view } => called.on_work(agent, view)?,
            Work::PrepareAgent { template, .. } => called.prepared(agent, template.as_ref())?,
            Work::CallServer { call } => called.sent(agent, call)?,
            Work::Look { looks } => called.looks(agent, looks)?,
            Work::FindWorkspace { .. } => {}
            Work::LoadContext { .. }
            | Work::CallModel { .. }
            | Work::Summarize { .. }
            | Work::RunCommand { .. }
            | Work::WatchCommand { .. }
            | Work::RemoveWorktree { .. } => return Ok(()),
        }
        self.checks.say("M3");
        Ok(())
    }

    /// Lends a shared budget. Other hosts may have borrowed it before; the answer may be late or lost.
    fn lend(&mut self, loan: Loan) {
        let site = self.site("lender", 0, "others");
        let others = [0, 0, 0, 10, 60, 100][self.choices.below(site, 6) as usize];
        let in_advance = [0, loan.limit / 16][self.choices.below(site.about("in advance"), 2) as usize];
        let grant = self.outside.lender.lend(loan, if self.quiet { 0 } else { others }, in_advance);
        if grant.refused.is_some() {
            self.injector.saw("a loan is refused");
        }
        let lost = self.choices.below(site.about("lost"), 8) == 0;
        if !lost || self.quiet {
            let after = u64::from(self.choices.below(site.about("after"), 400_000));
            let input = Box::new(Input::Granted { grant });
            self.plan(self.at + after, 0, Happening::Looked { input, life: self.life.number });
        }
    }

    /// Runs a performer, and plans its outcomes.
    pub(super) fn begin(
        &mut self,
        agent: &AgentId,
        op: OpId,
        component: &'static str,
        work: impl FnOnce(&mut Circumstances<'_>) -> Deliveries,
    ) -> Result<(), Failure> {
        let outcomes = self.work(agent, op, component, work)?;
        self.deliver(agent, op, outcomes);
        Ok(())
    }

    pub(super) fn deliver(&mut self, agent: &AgentId, op: OpId, outcomes: Deliveries) {
        let (number, life) = (self.number(agent), self.life.number);
        for (after, outcome) in outcomes {
            let happening =
                Happening::Completed { agent: agent.clone(), op, outcome: Box::new(outcome), life };
            self.plan(self.at + after, number, happening);
        }
    }

    /// Runs a performer; returns its outcomes and their delays.
    pub(super) fn work(
        &mut self,
        agent: &AgentId,
        op: OpId,
        component: &'static str,
        work: impl FnOnce(&mut Circumstances<'_>) -> Deliveries,
    ) -> Result<Deliveries, Failure> {
        self.checks.say("D1");
        ensure!(self.disk.get().holds_op(agent, op), "D1", "{op} of {agent} begins, and is not on the disk");
        let again = self.options.sabotage == Some(Sabotage::BeginAgain) && self.life.number > 0;
        let new = self.outside.begun.insert((agent.clone(), op)) && !again;
        self.checks.say("P6");
        ensure!(new, "P6", "{op} of {agent} has been begun before");
        if ["context", "provider"].contains(&component) {
            let exclusive = |kind: &&'static str| ["context", "provider"].contains(kind);
            let other = self.outside.at_work(agent).find(|(_, kind)| exclusive(kind));
            ensure!(other.is_none(), "T3", "{op} of {agent} begins while {other:?} is under way");
        }
        self.outside.inflight.insert((agent.clone(), op), component);
        let number = self.number(agent);
        let site: Site = self.site(component, number, "");
        let wall = self.now().wall;
        let ill = |what| !self.quiet && self.scenario.faults.ill(what, self.at);
        let (limited, away, twice) = (ill(Ill::Limited), ill(Ill::Away), ill(Ill::Twice));
        if limited && component == "provider" {
            self.injector.saw("provider.limited");
            self.patterns.limited(agent, &mut self.injector);
        }
        let children = self.alive_children(agent);
        let deliveries = if self.scenario.faults.is_dead(component, number, self.at) {
            self.injector.saw(&format!("{component}.dead"));
            Vec::new()
        } else if let Some(line) = self.scripted(site) {
            let life = self.life.number;
            let mut waiting = self.outside.supervised.values().filter(|known| known.waits(agent, life));
            line.deliveries(wall, waiting.next_back().map(super::command::Supervised::up))
        } else {
            work(&mut Circumstances {
                wall,
                choices: &mut *self.choices,
                faults: &self.scenario.faults,
                injector: &mut self.injector,
                quiet: self.quiet,
                limited,
                away,
                twice,
                children: &children,
                site,
            })
        };
        Ok(deliveries)
    }

    /// The tasks of an agent's children that are alive, as far as it knows.
    fn alive_children(&self, agent: &AgentId) -> Vec<TaskId> {
        let known = self.checks.agents().get(agent);
        known.map_or_else(Vec::new, |agent| agent.tasks.children().map(|(task, _)| task.id).collect())
    }

    /// The next round that the scenario's story gives the model.
    fn scripted_round(&mut self, agent: &AgentId) -> Option<Round> {
        let agent = self.checks.agents().get(agent)?;
        self.scenario.story.next_round(agent, &mut self.outside.story)
    }

    /// The scripted line of this piece of work.
    fn scripted(&self, site: Site) -> Option<&Line> {
        self.scenario.script.iter().find(|line| {
            line.agent == site.agent && line.nth == site.ordinal && line.deed.component() == site.component
        })
    }

    /// Answers a caller: from now on the answer is a promise.
    fn reply(&mut self, reply: ReplyId, mut answer: Answer, step: StepSeq) -> Result<(), Failure> {
        if self.options.sabotage == Some(Sabotage::SwallowReply) {
            return Ok(());
        }
        if let (Some(Sabotage::ChangeReply), Answer::Admitted { message_id, .. }) =
            (self.options.sabotage, &mut answer)
        {
            *message_id = message_id.next();
        }
        let round = self.life.engine.as_mut().and_then(|engine| engine.answered(reply));
        if self.life.put_off.remove(&reply) {
            ensure!(round.is_none(), "Q6", "reply {reply} goes to somebody who was told that it waits");
            return self.checks.answered(reply, &answer);
        }
        let mut waiting = self.outside.clients.waiting.remove(&reply).filter(|_| round == Some(reply));
        if self.options.sabotage == Some(Sabotage::AnswerTwice) {
            waiting = None;
        }
        ensure!(waiting.is_some(), "Q6", "reply {reply} goes to nobody: {answer:?}");
        let Some(mut waiting) = waiting else { return Ok(()) };
        self.checks.answered(reply, &answer)?;
        self.checks.say("G5");
        if self.options.sabotage == Some(Sabotage::LateStop) {
            waiting.since = waiting.since.saturating_sub(5_000_000);
        }
        self.obeyed(&waiting)?;
        let Waiting { request, meets, .. } = waiting;
        self.witness.answered(&answer, &mut self.injector);
        if request.was_made_before(&answer) {
            self.injector.saw("a request is known by its key");
        }
        self.acknowledgement(&request);
        if let Answer::Refused { reject } = &answer {
            readers::refusal(reject)?;
        }
        match &answer {
            Answer::Admitted { message_id, duplicate } => {
                let agent = ingress::agent_id(request.agent);
                let held = self.disk.get().holds_message(&agent, *message_id);
                self.checks.say("Q6");
                ensure!(held, "Q6", "{message_id} of {agent} is acknowledged, and is not on the disk");
                self.promised(request, agent, *message_id, *duplicate);
            }
            Answer::Drained => {
                self.injector.saw("restart");
                self.life.drained.get_or_insert(step);
                self.agenda.plan(self.at + 5_000, 0, Happening::Shutdown(self.life.number));
            }
            Answer::Refused { reject } if reject.code() == "draining" && request.repeatable() => {
                self.plan(self.at + 200_000, request.agent, Happening::Request(request));
            }
            Answer::Controlled(_) => {
                meets.iter().for_each(|met| self.injector.saw(met));
                let (at, agents) = (self.at, self.scenario.agents);
                self.patterns.obeyed(at, request.agent, agents, &request.action, &mut self.injector);
            }
            Answer::ModelSet { changed, .. } => self.model_set(request.agent, *changed),
            Answer::Created { .. }
            | Answer::Refused { .. }
            | Answer::Labelled { .. }
            | Answer::AskClosed { .. }
            | Answer::Compaction { .. }
            | Answer::Task { .. }
            | Answer::TaskInput { .. }
            | Answer::Timer { .. }
            | Answer::WorkItem { .. }
            | Answer::Workspaces { .. }
            | Answer::Woken { .. }
            | Answer::ExternalTrigger { .. } => {}
        }
        Ok(())
    }

    /// CT8: a turn in progress keeps its models; the reference checks those of the next turn.
    fn model_set(&mut self, agent: u32, changed: bool) {
        if changed && self.outside.at_work(&ingress::agent_id(agent)).next().is_some() {
            self.injector.saw("another model during a turn");
        }
    }

    /// Repeats a request whose answer was lost.
    fn acknowledgement(&mut self, request: &Request) {
        let site = self.site("client", request.agent, "");
        let faults = &self.scenario.faults;
        if !self.quiet
            && request.repeatable()
            && self.injector.strikes(faults, &mut *self.choices, site, "ack_lost", faults.ack_lost)
        {
            let delay = u64::from(self.choices.below(site.about("patience"), 3_000_000));
            self.plan(self.at + delay, request.agent, Happening::Request(request.clone()));
        }
    }

    /// L7: after an answered shutdown, only closing effects leave.
    fn only_closing_effects(&mut self, effect: &Effect, step: StepSeq) -> Result<(), Failure> {
        let sure = self.options.sabotage != Some(Sabotage::GoOn);
        let Some(drained) = self.life.drained.or((!sure).then_some(StepSeq(0))) else { return Ok(()) };
        let closes = !matches!(
            effect,
            Effect::Perform { .. }
                | Effect::ProbePlan { .. }
                | Effect::KeepTree { .. }
                | Effect::Borrow { .. }
        );
        self.checks.say("L7");
        ensure!(closes || step <= drained, "L7", "{effect:?} of step {step} after the shutdown");
        Ok(())
    }
}
