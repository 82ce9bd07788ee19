//! What operations are called, and which resource each belongs to: a client has a function and a module for them.

use axum::http::Method;
use holon_api::Row;
use serde_json::{Value, json};

/// Operations whose method of `Control` is no verb.
const VERBS: &[(&str, &str)] = &[
    ("abort", "abort_run"),
    ("agents", "list_agents"),
    ("all_events", "list_all_events"),
    ("briefs", "list_briefs"),
    ("control", "control_agent"),
    ("debug_prompt", "preview_prompt"),
    ("deliver", "deliver_wake"),
    ("enqueue", "enqueue_message"),
    ("events", "list_events"),
    ("follow", "stream_events"),
    ("follow_all", "stream_all_events"),
    ("follow_output", "stream_task_output"),
    ("describe", "describe_agent"),
    ("fork", "fork_agent"),
    ("memory_reindex", "reindex_memory"),
    ("memory_search", "search_memory"),
    ("models", "list_models"),
    ("prompt", "send_prompt"),
    ("rename", "rename_agent"),
    ("compact", "compact_agent"),
    ("sessions", "list_sessions"),
    ("skills", "list_skills"),
    ("state", "get_agent_state"),
    ("status", "get_agent_status"),
    ("tasks", "list_tasks"),
    ("timers", "list_timers"),
    ("triggers", "list_triggers"),
    ("wake", "wake_agent"),
    ("webhook", "deliver_webhook"),
    ("why", "explain_agent"),
    ("work_items", "list_work_items"),
    ("workspaces", "list_workspaces"),
    ("worktrees", "list_worktrees"),
];

/// Each resource with what it is, and what in a path belongs to it; the first one that fits counts.
const TAGS: &[(&str, &str, &[&str])] = &[
    ("tasks", "Background tasks of an agent", &["/tasks"]),
    ("timers", "Timers that wake an agent", &["/timers"]),
    ("memory", "What an agent remembers", &["/memory"]),
    ("work-items", "Goals of an agent over many turns", &["/work-items"]),
    ("skills", "Instructions for kinds of tasks", &["/skills"]),
    ("workspaces", "Where an agent works", &["/workspace", "/worktree-summary"]),
    ("triggers", "Addresses that wake an agent, and hints", &["/triggers", "/callbacks", "/wake"]),
    (
        "messages",
        "Prompts of the operator, and messages from outside",
        &["/prompt", "/messages", "/enqueue", "/webhooks"],
    ),
    ("events", "Durable events, page by page and as they happen", &["/events"]),
    (
        "history",
        "Briefs, the transcript and the time of turns",
        &["/briefs", "/transcript", "/latency", "/scheduler-fixture"],
    ),
    ("models", "Models of the runtime and of an agent", &["/model"]),
    ("console", "Logins of browsers to the web console", &["/console"]),
    ("agents", "Agents, their state and their lifecycle", &["/agents", "/status", "/state"]),
    ("runtime", "The runtime itself", &["/"]),
];

/// The same for an agent and for the default one, whose name says so.
pub(super) fn operation_id(row: &Row, path: &str) -> String {
    let verb = VERBS.iter().find(|(name, _)| *name == row.name).map(|(_, verb)| (*verb).to_owned());
    let usual = || if row.method == Method::GET { format!("get_{}", row.name) } else { row.name.to_owned() };
    let id = verb.unwrap_or_else(usual);
    if path == row.path { id } else { format!("{id}_of_default_agent") }
}

pub(super) fn tag(path: &str) -> &'static str {
    if path == "/control/stream-token" {
        return "events";
    }
    // The runtime's own status is no agent's.
    let of_runtime = path.starts_with("/control/runtime");
    let found = TAGS.iter().find(|(_, _, parts)| parts.iter().any(|part| path.contains(part)));
    found.filter(|_| !of_runtime).map_or("runtime", |(tag, _, _)| *tag)
}

pub(super) fn tags() -> Vec<Value> {
    TAGS.iter().map(|(name, about, _)| json!({ "name": name, "description": about })).collect()
}
