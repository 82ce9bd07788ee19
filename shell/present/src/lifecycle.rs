//! What happened to the agent as a whole.

use holon_facts::event::LifecycleFact;
use holon_facts::event::lifecycle::{AgentLabelled, ControlApplied};

use super::{Category, Rendered, Visibility};

pub(super) fn render(fact: &LifecycleFact) -> Rendered {
    match fact {
        LifecycleFact::AgentCreated(fact) => {
            let summary = format!("agent created; it works in {}", fact.spec.execution.cwd);
            Rendered::new(Visibility::Info, Category::Runtime, "agent", &summary)
        }
        LifecycleFact::ControlRequestAdmitted(fact) => {
            let summary = format!("{} requested, while {}", fact.action, fact.previous);
            Rendered::new(Visibility::Debug, Category::StateSync, "control", &summary)
        }
        LifecycleFact::ControlApplied(fact) => {
            Rendered::new(Visibility::Info, Category::Runtime, "control", &control(fact))
        }
        LifecycleFact::SchedulerPostureDecision(fact) => {
            let wakes = fact.wakes_at.map(|at| format!(" until {at}")).unwrap_or_default();
            let summary = format!("{}{wakes}, was {}", fact.next, fact.previous);
            Rendered::new(Visibility::Debug, Category::StateSync, "posture", &summary)
        }
        LifecycleFact::CurrentRunAborted(fact) => {
            let summary = format!("{} for {} was aborted: {}", fact.run_id, fact.message_id, fact.reason);
            Rendered::new(Visibility::Verbose, Category::Runtime, "run", &summary)
        }
        LifecycleFact::RuntimeRecovered(_) => {
            let summary = "recovered after an interruption";
            Rendered::new(Visibility::Verbose, Category::Runtime, "recovery", summary)
        }
        LifecycleFact::ClockStepped(fact) => {
            let summary = format!("the clock went back from {} to {}", fact.expected(), fact.to);
            Rendered::new(Visibility::Verbose, Category::Runtime, "clock", &summary)
        }
        LifecycleFact::AgentRetired(fact) => {
            let summary = format!("ended: {}", fact.status);
            Rendered::new(Visibility::Info, Category::Runtime, "agent", &summary)
        }
        LifecycleFact::AgentArchived(_) => {
            Rendered::new(Visibility::Verbose, Category::Runtime, "agent", "archived: it never runs again")
        }
        LifecycleFact::RequestKeyed(fact) => {
            let summary = format!("{} was asked for under the key {}", fact.made, fact.idempotency.key);
            Rendered::new(Visibility::Debug, Category::Runtime, "key", &summary)
        }
        LifecycleFact::AgentLabelled(fact) => {
            Rendered::new(Visibility::Info, Category::Runtime, "agent", &label(fact))
        }
        LifecycleFact::ModelOverrideChanged(fact) => {
            let summary = match &fact.model {
                Some(model) => format!("uses {model} from the next turn on"),
                None => "uses the runtime's own models from the next turn on".to_owned(),
            };
            Rendered::new(Visibility::Info, Category::Runtime, "model", &summary)
        }
    }
}

/// What has changed of it.
fn label(fact: &AgentLabelled) -> String {
    let AgentLabelled { previous, label } = fact;
    let mut changes = Vec::new();
    if previous.name != label.name {
        changes.push(match &label.name {
            Some(name) => format!("named {name}"),
            None => "named by its id alone".to_owned(),
        });
    }
    if previous.description != label.description {
        changes.push(match &label.description {
            Some(description) => format!("described as: {description}"),
            None => "without a description".to_owned(),
        });
    }
    if previous.archived != label.archived {
        changes.push(if label.archived { "archived" } else { "taken out of the archive" }.to_owned());
    }
    changes.join(", ")
}

fn control(fact: &ControlApplied) -> String {
    let aborted = fact.aborted_run_id.map(|run| format!(", {run} was aborted")).unwrap_or_default();
    let list = |what: &str, names: &[String]| match names {
        [] => String::new(),
        names => format!(", {what} {}", names.join(", ")),
    };
    let released = list("released", fact.released_roots.as_deref().unwrap_or_default());
    let stopping = list("a command is still to end in", &fact.stopping_roots);
    let children: Vec<String> = fact.stopped_children.iter().map(ToString::to_string).collect();
    let children = list("and with it", &children);
    format!("{} applied: {}{aborted}{released}{stopping}{children}", fact.action, fact.next)
}
