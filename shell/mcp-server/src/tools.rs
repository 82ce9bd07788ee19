//! The tools: one row for each, and what it asks the runtime for.

use std::time::Duration;

use holon_api::{
    Action, AgentPath, ClientError, Code, Control, ControlAgent, CreateWork, InboxQuery, ListQuery,
    MemoryQuery, OpenAsk, OutputQuery, PageQuery, Prompt, PromptQuery, WaitUntil, WorkItemsQuery,
    earlier_answer,
};
use holon_facts::AgentId;
use holon_facts::ids::BriefId;
use holon_facts::label::Description;
use holon_facts::provenance::Priority;
use holon_rpc::Error;
use serde_json::{Value, json};

use crate::answer::{ToolError, result, value};
use crate::arguments::{
    AddWork, AnswerQuestion, CreateAgent, ListAgents, ListWork, MOST_WAIT_MS, OfAgent, PromptAgent,
    PromptResult, ReadTranscript, RunTask, SearchMemory, TaskOutput, read, schema, within,
};
use crate::server::Asked;

/// A turn is waited for so long where nothing else is asked for.
const WAIT_MS: u32 = 30_000;
/// Agents of one page of the inbox.
const ASKING: u32 = 500;
/// No call takes longer, whatever the runtime does.
const LONGEST: Duration = Duration::from_millis(MOST_WAIT_MS as u64 + 8_000);

/// One tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tool {
    ListAgents,
    AgentStatus,
    Why,
    ReadTranscript,
    ListWork,
    TaskOutput,
    SearchMemory,
    PromptResult,
    PromptAgent,
    AnswerQuestion,
    AddWork,
    RunTask,
    CreateAgent,
    StartAgent,
    StopAgent,
}

/// What a call may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    Nothing,
    /// It adds something, each time.
    Adds,
    /// A repeat changes nothing more.
    Once,
    /// It may undo or destroy, as agents and commands do what they are told.
    Anything,
    /// It ends what is under way; a repeat changes nothing more.
    Ends,
}

impl Tool {
    const ALL: [Self; 15] = [
        Self::ListAgents,
        Self::AgentStatus,
        Self::Why,
        Self::ReadTranscript,
        Self::ListWork,
        Self::TaskOutput,
        Self::SearchMemory,
        Self::PromptResult,
        Self::PromptAgent,
        Self::AnswerQuestion,
        Self::AddWork,
        Self::RunTask,
        Self::CreateAgent,
        Self::StartAgent,
        Self::StopAgent,
    ];

    fn row(self) -> (&'static str, Effect, &'static str) {
        match self {
            Self::ListAgents => (
                "list_agents",
                Effect::Nothing,
                "List the public agents, with how each stands and what it waits for.",
            ),
            Self::AgentStatus => (
                "agent_status",
                Effect::Nothing,
                "Summarize one agent: its state, run, queue, tasks and workspace.",
            ),
            Self::Why => (
                "why",
                Effect::Nothing,
                "Explain why an agent runs, waits or sleeps now, and what would change that.",
            ),
            Self::ReadTranscript => (
                "read_transcript",
                Effect::Nothing,
                "Read the messages, answers and calls of an agent's turns, the newest page first.",
            ),
            Self::ListWork => {
                ("list_work", Effect::Nothing, "List an agent's work items: its goals over many turns.")
            }
            Self::TaskOutput => {
                ("task_output", Effect::Nothing, "Read the output of a background task, now or when it ends.")
            }
            Self::SearchMemory => (
                "search_memory",
                Effect::Nothing,
                "Search what an agent remembers: its notes, episodes, messages and work.",
            ),
            Self::PromptResult => (
                "prompt_result",
                Effect::Nothing,
                "Ask what came of a prompt that was sent before, now or when its turn ends.",
            ),
            Self::PromptAgent => (
                "prompt_agent",
                Effect::Anything,
                "Send a prompt to an agent as its operator, and wait for the end of the turn. The prompt is durable: where \
                 the turn takes longer than wait_ms, `ended` is false and prompt_result asks again by message_id.",
            ),
            Self::AnswerQuestion => (
                "answer_question",
                Effect::Anything,
                "Answer what an agent has asked its operator, and wait for the end of the turn.",
            ),
            Self::AddWork => {
                ("add_work", Effect::Adds, "Give an agent a new work item, which it turns to by itself.")
            }
            Self::RunTask => (
                "run_task",
                Effect::Anything,
                "Run a shell command as a background task of an agent, in its workspace.",
            ),
            Self::CreateAgent => {
                ("create_agent", Effect::Once, "Create an agent with an id. An id that exists is refused.")
            }
            Self::StartAgent => ("start_agent", Effect::Once, "Start an agent that was stopped."),
            Self::StopAgent => (
                "stop_agent",
                Effect::Ends,
                "Stop an agent: its run ends, and it takes no new input until it is started.",
            ),
        }
    }

