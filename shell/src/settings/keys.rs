//! The table of keys: one row says everything about a key. What is accepted, listed, described and offered as
//! a flag comes from here; the default is what stands in a fresh [`Settings`].

use serde_json::Value as Json;
use toml_edit::Value;

use super::field::Field;
use super::kind::Kind;
use super::{Access, AuthMode, Settings};

/// One key of a table `S`.
pub struct Key<S: 'static> {
    pub name: &'static str,
    /// The environment variable that overrides the file.
    pub variable: Option<&'static str>,
    pub kind: Kind,
    pub doc: &'static str,
    pub(super) put: fn(&mut S, &Value) -> Option<()>,
    pub(super) show: fn(&S) -> Json,
}

impl<S> Key<S> {
    /// Stores a value.
    ///
    /// # Errors
    /// What was expected instead.
    pub(super) fn set(&self, settings: &mut S, value: &Value) -> Result<(), String> {
        self.kind.check(value)?;
        (self.put)(settings, value).ok_or_else(|| format!("expected {}", self.kind.expected()))
    }

    /// The value as it is now; null where there is none.
    pub fn get(&self, settings: &S) -> Json {
        (self.show)(settings)
    }
}

/// A row: `"name" | "VARIABLE", field.of.the.struct, kind, "doc"`.
macro_rules! key {
    ($name:literal, $($field:ident).+, $kind:expr, $doc:literal) => {
        $crate::settings::keys::key!(@ $name, None, $($field).+, $kind, $doc)
    };
    ($name:literal | $variable:literal, $($field:ident).+, $kind:expr, $doc:literal) => {
        $crate::settings::keys::key!(@ $name, Some($variable), $($field).+, $kind, $doc)
    };
    (@ $name:literal, $variable:expr, $($field:ident).+, $kind:expr, $doc:literal) => {
        $crate::settings::keys::Key {
            name: $name,
            variable: $variable,
            kind: $kind,
            doc: $doc,
            put: |settings, value| {
                settings.$($field).+ = $crate::settings::field::Field::read(value)?;
                Some(())
            },
            show: |settings| settings.$($field).+.show(),
        }
    };
}
pub(super) use key;

const DAY_MS: u64 = 24 * 60 * 60 * 1000;

pub(super) const fn number(least: u64, most: u64) -> Kind {
    Kind::Number { least, most }
}

pub(super) const fn time(least: u64) -> Kind {
    number(least, 30 * DAY_MS)
}

