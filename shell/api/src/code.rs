//! Every code that stands in an error, with its status: the one list that replies, the description of the
//! routes and `docs/http.md` are made of.

use holon_facts::Reject;
use http::StatusCode;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident $text:literal $status:ident;)*) => {
        /// What went wrong, in one word that never changes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code { $($(#[$doc])* $name),* }

        impl Code {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            pub fn name(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            pub fn status(self) -> StatusCode {
                match self { $(Self::$name => StatusCode::$status),* }
            }
        }
    };
}

codes! {
    /// A body that is no JSON, or not of the shape that the route takes; `details.field` names what is wrong.
    InvalidBody "invalid_body" BAD_REQUEST;
    /// A query that the route does not take.
    InvalidQuery "invalid_query" BAD_REQUEST;
    /// A part of the path that is no name of an agent or a task; `details.field` names it.
    InvalidPath "invalid_path" BAD_REQUEST;
    /// A header that can't be read, or that came twice with two values.
    InvalidHeader "invalid_header" BAD_REQUEST;
    /// What begins the request is no HTTP.
    InvalidHead "invalid_head" BAD_REQUEST;
    /// A cursor beyond the last event; `details.last_event_seq` is that one.
    CursorAhead "cursor_ahead" CONFLICT;
    /// A folder that an agent can't work in.
    InvalidWorkspace "invalid_workspace" CONFLICT;
    /// A model that can't be asked.
    InvalidModel "invalid_model" CONFLICT;
    /// A kind of message that this surface can't send.
    KindFromOrigin "kind_from_origin" BAD_REQUEST;
    /// A priority that this surface can't send with.
    PriorityFromOrigin "priority_from_origin" BAD_REQUEST;
    /// More of something than a message may have.
    TooMany "too_many" BAD_REQUEST;
    /// A token is required and there was none.
    MissingToken "missing_token" UNAUTHORIZED;
    /// The token is not the one that is configured.
    WrongToken "wrong_token" UNAUTHORIZED;
    /// The session of the web console that the cookie names has ended, or never was.
    SessionEnded "session_ended" UNAUTHORIZED;
    /// Webhooks have to be signed, and this one is not.
    MissingSignature "missing_signature" UNAUTHORIZED;
    /// A webhook is signed with another key, or was changed on its way.
    WrongSignature "wrong_signature" UNAUTHORIZED;
    /// A page of some other site asks on behalf of its reader.
    ForbiddenOrigin "forbidden_origin" FORBIDDEN;
    /// A confined command asks: it is no operator.
    ConfinedCaller "confined_caller" FORBIDDEN;
    /// A page with a session changes something without the header `x-holon-csrf`, or with another session's.
    WrongCsrf "wrong_csrf" FORBIDDEN;
    UnknownRoute "unknown_route" NOT_FOUND;
    /// The web console is switched off, or the runtime has no address that a browser could open.
    NoConsole "no_console" NOT_FOUND;
    /// A check of the ledger runs; there is one at a time.
    CheckRunning "check_running" CONFLICT;
    /// No session of the web console has that id.
    UnknownSession "unknown_session" NOT_FOUND;
    UnknownAgent "unknown_agent" NOT_FOUND;
    /// No template has that id.
    UnknownTemplate "unknown_template" NOT_FOUND;
    /// A template that can't be used; the error names the file and what is wrong with it.
    InvalidTemplate "invalid_template" UNPROCESSABLE_ENTITY;
    MethodNotAllowed "method_not_allowed" METHOD_NOT_ALLOWED;
    /// The body did not arrive in time.
    RequestTimeout "request_timeout" REQUEST_TIMEOUT;
    AgentStopped "agent_stopped" CONFLICT;
    /// The agent is a child that has come to its end.
    AgentArchived "agent_archived" CONFLICT;
    /// The agent is a child: only its parent sends it messages.
    PrivateAgent "private_agent" CONFLICT;
    /// A name that the runtime gives to children.
    ReservedAgentId "reserved_agent_id" BAD_REQUEST;
    AgentExists "agent_exists" CONFLICT;
    /// Another agent has it as its id or its second name; `details.agent_id` is that agent.
    NameTaken "name_taken" CONFLICT;
    /// The key was used before with another payload; `details.message_id` is what it stands for.
    IdempotencyConflict "idempotency_conflict" CONFLICT;
    /// `details.current_run_id` is the run in progress.
    StaleRunId "stale_run_id" CONFLICT;
    NoCurrentRun "no_current_run" CONFLICT;
    /// The agent was never sent a message with that id.
    UnknownMessage "unknown_message" NOT_FOUND;
    /// The agent has had no turn of that number; `details.last_turn` is its newest.
    UnknownTurn "unknown_turn" NOT_FOUND;
    /// The agent's log has no event of that number; `details.last_event_seq` is its last.
    UnknownEvent "unknown_event" NOT_FOUND;
    /// The agent has sent no such request to a model.
    UnknownRequest "unknown_request" NOT_FOUND;
    /// A past moment of which no stored state is near enough; `details.records` would have to be read.
    TooFar "too_far" CONFLICT;
    /// Texts that are needed were removed with time (`holon ledger gc --texts`).
    TextsRemoved "texts_removed" GONE;
    /// No task of that name runs, or ended lately.
    UnknownTask "unknown_task" NOT_FOUND;
    /// The agent has no open ask with that id.
    UnknownAsk "unknown_ask" NOT_FOUND;
    /// No timer of that name is armed, or ended lately.
    UnknownTimer "unknown_timer" NOT_FOUND;
    /// No work item of that name is open, or was completed lately.
    UnknownWorkItem "unknown_work_item" NOT_FOUND;
    /// There is no such skill, or no folder of that name to install one from.
    SkillNotFound "skill_not_found" NOT_FOUND;
    /// A skill of that name is there already.
    SkillInstalled "skill_already_installed" CONFLICT;
    /// The skill was not installed by Holon, or has changed since it was.
    SkillModified "skill_modified" CONFLICT;
    /// What is to be installed is no skill, or more than one may be.
    SkillInvalid "skill_invalid" UNPROCESSABLE_ENTITY;
    /// The repository of a skill can't be reached, or is not for everybody.
    RemoteUnreachable "remote_unreachable" BAD_GATEWAY;
    /// The repository of a skill took too long.
    RemoteTimeout "remote_timeout" GATEWAY_TIMEOUT;
    /// The reference was not handed out by a search of this agent, or the text is gone.
    MemorySourceNotFound "memory_source_not_found" NOT_FOUND;
    /// The agent knows no workspace of that id.
    UnknownWorkspace "unknown_workspace" NOT_FOUND;
    /// The agent works there; its home can't be taken from it at all.
    WorkspaceActive "workspace_active" CONFLICT;
    /// No trigger has this address, any more or at all.
    UnknownTrigger "unknown_trigger" NOT_FOUND;
    /// A number is smaller or larger than it may be; `details` has it, and the bounds.
    OutOfRange "out_of_range" BAD_REQUEST;
    /// A command that can't be executed; `details.kind` is the reason, one of those of the tools.
    CommandRefused "command_refused" CONFLICT;
    TooManyAgents "too_many_agents" CONFLICT;
    /// A body, or a part of it, is longer than it may be.
    TooLarge "too_large" PAYLOAD_TOO_LARGE;
    /// The address of a request is longer than it may be.
    UriTooLong "uri_too_long" URI_TOO_LONG;
    /// The headers of a request are too many, or longer than they may be.
    HeadTooLarge "head_too_large" REQUEST_HEADER_FIELDS_TOO_LARGE;
    UnsupportedMediaType "unsupported_media_type" UNSUPPORTED_MEDIA_TYPE;
    /// The agent's queue takes no more for now.
    QueueFull "queue_full" TOO_MANY_REQUESTS;
    /// A source, or all external senders together, reached the limit; `details.retry_at` is the time of the next slot.
    TooManyEvents "too_many_events" TOO_MANY_REQUESTS;
    /// The runtime shuts down.
    Draining "draining" SERVICE_UNAVAILABLE;
    /// The disk has no free space: the request was not accepted.
    DiskFull "disk_full" SERVICE_UNAVAILABLE;
    /// Another process has the ledger locked: the request was not accepted.
    LedgerLocked "ledger_locked" SERVICE_UNAVAILABLE;
    /// The database of the ledger gives no answer: the request was not accepted.
    DatabaseAway "database_away" SERVICE_UNAVAILABLE;
    /// No node of the cluster owns the ledger at this moment, or the one that does was lost on the way.
    Moving "moving" SERVICE_UNAVAILABLE;
    /// The request was accepted when the disk became full: it is performed once there is free space, unless the runtime ends before.
    /// A repeat with the same key is safe; `details.idempotency_key` is the given one.
    NotStoredYet "not_stored_yet" SERVICE_UNAVAILABLE;
    /// The runtime ended before it answered: whether the request was carried out is not known. A repeat with the same key is safe.
    NotAnswered "not_answered" SERVICE_UNAVAILABLE;
    /// The log of this agent is damaged; others are not concerned.
    AgentDamaged "agent_damaged" INTERNAL_SERVER_ERROR;
    Internal "internal" INTERNAL_SERVER_ERROR;
}

impl From<&Reject> for Code {
    fn from(reject: &Reject) -> Self {
        Self::ALL.iter().copied().find(|code| code.name() == reject.code()).unwrap_or(Self::Internal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_those_of_the_core_are_kept() {
        let mut names: Vec<_> = Code::ALL.iter().map(|code| code.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Code::ALL.len());
        for code in Reject::CODES {
            assert!(names.contains(code), "{code}");
        }
    }
}