    fn schema(self) -> Value {
        match self {
            Self::ListAgents => schema::<ListAgents>(),
            Self::AgentStatus | Self::Why | Self::StartAgent | Self::StopAgent => schema::<OfAgent>(),
            Self::ReadTranscript => schema::<ReadTranscript>(),
            Self::ListWork => schema::<ListWork>(),
            Self::TaskOutput => schema::<TaskOutput>(),
            Self::SearchMemory => schema::<SearchMemory>(),
            Self::PromptResult => schema::<PromptResult>(),
            Self::PromptAgent => schema::<PromptAgent>(),
            Self::AnswerQuestion => schema::<AnswerQuestion>(),
            Self::AddWork => schema::<AddWork>(),
            Self::RunTask => schema::<RunTask>(),
            Self::CreateAgent => schema::<CreateAgent>(),
        }
    }

    fn is_offered(self, read_only: bool) -> bool {
        !read_only || self.row().1 == Effect::Nothing
    }

    /// All that a client is offered.
    pub(crate) fn list(read_only: bool) -> Vec<Value> {
        let offered = Self::ALL.into_iter().filter(|tool| tool.is_offered(read_only));
        offered
            .map(|tool| {
                let (name, effect, description) = tool.row();
                json!({
                    "name": name,
                    "description": description,
                    "inputSchema": tool.schema(),
                    "annotations": {
                        "readOnlyHint": effect == Effect::Nothing,
                        "destructiveHint": matches!(effect, Effect::Anything | Effect::Ends),
                        "idempotentHint": matches!(effect, Effect::Nothing | Effect::Once | Effect::Ends),
                        "openWorldHint": effect == Effect::Anything,
                    },
                })
            })
            .collect()
    }
}

/// Calls a tool. What the tool could not do is a result; an error is for what is no call at all.
pub(crate) async fn call<C: Control>(asked: &Asked<'_, C>, read_only: bool) -> Result<Value, Error> {
    let name = asked.params["name"].as_str().ok_or_else(|| Error::invalid_params("name: expected a tool"))?;
    let tool = Tool::ALL.into_iter().find(|tool| tool.row().0 == name && tool.is_offered(read_only));
    let tool = tool.ok_or_else(|| Error::invalid_params(format!("there is no tool {name}")))?;
    let told = tokio::time::timeout(LONGEST, perform(tool, asked, &asked.params["arguments"])).await;
    Ok(result(told.unwrap_or_else(|_| {
        Err(ToolError::new("runtime_unreachable", "the runtime does not answer")
            .hint("holon daemon status, then holon daemon logs"))
    })))
}