/// Every key outside of `providers`, in the order in which it is listed.
pub const KEYS: &[Key<Settings>] = &[
    key!("model.default" | "HOLON_MODEL", model, Kind::Model, "the model, as `provider/model`"),
    key!(
        "model.fallbacks" | "HOLON_MODEL_FALLBACKS",
        fallbacks,
        Kind::Models,
        "models to try when the first one fails, in order"
    ),
    key!(
        "model.prices",
        core.prices,
        Kind::Prices,
        "dollars per million tokens by model; other models have the prices of `holon config prices`"
    ),
    key!(
        "cache.ttl",
        cache_ttl,
        Kind::Word(&["5m", "1h"]),
        "how long a provider keeps the beginning of a prompt, where its protocol lets one choose"
    ),
    key!(
        "runtime.durability" | "HOLON_DURABILITY",
        durability,
        Kind::Word(&["full", "process"]),
        "`full` survives a loss of power, `process` only the end of the process"
    ),
    key!(
        "runtime.verify_every_ms",
        server.verify_every,
        time(0),
        "time between two checks of the whole ledger by a runtime, in the background; 0 for none"
    ),
    key!(
        "telemetry.otlp.endpoint",
        telemetry.otlp_endpoint,
        Kind::Url(&["http", "https"]),
        "the collector that traces and metrics are sent to over HTTP; `OTEL_EXPORTER_OTLP_*` win"
    ),
    key!(
        "telemetry.include_content",
        telemetry.include_content,
        Kind::Flag,
        "traces have the texts of turns, too, without secrets"
    ),
    key!(
        "telemetry.agent_labels",
        server.agent_labels,
        number(0, 10_000),
        "agents in memory up to which each has labels of its own in `/metrics`"
    ),
    key!(
        "store.url" | "HOLON_STORE_URL",
        store_url,
        Kind::Database,
        "the PostgreSQL database that holds the ledger; without it, a file of the home"
    ),
    key!(
        "store.agents" | "HOLON_STORE_AGENTS",
        store_agents,
        Kind::Path,
        "the folder of the homes of agents, which nodes share; without it `agents` in the home"
    ),
    key!(
        "store.labels" | "HOLON_STORE_LABELS",
        store_labels,
        Kind::Names,
        "what this node has that others may not: it can own cells with one of these labels"
    ),
    key!(
        "workspace.node" | "HOLON_WORKSPACE_NODE",
        workspace_node,
        Kind::Name,
        "the label of machines that have the folders of this one; without it, all nodes have them at the same paths"
    ),
    key!(
        "runtime.workspace_trees",
        keep_trees,
        Kind::Flag,
        "keep the files of git repositories as turns find and leave them, for forks"
    ),
    key!("runtime.retries", core.retry.retries, number(0, 100), "further attempts at one model"),
    key!(
        "runtime.retry_backoff_ms",
        core.retry.backoff,
        time(0),
        "wait before another attempt, times the number of the attempt"
    ),
    key!(
        "runtime.retry_after_max_ms",
        core.retry.retry_after_max,
        time(0),
        "longest wait that a provider may request; one that requests more is given up at once"
    ),
    key!(
        "runtime.hold_on_outage",
        core.hold.on_outage,
        Kind::Flag,
        "wait for providers that are away for hours; a one-shot run waits for `run.patience_ms` instead"
    ),
    key!(
        "runtime.model_timeout_ms",
        core.turn.model_timeout,
        time(1),
        "time that one model attempt may take"
    ),
    key!("runtime.tool_timeout_ms", core.turn.tool_timeout, time(1), "time that one tool call may take"),
    key!(
        "runtime.command_grace_ms",
        commands.grace,
        number(0, 60_000),
        "time that a command has to end once it is asked to"
    ),
    key!(
        "runtime.default_tool_output_tokens" | "HOLON_DEFAULT_TOOL_OUTPUT_TOKENS",
        commands.default_tokens,
        number(64, 64_000),
        "output of a tool that is shown when a call sets no bound"
    ),
    key!(
        "runtime.max_tool_output_tokens" | "HOLON_MAX_TOOL_OUTPUT_TOKENS",
        commands.max_tokens,
        number(64, 64_000),
        "most output of a tool that is shown"
    ),
    key!(
        "runtime.max_output_tokens",
        core.turn.max_output_tokens,
        number(1, 10_000_000),
        "most tokens of one model answer"
    ),
    key!(
        "runtime.context_window_tokens",
        core.context.window_tokens,
        number(8_192, 100_000_000),
        "tokens that a model takes, question and answer together; 5 % of it stay free"
    ),
    key!(
        "runtime.redact_token_shapes",
        redact_token_shapes,
        Kind::Flag,
        "also redact what has the shape of a credential: keys and tokens of well-known services, private keys"
    ),
    key!("limits.rounds", core.turn.rounds, number(1, 1_000_000), "most model rounds of one turn"),
    key!("limits.turn_wall_time_ms", core.turn.wall_time, time(1), "most time of one turn"),
    key!(
        "limits.calls_per_round",
        core.turn.calls_per_round,
        number(1, 10_000),
        "most tool calls of one round"
    ),
    key!(
        "limits.work_reminder_rounds" | "HOLON_WORK_ITEM_STALE_REMINDER_ROUNDS",
        core.work.remind_rounds,
        number(0, 10_000),
        "a turn about a work item is reminded of it after so many rounds that changed none; 0 is never"
    ),
    key!(
        "limits.work_reminder_cooldown" | "HOLON_WORK_ITEM_STALE_REMINDER_COOLDOWN_ROUNDS",
        core.work.remind_cooldown,
        number(1, 10_000),
        "rounds between such reminders"
    ),
    key!(
        "limits.work_reminder_tokens" | "HOLON_WORK_ITEM_STALE_REMINDER_MAX_TOKENS",
        core.work.remind_tokens,
        number(64, 4_096),
        "estimated tokens of such a reminder"
    ),
    key!(
        "limits.repeats_remind",
        core.turn.repeats_remind,
        number(0, 1_000_000),
        "the same call with the same result so many times in a row brings a reminder; 0 is never"
    ),
    key!(
        "limits.repeats_end",
        core.turn.repeats_end,
        number(1, 1_000_000),
        "and so many times ends the turn"
    ),
    key!(
        "limits.continuations",
        core.turn.continuations,
        number(0, 1_000),
        "rounds in a row that continue an answer that was cut off at the output limit, or paused"
    ),
    key!(
        "context.compact_at",
        core.context.compact_at,
        Kind::Share,
        "the part of the model's window from which on a request shows a digest of the conversation so far"
    ),
    key!(
        "context.episode_idle_ms",
        core.context.episode_idle,
        time(0),
        "a turn that begins later than that after the end of the last one begins with a digest"
    ),
    key!(
        "context.summary",
        core.context.summary,
        Kind::Word(&["model", "facts"]),
        "what stands for a conversation that became too long: `facts` is its digest alone, `model` adds a summary by the model"
    ),
    key!(
        "limits.queue_entries",
        core.queue.entries,
        number(1, 1_000_000),
        "most messages of one agent's queue"
    ),
    key!("limits.queue_bytes", core.queue.bytes, number(1, 4 << 30), "most bytes of one agent's queue"),
    key!(
        "limits.queue_reserved_entries",
        core.queue.reserved_entries,
        number(0, 1_000_000),
        "part of the messages that only operators may use"
    ),
    key!(
        "limits.queue_reserved_bytes",
        core.queue.reserved_bytes,
        number(0, 4 << 30),
        "part of the bytes that only operators may use"
    ),
    key!("limits.body_bytes", core.queue.body_bytes, number(1, 64 << 20), "most bytes of one message"),
    key!("limits.concurrent_turns", core.limits.concurrent_turns, number(1, 10_000), "most turns at once"),
    key!(
        "limits.unattended_turns_per_day",
        core.unattended.turns_per_day,
        number(1, 1_000_000),
        "turns of an agent that neither an operator nor an event from outside causes, in one day of UTC"
    ),
    key!(
        "limits.outside_turns_per_day",
        core.unattended.outside_turns_per_day,
        number(1, 1_000_000),
        "turns of an agent that events from outside cause, in one day of UTC; further events are refused"
    ),
    key!(
        "limits.source_turns_per_day",
        core.unattended.source_turns_per_day,
        number(1, 1_000_000),
        "turns of an agent that events of one source cause, in one day of UTC; further ones are refused"
    ),
    key!(
        "limits.source_events_per_minute",
        core.unattended.source_events_per_minute,
        number(1, 1_000_000),
        "events of one source that an agent takes in one minute; further ones are refused"
    ),
    key!("limits.agents", core.limits.agents, number(1, 10_000_000), "most agents of one home"),
    key!(
        "limits.tasks_per_agent",
        core.tasks.per_agent,
        number(1, 1_000),
        "most background tasks of one agent"
    ),
    key!(
        "limits.child_depth",
        core.children.depth,
        number(0, 10),
        "how many supervisors there may be above an agent; 0 for no children"
    ),
    key!(
        "limits.children_per_agent",
        core.children.per_agent,
        number(1, 1_000),
        "most children of one agent that are alive"
    ),
    key!("limits.tasks", core.tasks.running, number(1, 10_000), "most commands at once, over all agents"),
    key!(
        "limits.task_log_bytes",
        commands.log_bytes,
        number(64 << 10, 1 << 40),
        "most bytes of the log of one command; past it head and tail are kept"
    ),
    key!(
        "budget.turn_tokens",
        core.budgets.turn.tokens,
        number(1, 1 << 50),
        "most tokens of one turn, questions and answers together"
    ),
    key!("budget.turn_cost", core.budgets.turn.cost_micros, Kind::Dollars, "most dollars of one turn"),
    key!(
        "budget.agent_day_tokens",
        core.budgets.agent_day.tokens,
        number(1, 1 << 50),
        "most tokens of one agent in one day of UTC"
    ),
    key!(
        "budget.agent_day_cost",
        core.budgets.agent_day.cost_micros,
        Kind::Dollars,
        "most dollars of one agent in one day of UTC"
    ),
    key!(
        "budget.agent_tokens",
        core.budgets.agent.tokens,
        number(1, 1 << 50),
        "most tokens of one agent in all"
    ),
    key!(
        "budget.agent_cost",
        core.budgets.agent.cost_micros,
        Kind::Dollars,
        "most dollars of one agent in all"
    ),
    key!(
        "budget.subtree_tokens",
        core.budgets.subtree.tokens,
        number(1, 1 << 50),
        "most tokens of an agent and all its children, and theirs, in all"
    ),
    key!(
        "budget.subtree_cost",
        core.budgets.subtree.cost_micros,
        Kind::Dollars,
        "most dollars of an agent and all its children, and theirs, in all"
    ),
    key!(
        "budget.runtime_day_tokens",
        core.budgets.runtime_day.tokens,
        number(1, 1 << 50),
        "most tokens of all agents in one day of UTC"
    ),
    key!(
        "budget.runtime_day_cost",
        core.budgets.runtime_day.cost_micros,
        Kind::Dollars,
        "most dollars of all agents in one day of UTC"
    ),
    key!(
        "budget.runtime_tokens",
        core.budgets.runtime.tokens,
        number(1, 1 << 50),
        "most tokens of all agents in all"
    ),
    key!(
        "budget.runtime_cost",
        core.budgets.runtime.cost_micros,
        Kind::Dollars,
        "most dollars of all agents in all"
    ),
    key!(
        "daemon.autostart",
        autostart,
        Kind::Flag,
        "`prompt` starts the runtime of the home in the background when none runs"
    ),
    key!("run.keep", run.keep, number(0, 1_000_000), "homes of temporary runs that are kept"),
    key!("run.idle_limit_ms", run.idle_limit, time(0), "a run waits up to this long for due timers"),
    key!(
        "run.patience_ms",
        run.patience,
        time(0),
        "a run retries models for this long after all of them failed with temporary errors; 0 never retries"
    ),
    key!(
        "execution.profile" | "HOLON_EXECUTION_PROFILE",
        execution.profile,
        Kind::Word(&["host_local", "confined"]),
        "`host_local` lets commands do what the user may, `confined` holds back their writes"
    ),
    key!(
        "execution.network" | "HOLON_EXECUTION_NETWORK",
        execution.network,
        Kind::Word(&["on", "internet", "off"]),
        "what confined commands can connect to: `on` everything, `internet` addresses alone, `off` nothing"
    ),
    key!(
        "execution.writable",
        execution.writable,
        Kind::Paths,
        "further folders below which confined commands may write"
    ),
    key!(
        "execution.environment.pass",
        execution.environment.pass,
        Kind::Variables,
        "variables of the runtime that commands get too, by name or as `PREFIX_*`"
    ),
    key!(
        "execution.environment.set",
        execution.environment.set,
        Kind::SetVariables,
        "variables that commands get with these values"
    ),
    key!(
        "skills.user_root",
        skills.user_root,
        Kind::Path,
        "the folder of the user's skills; without it `~/.agents/skills`, `~/.codex/skills` or `~/.claude/skills`"
    ),
    key!(
        "skills.github_url",
        skills.github_url,
        Kind::Url(&["https", "http", "file"]),
        "where skills are fetched from whose address begins with `https://github.com`"
    ),
    key!(
        "server.access",
        server.access,
        Kind::Word(Access::NAMES),
        "who reaches the runtime over TCP: `local`, `tunnel`, `lan` or `tailnet`"
    ),
    key!(
        "server.listen" | "HOLON_HTTP_ADDR",
        server.listen,
        Kind::Address,
        "where it listens; port 0 takes any that is free"
    ),
    key!(
        "server.advertise" | "HOLON_CALLBACK_BASE_URL",
        server.advertise,
        Kind::Url(&["http", "https"]),
        "the address under which others reach it"
    ),
    key!(
        "server.auth" | "HOLON_CONTROL_AUTH_MODE",
        server.auth,
        Kind::Word(AuthMode::NAMES),
        "when a control token is required: `auto`, `required` (on the socket too) or `disabled`"
    ),
    key!(
        "server.token_file",
        server.token_file,
        Kind::Path,
        "the file that holds the control token, where no variable does"
    ),
    key!(
        "server.allowed_origins",
        server.allowed_origins,
        Kind::Origins,
        "whose pages may use the runtime from a browser, with a token; pages of this machine always may"
    ),
    key!("web.console", server.web_console, Kind::Flag, "serve the web console to browsers, at `/console/`"),
    key!(
        "server.webhook_credential",
        server.webhook_credential,
        Kind::Name,
        "the credential that webhooks have to be signed with; without it they are not"
    ),
    key!(
        "server.socket" | "HOLON_SOCKET_PATH",
        server.socket,
        Kind::Path,
        "the runtime's socket; without it `run/holon.sock` in the home"
    ),
    key!(
        "server.default_agent" | "HOLON_AGENT_ID",
        server.default_agent,
        Kind::Name,
        "the agent that is meant when none is named"
    ),
    key!(
        "templates.seed",
        server.seed_templates,
        Kind::Flag,
        "write the templates of the build into `~/.agents/templates` at the start of a runtime, as long as nobody has changed them"
    ),
    key!(
        "admission.while_stopped",
        core.while_stopped,
        Kind::Word(&["refuse", "queue"]),
        "`refuse` or `queue` what comes for a stopped agent"
    ),
];
