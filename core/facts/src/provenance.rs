//! Where a message comes from, and what it may do (contract: agent.md, Messages).

names! {
    /// What a message is.
    MessageKind {
        OperatorPrompt "operator_prompt", Control "control", ChannelEvent "channel_event",
        WebhookEvent "webhook_event", CallbackEvent "callback_event", TimerTick "timer_tick",
        SystemTick "system_tick", InternalFollowup "internal_followup", TaskResult "task_result",
        TaskStatus "task_status", BriefAck "brief_ack", BriefResult "brief_result",
    }
}

impl MessageKind {
    /// Whether somebody outside says it, rather than the runtime to its agent.
    pub fn is_from_outside(self) -> bool {
        match self {
            Self::OperatorPrompt | Self::ChannelEvent | Self::WebhookEvent | Self::CallbackEvent => true,
            Self::Control
            | Self::TimerTick
            | Self::SystemTick
            | Self::InternalFollowup
            | Self::TaskResult
            | Self::TaskStatus
            | Self::BriefAck
            | Self::BriefResult => false,
        }
    }
}

names! {
    /// A compatibility label; [`AuthorityClass`] is what decides.
    Trust {
        TrustedOperator "trusted_operator", TrustedSystem "trusted_system",
        TrustedIntegration "trusted_integration", UntrustedExternal "untrusted_external",
    }
}

names! {
    /// How the content is to be treated: as an instruction, a signal, or evidence.
    AuthorityClass {
        OperatorInstruction "operator_instruction", RuntimeInstruction "runtime_instruction",
        IntegrationSignal "integration_signal", ExternalEvidence "external_evidence",
    }
}

names! {
    /// Bands of the queue, the most urgent first.
    Priority { Interject "interject", Next "next", Normal "normal", Background "background" }
}

names! {
    /// What a message means for an agent that may resume.
    TriggerKind {
        OperatorInput "operator_input", TaskResult "task_result", ExternalEvent "external_event",
        TimerFire "timer_fire", InternalFollowup "internal_followup", SystemTick "system_tick",
    }
}

names! {
    /// The ingress through which a message came.
    Surface {
        CliPrompt "cli_prompt", RunOnce "run_once", HttpPublicEnqueue "http_public_enqueue",
        HttpWebhook "http_webhook", HttpCallbackEnqueue "http_callback_enqueue",
        HttpCallbackWake "http_callback_wake", HttpControlPrompt "http_control_prompt",
        TimerScheduler "timer_scheduler", RuntimeSystem "runtime_system", TaskRejoin "task_rejoin",
    }
}

names! {
    /// What the ingress had proven about its caller.
    AdmissionContext {
        PublicUnauthenticated "public_unauthenticated", ControlAuthenticated "control_authenticated",
        ExternalTriggerCapability "external_trigger_capability", LocalProcess "local_process",
        RuntimeOwned "runtime_owned",
    }
}

names! {
    /// How a body is to be read.
    BodyType { Text "text", Json "json" }
}