async fn perform<C: Control>(
    tool: Tool,
    asked: &Asked<'_, C>,
    arguments: &Value,
) -> Result<Value, ToolError> {
    let runtime = asked.runtime;
    match tool {
        Tool::ListAgents => {
            let ListAgents { after, limit, all } = read(arguments)?;
            let limit = within("limit", limit, (50, 200))?;
            value(&runtime.agents(ListQuery { after, limit, all }).await?)
        }
        Tool::AgentStatus => value(&runtime.status(agent(asked, arguments).await?).await?),
        Tool::Why => value(&runtime.why(agent(asked, arguments).await?).await?),
        Tool::StartAgent => control(asked, arguments, Action::Start).await,
        Tool::StopAgent => control(asked, arguments, Action::Stop).await,
        Tool::ReadTranscript => {
            let ReadTranscript { agent, before, after, limit } = read(arguments)?;
            let limit = within("limit", limit, (20, 200))?;
            let page = PageQuery { before, after, limit };
            value(&runtime.transcript(path(asked, agent).await?, page).await?)
        }
        Tool::ListWork => {
            let ListWork { agent, filter, limit } = read(arguments)?;
            let limit = within("limit", limit, (50, 200))?;
            value(&runtime.work_items(path(asked, agent).await?, WorkItemsQuery { filter, limit }).await?)
        }
        Tool::TaskOutput => {
            let TaskOutput { agent, task_id, wait_ms, characters } = read(arguments)?;
            let timeout_ms = within("wait_ms", wait_ms, (0, MOST_WAIT_MS))?;
            let characters = within("characters", characters, (8_000, 50_000))?;
            let agent = path(asked, agent).await?.agent_id;
            let query = OutputQuery { block: timeout_ms.map(|wait| wait > 0), timeout_ms, characters };
            value(&asked.watching(&agent, runtime.task_output((&agent, task_id), query)).await?)
        }
        Tool::SearchMemory => {
            let SearchMemory { agent, query, limit, all_workspaces } = read(arguments)?;
            let query = MemoryQuery { query, limit, include_all_workspaces: all_workspaces.then_some(true) };
            value(&runtime.memory_search(path(asked, agent).await?, query).await?)
        }
        Tool::PromptResult => {
            let PromptResult { agent, message_id, wait_ms } = read(arguments)?;
            let agent = path(asked, agent).await?.agent_id;
            let query = waits(wait_ms)?;
            value(&asked.watching(&agent, runtime.message((&agent, message_id), query)).await?)
        }
        Tool::PromptAgent => {
            let PromptAgent { agent, text, wait_ms, interject, key } = read(arguments)?;
            let agent = path(asked, agent).await?.agent_id;
            let priority = interject.then_some(Priority::Interject);
            prompt(asked, &agent, Prompt { priority, ..said(asked, text) }, (wait_ms, key)).await
        }
        Tool::AnswerQuestion => answer(asked, read(arguments)?).await,
        Tool::AddWork => {
            let AddWork { agent, objective, plan, key } = read(arguments)?;
            let work = CreateWork { objective, plan, ..CreateWork::default() };
            let key = Some(asked.key(key)?);
            value(&runtime.create_work_item(path(asked, agent).await?, work, key).await?)
        }
        Tool::RunTask => {
            let RunTask { agent, cmd, workdir, key } = read(arguments)?;
            let task = holon_api::RunTask { cmd, workdir, ..holon_api::RunTask::default() };
            let key = Some(asked.key(key)?);
            value(&runtime.run_task(path(asked, agent).await?, task, key).await?)
        }
        Tool::CreateAgent => create(asked, read(arguments)?).await,
    }
}

async fn create<C: Control>(asked: &Asked<'_, C>, wanted: CreateAgent) -> Result<Value, ToolError> {
    let CreateAgent { agent, workspace_root, model, instructions, description } = wanted;
    let description = description.map(|text| Description::new(&text)).transpose();
    let wanted = holon_api::CreateAgent {
        workspace_root,
        model,
        instructions,
        description: description.map_err(ToolError::invalid)?,
        ..holon_api::CreateAgent::default()
    };
    value(&asked.runtime.create_agent(&agent, wanted).await?)
}

async fn control<C: Control>(
    asked: &Asked<'_, C>,
    arguments: &Value,
    action: Action,
) -> Result<Value, ToolError> {
    let path = agent(asked, arguments).await?;
    value(&asked.runtime.control(path, ControlAgent { action }).await?)
}

/// Answers an open ask: a prompt that says what it answers. A repeat under its key is about the same ask, which is closed
/// by then.
async fn answer<C: Control>(asked: &Asked<'_, C>, given: AnswerQuestion) -> Result<Value, ToolError> {
    let AnswerQuestion { agent, text, brief_id, wait_ms, key } = given;
    let agent = path(asked, agent).await?.agent_id;
    let open = asks(asked.runtime, &agent).await?;
    let ask = match brief_id {
        None => open.last(),
        Some(brief) => open.iter().find(|ask| ask.brief_id == brief),
    };
    let ask = ask.map(|ask| ask.brief_id);
    let send = |ask: BriefId| {
        let causation_id = Some(ask.to_string());
        prompt(asked, &agent, Prompt { causation_id, ..said(asked, text.clone()) }, (wait_ms, key.clone()))
    };
    let earlier = async || match &key {
        Some(key) => earlier_answer(asked.runtime, &agent, key).await,
        None => Ok(None),
    };
    let Some(ask) = ask else {
        return match earlier().await? {
            Some(answered) => send(brief_id.unwrap_or(answered)).await,
            None => Err(not_open(&agent, brief_id)),
        };
    };
    match send(ask).await {
        Err(error) if brief_id.is_none() && error.is(Code::IdempotencyConflict) => match earlier().await? {
            Some(answered) if answered != ask => send(answered).await,
            Some(_) | None => Err(error),
        },
        told => told,
    }
}

