//! What effects of durable steps become: answers, and work.

use std::pin::Pin;

use holon_core::effect::{TaskWork, Work};
use holon_core::{Answer, Effect};
use holon_facts::ids::ReplyId;
use holon_facts::{AgentId, OpId, Outcome};
use holon_platform::crash_point::{Point, between, reached};

use super::{Driver, Gate};
use crate::perform::Performers;
use crate::perform::context::Looks;

/// What is performed already, and where it has ended.
async fn ending(work: impl Future<Output = Outcome>, end: Point) -> Outcome {
    let outcome = work.await;
    reached(end);
    outcome
}

/// The operation of the command that the work writes to.
fn written_to(work: &Work) -> Option<OpId> {
    let Work::CallTask { work: TaskWork::Input { op, .. } } = work else { return None };
    *op
}

/// Work under way.
type Performing = Pin<Box<dyn Future<Output = Outcome> + Send>>;

impl Driver {
    pub(super) fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Reply { reply, answer } => {
                reached(Point::ReplyReleased);
                self.answer(reply, answer);
            }
            Effect::Perform { agent, op, work } => {
                let command = written_to(&work);
                let performing = self.begin_permitted(agent.clone(), op, work);
                match command {
                    Some(command) => self.work.start_writing(agent, op, command, performing),
                    None => self.work.start(agent, op, performing),
                }
            }
            Effect::StopCommand { agent, op, force } => {
                reached(Point::StopBegins);
                self.performers.stop_command(&agent, op, force);
            }
            Effect::ProbePlan { agent, item, known } => {
                drop(self.work.look(self.performers.probe_plan(agent, item, known)));
            }
            Effect::KeepTree { agent, execution, moment } => {
                if let Some(capture) = self.performers.keep_tree(agent, execution, moment) {
                    drop(self.work.look(capture));
                }
            }
            Effect::Borrow { loan } => drop(self.work.look(self.performers.borrow(loan))),
            Effect::ShareTurns { used } => {
                if let Some(turns) = &self.turns {
                    turns.report(used);
                }
            }
            Effect::LoadChild { agent, op, child } => self.engine.wants_child(agent, op, child),
            Effect::Cancel { agent, op } => self.cancel(&agent, op),
        }
    }

    /// Begins now where that is allowed, so that a command that is ready gets its word at once.
    fn begin_permitted(&self, agent: AgentId, op: OpId, work: Work) -> Performing {
        let (performers, gate) = (self.performers.clone(), self.tools_from.clone());
        if self.permit.allows() {
            return begin(performers, gate, agent, op, work);
        }
        let permit = self.permit.clone();
        Box::pin(async move {
            permit.allowed().await;
            begin(performers, gate, agent, op, work).await
        })
    }

    fn cancel(&mut self, agent: &AgentId, op: OpId) {
        self.work.cancel(agent, op);
        self.performers.cancelled(agent, op);
    }

    /// Whoever asked may have gone.
    fn answer(&mut self, reply: ReplyId, answer: Answer) {
        if let Some(answered) = self.engine.answered(reply) {
            answered(Ok(answer));
        }
    }
}

/// Hands work to the one who performs such work.
fn begin(performers: Performers, gate: Gate, agent: AgentId, op: OpId, work: Work) -> Performing {
    match work {
        Work::LoadContext { execution, user_skills, template, untrusted, work_tree } => {
            let looks = Looks { user_skills, untrusted, work_tree };
            let work =
                async move { performers.load_context(&agent, &execution, looks, template.as_deref()).await };
            Box::pin(between(Point::ContextBegins, work, Point::ContextEnded))
        }
        Work::CallModel { request } | Work::Summarize { request } => {
            let work = async move { performers.call_model(op, request).await };
            Box::pin(between(Point::ModelBegins, work, Point::ModelEnded))
        }
        Work::CallTool { call } => Box::pin(async move {
            gate.opened().await;
            performers.files_kept(&agent).await;
            between(Point::ToolBegins, performers.call_tool(&agent, call), Point::ToolEnded).await
        }),
        Work::CallServer { call } => Box::pin(async move {
            gate.opened().await;
            performers.files_kept(&agent).await;
            between(Point::ToolBegins, performers.call_server(&agent, call), Point::ToolEnded).await
        }),
        Work::PrepareCommand { task, call, trigger_generation } => Box::pin(async move {
            gate.opened().await;
            performers.files_kept(&agent).await;
            let work = performers.prepare_command(&agent, op, task, call, trigger_generation);
            between(Point::PrepareBegins, work, Point::PrepareEnded).await
        }),
        Work::PrepareAgent { template, name } => Box::pin(async move {
            gate.opened().await;
            between(Point::ToolBegins, performers.prepare_agent(template, name), Point::ToolEnded).await
        }),
        // The word is given now, whoever waits for the end.
        Work::RunCommand { supervisor } => {
            reached(Point::CommandBegins);
            Box::pin(ending(performers.run_command(&agent, op, supervisor), Point::CommandEnded))
        }
        Work::WatchCommand { supervisor } => {
            let work = async move { performers.watch_command(&agent, op, supervisor).await };
            Box::pin(between(Point::WatchBegins, work, Point::WatchEnded))
        }
        Work::CallTask { work } => {
            let work = async move { performers.call_task(&agent, work).await };
            Box::pin(between(Point::TaskCallBegins, work, Point::TaskCallEnded))
        }
        Work::CallWork { view } => Box::pin(async move { performers.call_work(agent, view).await }),
        Work::Look { looks } => Box::pin(async move { performers.look(agent, looks).await }),
        Work::FindWorkspace { wanted } => {
            Box::pin(async move { performers.find_workspace(&agent, wanted).await })
        }
        Work::RemoveWorktree { worktree } => {
            Box::pin(async move { performers.remove_worktree(&agent, worktree).await })
        }
    }
}
