//! M3: the recorded round is the model's answer, in its order; a performer executes the open call with the call's own
//! arguments; the outcome becomes the result of that call.

use std::collections::BTreeMap;

use holon_core::Input;
use holon_core::effect::{InputSource, Look, ServerCall, TaskWork, ToolCall, WorkShown, WorkView};
use holon_core::replay::Call;
use holon_core::tool::Tool;
use holon_facts::event::operation::Settlement;
use holon_facts::event::{OperationFact, OutboxFact, TaskFact, TurnFact};
use holon_facts::ids::{TaskId, TemplateId};
use holon_facts::model::{AnswerBlock, Block, ModelAnswer, ModelRef};
use holon_facts::outbox::Letter;
use holon_facts::receipt::{Receipt, SelfCall, TaskCall, ToolFacts, Verdict, WorkCall};
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
    /// Those of the calls that come after it in the round.
    pub(super) after: Vec<Verdict>,
}

impl Called {
    /// Checks a call that a performer executes.
    pub(crate) fn executed(&self, agent: &AgentId, call: &ToolCall) -> Result<(), Failure> {
        let same = (call.call_id.as_str(), call.tool.name()) == (&self.call_id, &self.tool_name);
        ensure!(same, "M3", "{agent} executes {} ({}), the open call is {self:?}", call.tool, call.call_id);
        self.has(agent, &call.arguments)
    }

    /// Checks a call that another program serves.
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

    /// Checks a call that shows a task or writes to it.
    pub(crate) fn on_task(&self, agent: &AgentId, work: &TaskWork) -> Result<(), Failure> {
        let (about, tool) = match work {
            // The end of a command that another call began.
            TaskWork::Promote { .. } | TaskWork::AlreadyRunning { .. } => return Ok(()),
            TaskWork::Output { task, .. } => (Some(task.id), Tool::TaskOutput),
            TaskWork::Input { task, source, .. } => {
                if let InputSource::Call { arguments } = source {
                    self.has(agent, arguments)?;
                }
                (Some(task.id), Tool::TaskInput)
            }
            TaskWork::Stop { task, .. } => (Some(task.id), Tool::TaskStop),
        };
        let fits = task_of(&self.verdict) == about && tool.name() == self.tool_name;
        ensure!(fits, "M3", "{agent} is shown {tool} of {about:?}, the open call is {self:?}");
        Ok(())
    }

    /// Checks a call that shows work items.
    pub(crate) fn on_work(&self, agent: &AgentId, view: &WorkView) -> Result<(), Failure> {
        let fits = matches!(self.verdict, Verdict::OnWork(_));
        ensure!(fits, "M3", "{agent} is shown work items, the open call is {self:?}");
        view.plan.as_ref().map_or(Ok(()), |plan| self.has(agent, plan))
    }

    /// Checks calls that only look: the open one, and as many after it.
    pub(crate) fn looks(&self, agent: &AgentId, looks: &[Look]) -> Result<(), Failure> {
        let verdicts: Vec<&Verdict> = std::iter::once(&self.verdict).chain(&self.after).collect();
        ensure!(looks.len() <= verdicts.len(), "M3", "{agent} is shown more than {self:?} asks for");
        for (look, verdict) in looks.iter().zip(verdicts) {
            let fits = match look {
                Look::Work { view } => matches!(verdict, Verdict::OnWork(call) if shows(view, call)),
                Look::Tasks { .. } => matches!(verdict, Verdict::OnTask(TaskCall::List)),
                Look::Task { task, .. } => {
                    matches!(verdict, Verdict::OnTask(TaskCall::Status { task: asked }) if *asked == task.id)
                }
                Look::Agent { .. } => matches!(verdict, Verdict::OnSelf(SelfCall::Get { .. })),
            };
            ensure!(fits, "M3", "{agent} is shown {look:?}, the call is {verdict:?}");
        }
        Ok(())
    }

