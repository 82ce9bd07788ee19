//! M3: what is recorded of a round is what the model said, in its order; what a performer executes are the arguments of
//! the one call that is open; what it brought is that call's result.

use std::collections::BTreeMap;

use holon_core::Input;
use holon_core::effect::{InputSource, ServerCall, TaskWork, ToolCall, WorkView};
use holon_core::replay::Call;
use holon_core::tool::Tool;
use holon_facts::event::operation::Settlement;
use holon_facts::event::{OperationFact, OutboxFact, TaskFact, TurnFact};
use holon_facts::ids::{TaskId, TemplateId};
use holon_facts::model::{AnswerBlock, Block, ModelAnswer, ModelRef};
use holon_facts::outbox::Letter;
use holon_facts::receipt::{Receipt, SelfCall, TaskCall, ToolFacts, Verdict};
use holon_facts::template::AgentTemplate;
use holon_facts::{AgentId, Event, OpId, Outcome, Record, Text};

use crate::failure::{Failure, ensure, safety};

/// The open call of a round, as the model made it.
#[derive(Debug, Clone)]
pub(crate) struct Called {
    pub(super) call_id: String,
    pub(super) tool_name: String,
    pub(super) arguments: Text,
    pub(super) verdict: Verdict,
}

impl Called {
    /// A performer is to execute it.
    pub(crate) fn executed(&self, agent: &AgentId, call: &ToolCall) -> Result<(), Failure> {
        let same = (call.call_id.as_str(), call.tool.name()) == (&self.call_id, &self.tool_name);
        ensure!(same, "M3", "{agent} executes {} ({}), the open call is {self:?}", call.tool, call.call_id);
        self.has(agent, &call.arguments)
    }

    /// Another program is asked for it.
    pub(crate) fn sent(&self, agent: &AgentId, call: &ServerCall) -> Result<(), Failure> {
        let name = format!("{}__{}", call.server, call.tool);
        let named = self.verdict.tool().is_some_and(|tool| tool == *name.as_str());
        let found = call.found == (self.tool_name == Tool::ToolCall.name());
        ensure!(
            call.call_id == self.call_id && named && found,
            "M3",
            "{agent} calls {name}, the open call is {self:?}"
        );
        self.has(agent, &call.arguments)
    }

    /// A performer looks at a task for it, or writes to it.
    pub(crate) fn on_task(&self, agent: &AgentId, work: &TaskWork) -> Result<(), Failure> {
        let (about, tool) = match work {
            // What a command came to that was begun by a call of its own.
            TaskWork::Promote { .. } | TaskWork::AlreadyRunning { .. } => return Ok(()),
            TaskWork::List { .. } => (None, Tool::TaskList),
            TaskWork::Status { task, .. } => (Some(task.id), Tool::TaskStatus),
            TaskWork::Output { task, .. } => (Some(task.id), Tool::TaskOutput),
            TaskWork::Input { task, source, .. } => {
                if let InputSource::Call { arguments } = source {
                    self.has(agent, arguments)?;
                }
                (Some(task.id), Tool::TaskInput)
            }
            TaskWork::Stop { task, .. } => (Some(task.id), Tool::TaskStop),
        };
        let asked = match &self.verdict {
            Verdict::OnTask(call) => task_of(call),
            Verdict::OnSelf(_) | Verdict::OnWork(_) | Verdict::Accepted(_) | Verdict::Refused(_) => None,
        };
        let fits = asked == about && tool.name() == self.tool_name;
        ensure!(fits, "M3", "{agent} is shown {tool} of {about:?}, the open call is {self:?}");
        Ok(())
    }

    /// A performer shows work items for it.
    pub(crate) fn on_work(&self, agent: &AgentId, view: &WorkView) -> Result<(), Failure> {
        let fits = matches!(self.verdict, Verdict::OnWork(_));
        ensure!(fits, "M3", "{agent} is shown work items, the open call is {self:?}");
        view.plan.as_ref().map_or(Ok(()), |plan| self.has(agent, plan))
    }

