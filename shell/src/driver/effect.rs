//! What effects of durable steps become: answers, and work.

use holon_core::{Answer, Effect};
use holon_facts::ids::ReplyId;
use holon_facts::{AgentId, OpId, Outcome};
use holon_platform::crash_point::{Point, between, reached};

use super::Driver;

/// What is performed already, and where it has ended.
async fn ending(work: impl Future<Output = Outcome>, end: Point) -> Outcome {
    let outcome = work.await;
    reached(end);
    outcome
}

impl Driver {
    pub(super) fn perform(&mut self, effect: Effect) {
        let performers = self.performers.clone();
        match effect {
            Effect::Reply { reply, answer } => {
                reached(Point::ReplyReleased);
                self.answer(reply, answer);
            }
            Effect::LoadContext { agent, op, execution } => {
                let name = agent.clone();
                let work = async move { performers.load_context(&name, &execution).await };
                self.work.start(agent, op, between(Point::ContextBegins, work, Point::ContextEnded));
            }
            Effect::CallModel { agent, op, request } => {
                let work = async move { performers.call_model(op, request).await };
                self.work.start(agent, op, between(Point::ModelBegins, work, Point::ModelEnded));
            }
            Effect::CallTool { agent, op, call } => {
                let gate = self.tools_from.clone();
                self.work.start(agent, op, async move {
                    gate.opened().await;
                    between(Point::ToolBegins, performers.call_tool(call), Point::ToolEnded).await
                });
            }
            Effect::PrepareCommand { agent, op, task, call, trigger_generation } => {
                let (name, gate) = (agent.clone(), self.tools_from.clone());
                self.work.start(agent, op, async move {
                    gate.opened().await;
                    let work = performers.prepare_command(&name, op, task, call, trigger_generation);
                    between(Point::PrepareBegins, work, Point::PrepareEnded).await
                });
            }
            Effect::RunCommand { agent, op, supervisor } => {
                reached(Point::CommandBegins);
                let work = performers.run_command(&agent, op, supervisor);
                self.work.start(agent, op, ending(work, Point::CommandEnded));
            }
            Effect::WatchCommand { agent, op, supervisor } => {
                let name = agent.clone();
                let work = async move { performers.watch_command(&name, op, supervisor).await };
                self.work.start(agent, op, between(Point::WatchBegins, work, Point::WatchEnded));
            }
            Effect::StopCommand { agent, op, force } => {
                reached(Point::StopBegins);
                performers.stop_command(&agent, op, force);
            }
            Effect::CallTask { agent, op, work } => {
                let name = agent.clone();
                let work = async move { performers.call_task(&name, work).await };
                self.work.start(agent, op, between(Point::TaskCallBegins, work, Point::TaskCallEnded));
            }
            Effect::CallWork { agent, op, view } => {
                let name = agent.clone();
                self.work.start(agent, op, async move { performers.call_work(name, view).await });
            }
            Effect::CallAgent { agent, op, view } => {
                self.work.start(agent, op, async move { performers.call_agent(&view) });
            }
            Effect::FindWorkspace { agent, op, wanted } => {
                let name = agent.clone();
                self.work.start(agent, op, async move { performers.find_workspace(&name, wanted).await });
            }
            Effect::RemoveWorktree { agent, op, worktree } => {
                let owner = agent.clone();
                self.work.start(agent, op, async move { performers.remove_worktree(&owner, worktree).await });
            }
            Effect::ProbePlan { agent, item, known } => {
                self.work.look(performers.probe_plan(agent, item, known))
            }
            Effect::LoadChild { agent, op, child } => self.engine.wants_child(agent, op, child),
            Effect::Cancel { agent, op } => self.cancel(&agent, op),
        }
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
