//! What operators and the runtime did to the agent, as far as a law looks back.

use holon_facts::event::LifecycleFact;
use holon_facts::ids::StepSeq;
use holon_facts::lifecycle::{ControlAction, Status};

use super::{Control, Delivered, Ended, Past};

impl Past {
    pub(super) fn lifecycle(&mut self, fact: &LifecycleFact) {
        match fact {
            LifecycleFact::AgentCreated(fact) => {
                self.supervision.depth = fact.spec.depth;
                self.copied = fact.spec.forked_from.as_ref().map(|from| from.event_seq);
            }
            LifecycleFact::AgentRetired(fact) => {
                self.supervision.retired = Some(fact.status);
                (self.posture.stopped, self.promised.moved, self.sleep) = (true, true, None);
            }
            LifecycleFact::CurrentRunAborted(_)
            | LifecycleFact::AgentArchived(_)
            | LifecycleFact::ModelOverrideChanged(_) => {}
            LifecycleFact::RequestKeyed(fact) => self.made.keep(fact),
            LifecycleFact::AgentLabelled(fact) => self.posture.label.clone_from(&fact.label),
            LifecycleFact::ControlRequestAdmitted(fact) => {
                let (waiting, status) = (self.queue.waiting.len(), self.posture.status);
                self.posture.control = Some(Control { action: fact.action, waiting, status });
                self.workspaces.freed.clear();
            }
            LifecycleFact::ControlApplied(fact) => {
                self.posture.control = None;
                self.promised.moved = true;
                match fact.action {
                    ControlAction::Stop => {
                        self.posture.stopped = true;
                        self.sleep = None;
                        self.work_stopped();
                        self.hints.stopped();
                        // The run that was to report them is gone: the next start does.
                        let ended = |(task, Delivered { repeated, .. })| {
                            (task, Ended { by_agent: false, repeated, shown: false, step: StepSeq(0) })
                        };
                        let withdrawn = core::mem::take(&mut self.promised.withdrawn).into_iter();
                        self.tasks.undelivered.extend(withdrawn.map(ended));
                    }
                    ControlAction::Start => {
                        self.posture.stopped = false;
                        self.external_activity();
                        self.sleep = None;
                        self.posture.started = true;
                    }
                    ControlAction::Abort => {}
                }
                self.posture.admitted_while_stopped &= self.posture.stopped;
            }
            LifecycleFact::SchedulerPostureDecision(fact) => {
                self.posture.status = fact.next;
                self.posture.names_turns |= fact.next == Status::AwakeRunning;
            }
            LifecycleFact::RuntimeRecovered(fact) => {
                self.promised.end_of = fact.interrupted_run_id;
            }
            LifecycleFact::ClockStepped(fact) => {
                let (from, to) = (fact.expected(), fact.to);
                if let Some(hold) = &mut self.hold {
                    hold.until = hold.until.map(|until| until.shifted(from, to));
                }
                self.timers_stepped(from, to);
                self.work_stepped(from, to);
                self.waits_stepped(from, to);
                self.unattended.stepped(from, to);
                self.spending.stepped(to);
                if let Some(sleep) = &mut self.sleep {
                    sleep.stepped(from, to);
                }
                self.keys.muddle();
                self.made.muddle();
            }
        }
    }
}
