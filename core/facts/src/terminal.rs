//! How turns end.

names! {
    /// The kinds of terminal records (contract: agent.md, Turns).
    TurnKind {
        Completed "completed", Aborted "aborted", Failed "failed",
        ContextLengthExceeded "context_length_exceeded", BudgetExhausted "budget_exhausted",
        LimitReached "limit_reached", Interrupted "interrupted",
    }
}

impl TurnKind {
    /// Whether the operator is owed a failure brief.
    pub fn failed(self) -> bool {
        match self {
            Self::Failed | Self::ContextLengthExceeded | Self::BudgetExhausted | Self::LimitReached => true,
            Self::Completed | Self::Aborted | Self::Interrupted => false,
        }
    }

    /// Whether the turn is over for its message; an interrupted one comes again.
    pub fn settles(self) -> bool {
        match self {
            Self::Interrupted => false,
            Self::Completed
            | Self::Aborted
            | Self::Failed
            | Self::ContextLengthExceeded
            | Self::BudgetExhausted
            | Self::LimitReached => true,
        }
    }
}

names! {
    /// Which bound ended a turn, or why it failed.
    TurnReason {
        Rounds "rounds", WallTime "wall_time", RepeatedToolCall "repeated_tool_call",
        TurnTokens "turn_tokens", TurnCost "turn_cost", AgentTokens "agent_tokens", AgentCost "agent_cost",
        SubtreeTokens "subtree_tokens", SubtreeCost "subtree_cost",
        AgentDayTokens "agent_day_tokens", AgentDayCost "agent_day_cost",
        RuntimeTokens "runtime_tokens", RuntimeCost "runtime_cost",
        RuntimeDayTokens "runtime_day_tokens", RuntimeDayCost "runtime_day_cost",
        ContextWindow "context_window", ProviderFailure "provider_failure", ContextLoad "context_load",
        Stopped "stopped", OperatorAbort "operator_abort", Shutdown "shutdown", Crash "crash",
        Outage "outage", Quota "quota", Credentials "credentials",
        OutputLimit "output_limit", Pause "pause", ContentFilter "content_filter", Refusal "refusal",
        EmptyAnswer "empty_answer", MissingToolCall "missing_tool_call",
        UnknownStopReason "unknown_stop_reason",
    }
}

impl TurnReason {
    /// Whether the turn failed for an answer that came to no real end.
    pub fn is_of_answer(self) -> bool {
        match self {
            Self::OutputLimit
            | Self::Pause
            | Self::ContentFilter
            | Self::Refusal
            | Self::EmptyAnswer
            | Self::MissingToolCall
            | Self::UnknownStopReason => true,
            Self::Rounds
            | Self::WallTime
            | Self::RepeatedToolCall
            | Self::TurnTokens
            | Self::TurnCost
            | Self::AgentTokens
            | Self::AgentCost
            | Self::SubtreeTokens
            | Self::SubtreeCost
            | Self::AgentDayTokens
            | Self::AgentDayCost
            | Self::RuntimeTokens
            | Self::RuntimeCost
            | Self::RuntimeDayTokens
            | Self::RuntimeDayCost
            | Self::ContextWindow
            | Self::ProviderFailure
            | Self::ContextLoad
            | Self::Stopped
            | Self::OperatorAbort
            | Self::Shutdown
            | Self::Crash
            | Self::Outage
            | Self::Quota
            | Self::Credentials => false,
        }
    }
}
