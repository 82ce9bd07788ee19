//! What a provider may leave out of a long request by itself, where its protocol can.

/// Opt-in, each on its own.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContextEditing {
    /// Results of old calls.
    pub tool_uses: Option<ClearToolUses>,
    /// What the model thought in old turns.
    pub thinking: Option<KeptThinking>,
}

/// When results of old calls are left out, and which. What is absent is as the provider has it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClearToolUses {
    pub trigger: Option<Trigger>,
    /// So many of the newest calls keep their results.
    pub keep: Option<u64>,
    /// Fewer tokens than that are not worth the loss of the cache.
    pub clear_at_least: Option<u64>,
    /// Tools whose results stay.
    pub exclude_tools: Vec<String>,
    /// Also the arguments of the calls.
    pub clear_tool_inputs: bool,
}

/// How long a request is that is edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    InputTokens(u64),
    ToolUses(u64),
}

/// Of how many of the newest turns the model keeps what it thought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeptThinking {
    All,
    Turns(u64),
}