    /// Checks a call that loads a template.
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

/// The task that a call is about.
fn task_of(verdict: &Verdict) -> Option<TaskId> {
    let Verdict::OnTask(call) = verdict else { return None };
    match call {
        TaskCall::List => None,
        TaskCall::Status { task }
        | TaskCall::Output { task, .. }
        | TaskCall::Input { task, .. }
        | TaskCall::Stop { task, .. } => Some(*task),
    }
}

/// Whether work items are shown as a call asks for them that changes none.
fn shows(view: &WorkView, call: &WorkCall) -> bool {
    let asked = match (&view.shown, call) {
        (WorkShown::One { item, todo_list }, WorkCall::Get { work_item, todo_list: steps }) => {
            item.id == *work_item && todo_list == steps
        }
        (WorkShown::Many { items, todo_list, .. }, WorkCall::List { limit, todo_list: steps, .. }) => {
            items.len() <= *limit as usize && todo_list == steps
        }
        (
            WorkShown::None | WorkShown::One { .. } | WorkShown::Many { .. },
            WorkCall::Create { .. }
            | WorkCall::Pick { .. }
            | WorkCall::Get { .. }
            | WorkCall::List { .. }
            | WorkCall::Update { .. }
            | WorkCall::Complete { .. },
        ) => false,
    };
    asked && !view.changed && view.plan.is_none()
}

/// M3: a step records the outcome of a model or a performer as it came.
pub(super) fn check_outcomes(
    call: &Call,
    records: &[Record],
    checked: &mut BTreeMap<&'static str, u64>,
) -> Result<(), Failure> {
    let Call::Step { input: Input::Completed { agent, op, outcome }, .. } = call else { return Ok(()) };
    match outcome {
        Outcome::Answer { answer } => {
            let model = records.iter().filter(|record| record.agent == *agent).find_map(winner);
            for record in records.iter().filter(|record| record.agent == *agent) {
                if let Event::Turn(TurnFact::AssistantRoundRecorded(fact)) = &record.event {
                    *checked.entry("M3").or_default() += 1;
                    answered(agent, (answer, model), &fact.blocks, &fact.verdicts)?;
                }
            }
            Ok(())
        }
        Outcome::Tool { outcome } => {
            let received = &outcome.receipt;
            let Some((settlement, tool, result)) = result_of(agent, *op, records) else { return Ok(()) };
            if settlement == Settlement::Failed && received.error.is_none() {
                // The outcome does not fit the operation, and the call's result reports that.
                return Ok(());
            }
            *checked.entry("M3").or_default() += 1;
            // Of another program's outcome, only what the model reads counts.
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
        Outcome::Looked { outcomes } => {
            let results = results_of(agent, *op, records);
            let Some((Settlement::Done, results)) = results else { return Ok(()) };
            *checked.entry("M3").or_default() += outcomes.len() as u64;
            ensure!(
                results.len() >= outcomes.len(),
                "M3",
                "{agent} has {} results of {} looks",
                results.len(),
                outcomes.len()
            );
            for (result, outcome) in results.iter().zip(outcomes) {
                let received = &outcome.receipt;
                let same = result.error == received.error && result.content == received.content;
                ensure!(same, "M3", "{agent} has the result {result:?}, what came was {received:?}");
            }
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

/// The result of a call that follows the end of an operation, if there is one.
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
    // A task whose command has ended reports that itself.
    let ended = |record: &&Record| matches!(&record.event, Event::Task(TaskFact::TaskStatusUpdated(fact)) if fact.status.is_terminal());
    let (tool, receipt) = of_agent.take_while(|record| !ended(record)).find_map(result)?;
    Some((settlement, tool, receipt))
}

/// The results that follow the end of an operation in which calls looked, and how that ended.
fn results_of<'a>(
    agent: &AgentId,
    op: OpId,
    records: &'a [Record],
) -> Option<(Settlement, Vec<&'a Receipt>)> {
    let mut of_agent = records.iter().filter(|record| record.agent == *agent);
    let settlement = of_agent.find_map(|record| {
        let Event::Operation(OperationFact::OperationSettled(fact)) = &record.event else { return None };
        (fact.op == op).then_some(fact.settlement)
    })?;
    Some((settlement, of_agent.filter_map(result).map(|(_, receipt)| receipt).collect()))
}

/// Whether a record begins an agent with that template.
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

/// A recorded round is the answer: each text, each call with its own arguments and verdict, each thought with the model
/// that answered.
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
    for (received, kept) in answer.blocks.iter().zip(blocks) {
        match (received, kept) {
            (AnswerBlock::Text { text: received }, Block::Text { text }) if received == text => {}
            (AnswerBlock::Reasoning { content: received }, Block::Reasoning { model, content })
                if received == content && by == Some(model) => {}
            (AnswerBlock::ToolCall(received), Block::ToolCall { tool_name, arguments, .. })
                if received.arguments == *arguments =>
            {
                let named = received.tool_name == *tool_name || Tool::named(&received.tool_name).is_none();
                let Some(verdict) = verdicts.next().filter(|_| named) else { return Err(wrong("a call")) };
                let tool = verdict.tool();
                let tool = tool.map(|name| (name.clone(), Tool::named(name.as_str())));
                let right = match (tool, received.json()) {
                    (None, _) => true,
                    // Compares the verdict of the named tool, by either of its names.
                    (Some(_), Some(json)) if *tool_name == *Tool::ToolCall.name() => {
                        Tool::ToolCall.verdict(json).as_ref() == Ok(verdict)
                    }
                    (Some((name, Some(tool))), Some(json)) => {
                        name == *received.tool_name && own(tool, json, verdict)
                    }
                    (Some((name, _)), _) => name == *received.tool_name,
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

/// Whether a verdict belongs to these arguments: for calls that the core executes itself, the verdict follows from
/// them.
fn own(tool: Tool, json: &str, verdict: &Verdict) -> bool {
    match verdict {
        // Text for a command is read when it is written.
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