    /// A performer takes in a template for it.
    pub(crate) fn prepared(&self, agent: &AgentId, template: Option<&TemplateId>) -> Result<(), Failure> {
        let asked = match &self.verdict {
            Verdict::OnSelf(SelfCall::Spawn(asked)) => asked.template.as_ref(),
            Verdict::OnSelf(_)
            | Verdict::OnTask(_)
            | Verdict::OnWork(_)
            | Verdict::Accepted(_)
            | Verdict::Refused(_) => None,
        };
        ensure!(asked == template, "M3", "{agent} takes in {template:?}, the open call is {self:?}");
        Ok(())
    }

    fn has(&self, agent: &AgentId, arguments: &Text) -> Result<(), Failure> {
        let same = *arguments == self.arguments;
        ensure!(same, "M3", "{agent} executes {arguments:?}, the open call is {self:?}");
        Ok(())
    }
}

fn task_of(call: &TaskCall) -> Option<TaskId> {
    match call {
        TaskCall::List => None,
        TaskCall::Status { task }
        | TaskCall::Output { task, .. }
        | TaskCall::Input { task, .. }
        | TaskCall::Stop { task, .. } => Some(*task),
    }
}

/// What a step has heard of a model or a performer is what it records.
pub(super) fn check_outcomes(
    call: &Call,
    records: &[Record],
    said: &mut BTreeMap<&'static str, u64>,
) -> Result<(), Failure> {
    let Call::Step { input: Input::Completed { agent, op, outcome }, .. } = call else { return Ok(()) };
    match outcome {
        Outcome::Answer { answer } => {
            let model = records.iter().filter(|record| record.agent == *agent).find_map(winner);
            for record in records.iter().filter(|record| record.agent == *agent) {
                if let Event::Turn(TurnFact::AssistantRoundRecorded(fact)) = &record.event {
                    *said.entry("M3").or_default() += 1;
                    answered(agent, (answer, model), &fact.blocks, &fact.verdicts)?;
                }
            }
            Ok(())
        }
        Outcome::Tool { outcome } => {
            let received = &outcome.receipt;
            let Some((settlement, tool, result)) = result_of(agent, *op, records) else { return Ok(()) };
            if settlement == Settlement::Failed && received.error.is_none() {
                // What came fits no operation of that kind, and the call is notified so.
                return Ok(());
            }
            *said.entry("M3").or_default() += 1;
            // What another program brings is nothing but what the model reads.
            let foreign = tool == Tool::ToolCall.name() || Tool::named(tool).is_none();
            if let Some(template) = received.facts.template.as_deref().filter(|_| !foreign) {
                let begins = records.iter().any(|record| begins_with(record, template));
                let fits = result.error.is_some() || begins;
                ensure!(fits, "M3", "{agent} begins nobody with {template:?}: {result:?}");
                return Ok(());
            }
            let facts = ToolFacts { shown_task: received.facts.shown_task, ..result.facts.clone() };
            let bare = ToolFacts { truncated: received.facts.truncated, ..ToolFacts::default() };
            let same = match &received.error {
                Some(error) => result.error.as_ref() == Some(error),
                None => {
                    let expected = if foreign { &bare } else { &received.facts };
                    result.error.is_none() && result.content == received.content && facts == *expected
                }
            };
            ensure!(same, "M3", "{agent} has the result {result:?}, what came was {received:?}");
            Ok(())
        }
        Outcome::Context { .. }
        | Outcome::AttemptFailed { .. }
        | Outcome::Prepared { .. }
        | Outcome::Workspace { .. }
        | Outcome::Worktree { .. }
        | Outcome::Failed { .. } => Ok(()),
    }
}

/// The result that follows the end of an operation, where it is a call's.
fn result_of<'a>(
    agent: &AgentId,
    op: OpId,
    records: &'a [Record],
) -> Option<(Settlement, &'a str, &'a Receipt)> {
    let mut of_agent = records.iter().filter(|record| record.agent == *agent);
    let settlement = of_agent.find_map(|record| {
        let Event::Operation(OperationFact::OperationSettled(fact)) = &record.event else { return None };
        let ends = [Settlement::Done, Settlement::Failed].contains(&fact.settlement);
        (fact.op == op && ends).then_some(fact.settlement)
    })?;
    // A task whose command has ended says so itself.
    let ended = |record: &&Record| matches!(&record.event, Event::Task(TaskFact::TaskStatusUpdated(fact)) if fact.status.is_terminal());
    let (tool, receipt) = of_agent.take_while(|record| !ended(record)).find_map(result)?;
    Some((settlement, tool, receipt))
}

