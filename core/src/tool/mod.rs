//! The tools that agents are offered (contract: tools.md). A tool is a file, with its arguments, what must hold of them and
//! what a call comes to, and a row of the table below.

pub mod arguments;
mod check;
pub mod schema;
mod unreadable;

use alloc::vec::Vec;

use holon_facts::call::ToolName;
use holon_facts::content::clip;
use holon_facts::identity::AgentSpec;
use holon_facts::model::ProposedCall;
use holon_facts::receipt::{ToolError, ToolErrorKind, Verdict};
use holon_facts::tool::{ServerTools, ToolSpec};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use apply_patch::ApplyPatch;
pub use create_work_item::CreateWorkItem;
pub use exec_command::ExecCommand;
pub use exec_command_batch::{BatchItem, ExecCommandBatch};
pub use memory_get::MemoryGet;
pub use memory_search::MemorySearch;
pub use task_input::TaskInput;
pub use tool_call::ToolCall;
pub use tool_search::ToolSearch;
pub use view_image::ViewImage;

/// The type of a tool's arguments.
pub trait BuiltIn: DeserializeOwned + JsonSchema {
    /// What models are shown about the tool. The same bytes for every agent of one build.
    const DESCRIPTION: &'static str;

    /// What must hold beyond the shape.
    fn check(&self) -> Result<(), ToolError> {
        Ok(())
    }

    /// What a call comes to, of arguments that hold.
    fn verdict(self) -> Result<Verdict, ToolError>;
}

/// Who executes a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Executor {
    /// The core, on what it knows of the agent.
    Core,
    /// A supervisor for each call.
    Supervisor,
    /// A performer.
    Shell,
    /// A performer that looks at what is on record: it needs no folder, and its results carry no facts.
    Memory,
    /// Programs of others, whose results carry no facts either.
    Servers,
}

/// To whom a tool is offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exposure {
    Always,
    /// Where the model that is asked first reads images.
    WithImages,
    /// To agents that last longer than one run.
    Lasting,
    /// To these, where the models' window is large enough for all tools.
    LastingWithRoom,
    /// There, to agents that may begin others.
    LastingWithRoomToParents,
    /// Where requests don't have all tools of other programs.
    WithManyOfServers,
}

macro_rules! tools {
    ($($tool:ident $file:ident $executor:ident $exposure:ident $tokens:literal)*) => {
        $(mod $file;)*

        /// A tool of the catalogue. The order of the variants is the order in which they are offered.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Tool {
            $($tool,)*
        }

        impl Tool {
            pub const ALL: &'static [Self] = &[$(Self::$tool,)*];

            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$tool => stringify!($tool),)*
                }
            }

            pub fn description(self) -> &'static str {
                match self {
                    $(Self::$tool => <$file::$tool as BuiltIn>::DESCRIPTION,)*
                }
            }

            /// What its name, description and schema take of a request, at most.
            pub fn est_tokens(self) -> u64 {
                match self {
                    $(Self::$tool => $tokens,)*
                }
            }

            pub(crate) fn exposure(self) -> Exposure {
                match self {
                    $(Self::$tool => Exposure::$exposure,)*
                }
            }

            fn executor(self) -> Executor {
                match self {
                    $(Self::$tool => Executor::$executor,)*
                }
            }

            fn schema(self) -> Value {
                match self {
                    $(Self::$tool => schema::of::<$file::$tool>(),)*
                }
            }

            /// What a call with these arguments comes to. Those too large to come along are judged by the performer, with the
            /// same types.
            ///
            /// # Errors
            /// Arguments that don't fit.
            pub fn verdict(self, json: &str) -> Result<Verdict, ToolError> {
                match self {
                    $(Self::$tool => arguments::parse::<$file::$tool>(json)?.verdict(),)*
                }
            }
        }
    };
}

tools! {
//  tool              file                executed by offered                   tokens
    ExecCommand       exec_command        Supervisor  Always                    390
    ExecCommandBatch  exec_command_batch  Supervisor  Always                    290
    ApplyPatch        apply_patch         Shell       Always                    160
    ViewImage         view_image          Shell       WithImages                110
    TaskList          task_list           Core        LastingWithRoom           40
    TaskStatus        task_status         Core        Always                    50
    TaskOutput        task_output         Core        Always                    140
    TaskInput         task_input          Core        Always                    90
    TaskStop          task_stop           Core        Always                    90
    CreateWorkItem    create_work_item    Core        Lasting                   270
    PickWorkItem      pick_work_item      Core        Lasting                   110
    GetWorkItem       get_work_item       Core        Lasting                   80
    ListWorkItems     list_work_items     Core        Lasting                   150
    UpdateWorkItem    update_work_item    Core        Lasting                   290
    CompleteWorkItem  complete_work_item  Core        Lasting                   80
    MemorySearch      memory_search       Memory      LastingWithRoom           120
    MemoryGet         memory_get          Memory      LastingWithRoom           80
    Enqueue           enqueue             Core        LastingWithRoom           110
    NotifyOperator    notify_operator     Core        Lasting                   120
    WaitFor           wait_for            Core        Always                    300
    Sleep             sleep               Core        Lasting                   110
    AgentGet          agent_get           Core        LastingWithRoom           80
    SpawnAgent        spawn_agent         Core        LastingWithRoomToParents  350
    UseWorkspace      use_workspace       Core        LastingWithRoom           260
    ToolSearch        tool_search         Servers     WithManyOfServers         120
    ToolCall          tool_call           Servers     WithManyOfServers         120
}