fn not_open(agent: &AgentId, brief: Option<BriefId>) -> ToolError {
    let error = match brief {
        None => format!("{agent} has asked nothing that is not answered"),
        Some(brief) => format!("{brief} is no open ask of {agent}"),
    };
    ToolError::new("unknown_ask", error).hint("agent_status shows what an agent waits for")
}

/// What an agent has asked and nobody has answered, the oldest first.
async fn asks(runtime: &impl Control, agent: &AgentId) -> Result<Vec<OpenAsk>, ClientError> {
    let mut after = None;
    loop {
        let page = runtime.inbox(InboxQuery { after, limit: Some(ASKING) }).await?.into_reply();
        let own: Vec<OpenAsk> = page.asks.into_iter().filter(|ask| ask.agent_id == *agent).collect();
        if !own.is_empty() || page.next.is_none() {
            return Ok(own);
        }
        after = page.next;
    }
}

fn said<C>(asked: &Asked<'_, C>, text: String) -> Prompt {
    let client: String = asked.client.chars().take(200).collect();
    Prompt {
        text,
        images: Vec::new(),
        skills: Vec::new(),
        priority: None,
        actor_id: Some(format!("mcp: {client}")),
        correlation_id: None,
        causation_id: None,
    }
}

async fn prompt<C: Control>(
    asked: &Asked<'_, C>,
    agent: &AgentId,
    prompt: Prompt,
    (wait_ms, key): (Option<u32>, Option<String>),
) -> Result<Value, ToolError> {
    let (query, key) = (waits(wait_ms)?, asked.key(key)?);
    let sent = asked.runtime.prompt(agent, query, prompt, Some(key.clone()));
    let told = asked.watching(agent, sent).await.map_err(ToolError::from);
    let told = told.map_err(|error| {
        if !error.is_unclear() {
            return error;
        }
        error
            .hint(format!("the same call with key {key:?}, once the runtime is back: the prompt counts once"))
    })?;
    let mut told = value(&told)?;
    if told["ended"] == false {
        told["hint"] = json!("prompt_result with this message_id waits for the end of the turn");
    }
    Ok(told)
}

fn waits(wait_ms: Option<u32>) -> Result<PromptQuery, ToolError> {
    let timeout_ms = within("wait_ms", wait_ms, (WAIT_MS, MOST_WAIT_MS))?;
    Ok(PromptQuery { wait: Some(WaitUntil::Turn), timeout_ms })
}

/// The agent of a tool that asks for nothing else.
async fn agent<C: Control>(asked: &Asked<'_, C>, arguments: &Value) -> Result<AgentPath, ToolError> {
    let OfAgent { agent } = read(arguments)?;
    path(asked, agent).await
}

/// The agent that is named, or the default one.
async fn path<C: Control>(asked: &Asked<'_, C>, named: Option<AgentId>) -> Result<AgentPath, ToolError> {
    let agent_id = match named {
        Some(named) => named,
        None => asked.runtime.handshake().await?.runtime.default_agent.clone(),
    };
    Ok(AgentPath { agent_id })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tools_are_described_as_what_they_are() {
        let (all, reading) = (Tool::list(false), Tool::list(true));
        assert_eq!((all.len(), reading.len()), (15, 8));
        assert!(reading.iter().all(|tool| tool["annotations"]["readOnlyHint"] == true));
        for tool in &all {
            let schema = &tool["inputSchema"];
            assert_eq!(
                (&schema["type"], &schema["additionalProperties"]),
                (&json!("object"), &json!(false)),
                "{tool}"
            );
            assert!(!schema.to_string().contains("$ref"), "a client may resolve no references: {tool}");
            assert!(tool["description"].as_str().is_some_and(|text| text.ends_with('.')), "{tool}");
        }
        assert!(
            Value::Array(all).to_string().len() < 16_000,
            "descriptions are paid for by whoever reads them"
        );
    }
}