/// Whether somebody is begun with that template.
fn begins_with(record: &Record, template: &AgentTemplate) -> bool {
    let Event::Outbox(OutboxFact::LetterPosted(fact)) = &record.event else { return false };
    let Letter::Spawn { spec, .. } = &fact.letter else { return false };
    spec.template.as_ref() == Some(template)
}

#[expect(clippy::wildcard_enum_match_arm, reason = "every other one is skipped")]
fn result(record: &Record) -> Option<(&str, &Receipt)> {
    match &record.event {
        Event::Turn(TurnFact::ToolExecuted(fact)) => Some((&fact.tool_name, &fact.receipt)),
        Event::Turn(TurnFact::ToolExecutionFailed(fact)) => Some((&fact.tool_name, &fact.receipt)),
        _ => None,
    }
}

/// The model that answered.
fn winner(record: &Record) -> Option<&ModelRef> {
    let Event::Turn(TurnFact::ProviderRoundCompleted(fact)) = &record.event else { return None };
    Some(&fact.winning_model_ref)
}

/// A round is what was answered: each text, each call with its own arguments and its own verdict, and each thought as
/// that of the model that answered.
fn answered(
    agent: &AgentId,
    (answer, by): (&ModelAnswer, Option<&ModelRef>),
    blocks: &[Block],
    verdicts: &[Verdict],
) -> Result<(), Failure> {
    let wrong = |what: &str| {
        safety("M3", format!("{what}: {agent} was answered {answer:?}, on record is {blocks:?}"))
    };
    if answer.blocks.len() != blocks.len() {
        return Err(wrong("blocks are missing"));
    }
    let mut verdicts = verdicts.iter();
    for (said, kept) in answer.blocks.iter().zip(blocks) {
        match (said, kept) {
            (AnswerBlock::Text { text: said }, Block::Text { text }) if said == text => {}
            (AnswerBlock::Reasoning { content: said }, Block::Reasoning { model, content })
                if said == content && by == Some(model) => {}
            (AnswerBlock::ToolCall(said), Block::ToolCall { tool_name, arguments, .. })
                if said.arguments == *arguments =>
            {
                let named = said.tool_name == *tool_name || Tool::named(&said.tool_name).is_none();
                let Some(verdict) = verdicts.next().filter(|_| named) else { return Err(wrong("a call")) };
                let tool = verdict.tool();
                let tool = tool.map(|name| (name.clone(), Tool::named(name.as_str())));
                let right = match (tool, said.json()) {
                    (None, _) => true,
                    // What it names is called, by whichever name that has.
                    (Some(_), Some(json)) if *tool_name == *Tool::ToolCall.name() => {
                        Tool::ToolCall.verdict(json).as_ref() == Ok(verdict)
                    }
                    (Some((name, Some(tool))), Some(json)) => {
                        name == *said.tool_name && own(tool, json, verdict)
                    }
                    (Some((name, _)), _) => name == *said.tool_name,
                };
                if !right {
                    return Err(wrong("a verdict of another call"));
                }
            }
            (
                AnswerBlock::Text { .. } | AnswerBlock::ToolCall(_) | AnswerBlock::Reasoning { .. },
                Block::Text { .. } | Block::ToolCall { .. } | Block::Reasoning { .. },
            ) => {
                return Err(wrong("another block"));
            }
        }
    }
    if verdicts.next().is_some() { Err(wrong("a verdict of no call")) } else { Ok(()) }
}

/// Whether a verdict is about these arguments: what the core executes itself is read from them alone.
fn own(tool: Tool, json: &str, verdict: &Verdict) -> bool {
    match verdict {
        // What goes into a command is read where it is written.
        Verdict::OnTask(TaskCall::Input { task, .. }) => {
            let read = tool.verdict(json);
            matches!(read, Ok(Verdict::OnTask(TaskCall::Input { task: other, .. })) if other == *task)
        }
        Verdict::Accepted(_) | Verdict::OnTask(_) | Verdict::OnWork(_) | Verdict::OnSelf(_) => {
            tool.verdict(json).as_ref() == Ok(verdict)
        }
        Verdict::Refused(_) => true,
    }
}