impl Tool {
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|tool| tool.name() == name)
    }

    /// Whether it works in a folder that nobody else writes to meanwhile.
    pub fn needs_folder(self) -> bool {
        match self.executor() {
            Executor::Supervisor | Executor::Shell => true,
            Executor::Core | Executor::Memory | Executor::Servers => false,
        }
    }

    /// Whether its results carry facts, such as files that changed, and images. Whoever only looks at what is on record
    /// changes nothing, whatever its performer reports.
    pub(crate) fn has_facts(self) -> bool {
        match self.executor() {
            Executor::Core | Executor::Supervisor | Executor::Shell => true,
            Executor::Memory | Executor::Servers => false,
        }
    }

    /// Whether it executes commands, each under a supervisor.
    pub fn is_command(self) -> bool {
        self.executor() == Executor::Supervisor
    }
}

impl core::fmt::Display for Tool {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.name())
    }
}

impl From<Tool> for ToolName {
    fn from(tool: Tool) -> Self {
        Self::new(tool.name())
    }
}

/// All tools as they are described to models, in the order in which they are offered.
pub fn catalogue() -> Vec<ToolSpec> {
    let spec = |tool: &Tool| ToolSpec {
        name: (*tool).into(),
        description: tool.description().into(),
        schema: tool.schema(),
        est_tokens: tool.est_tokens(),
    };
    Tool::ALL.iter().map(spec).collect()
}

/// What the requests of a run offer, and to whom.
#[derive(Clone, Copy)]
pub(crate) struct Offer<'a> {
    pub(crate) spec: &'a AgentSpec,
    /// The model that is asked first.
    pub(crate) model: &'a str,
    pub(crate) tools: &'a [ToolName],
    /// What other programs have, whether or not requests do.
    pub(crate) servers: Option<&'a ServerTools>,
}

/// Tools of other programs that requests with these tools find, instead of having them by their names.
pub(crate) fn found<'a>(tools: &[ToolName], servers: Option<&'a ServerTools>) -> Option<&'a ServerTools> {
    servers.filter(|_| tools.iter().any(|name| *name == *Tool::ToolSearch.name()))
}

/// What a proposed call comes to.
///
/// # Errors
/// Why it is refused.
pub(crate) fn judge(call: &ProposedCall, offer: Offer<'_>) -> Result<Verdict, ToolError> {
    let Some(tool) = Tool::named(&call.tool_name) else {
        // What its arguments are worth, its own program knows.
        let offered = offer.tools.iter().find(|name| name.as_str() == call.tool_name);
        return offered.cloned().map(Verdict::Accepted).ok_or_else(|| unknown(&call.tool_name));
    };
    if !offer.tools.iter().any(|name| name.as_str() == tool.name()) {
        return Err(not_exposed(tool, offer));
    }
    match (call.json(), tool.executor()) {
        (Some(json), _) => {
            let verdict = tool.verdict(json)?;
            let named = verdict.tool().filter(|_| tool == Tool::ToolCall);
            match named
                .filter(|name| offer.servers.is_none_or(|servers| servers.get(name.as_str()).is_none()))
            {
                Some(name) => Err(unknown_of_servers(name.as_str())),
                None => Ok(verdict),
            }
        }
        (None, Executor::Supervisor | Executor::Shell | Executor::Memory) => {
            Ok(Verdict::Accepted(tool.into()))
        }
        (None, Executor::Core | Executor::Servers) => {
            let message = "the arguments are longer than 64 KiB";
            Err(ToolError::new(ToolErrorKind::InvalidToolInput, message).hint("send less at a time"))
        }
    }
}

/// There is such a tool, for others.
fn not_exposed(tool: Tool, Offer { spec, model, tools, .. }: Offer<'_>) -> ToolError {
    let names = tools.iter().map(ToolName::as_str);
    let room = names.clone().filter_map(Tool::named).any(|tool| tool.exposure() == Exposure::LastingWithRoom);
    let why = match tool.exposure() {
        // Of a run that another build began.
        Exposure::Always => "the requests of this run don't offer it".into(),
        Exposure::WithImages => format!("{model} reads no images"),
        Exposure::WithManyOfServers => "requests have all tools of other programs by their names".into(),
        Exposure::Lasting | Exposure::LastingWithRoom | Exposure::LastingWithRoomToParents
            if spec.is_temporary() =>
        {
            "it is for agents that last longer than one run".into()
        }
        Exposure::LastingWithRoomToParents if room => "an agent this deep begins no others".into(),
        Exposure::Lasting | Exposure::LastingWithRoom | Exposure::LastingWithRoomToParents => {
            "it is for models with a larger window".into()
        }
    };
    let message = format!("this agent is not offered {tool}: {why}");
    let names: Vec<_> = names.collect();
    let mut hint = format!("use one of those that are offered: {}", names.join(", "));
    if tool.exposure() == Exposure::WithImages {
        hint.push_str("; an operator who knows better sets models.<model>.images");
    }
    ToolError::new(ToolErrorKind::ToolNotExposed, message).hint(&hint)
}

/// No other program has a tool of that name.
fn unknown_of_servers(name: &str) -> ToolError {
    let message = format!("no other program has a tool {:?}", clip(name, 100));
    ToolError::new(ToolErrorKind::UnknownTool, message).field("tool").hint("find its name with ToolSearch")
}

/// Nothing is called that.
pub(crate) fn unknown(name: &str) -> ToolError {
    let message = format!("there is no tool {:?}", clip(name, 100));
    // Whoever reads no images can't use what shows them.
    let rare = [Exposure::WithImages, Exposure::WithManyOfServers];
    let every_model = Tool::ALL.iter().filter(|tool| !rare.contains(&tool.exposure()));
    let names: Vec<_> = every_model.map(|tool| tool.name()).collect();
    let hint = format!("the tools are: {}", names.join(", "));
    ToolError::new(ToolErrorKind::UnknownTool, message).hint(&hint)
}
