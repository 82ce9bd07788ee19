//! What happened inside turns.

use holon_facts::event::TurnFact;
use holon_facts::event::turn::{
    AssistantRoundRecorded, BudgetExhausted, ContextCompacted, ProviderAttemptRecorded,
    ProviderRoundCompleted, ProvidersAwaited, RuntimeError, ToolExecuted, ToolExecutionFailed,
    ToolsCatalogued, TurnStarted, TurnTerminal,
};
use holon_facts::model::Block;
use holon_facts::price::Amount;
use holon_facts::tool::ServerTools;
use holon_text::time::duration;

use super::call::command;
use super::{Category, Rendered, Visibility, files, one_line};

pub(super) fn render(fact: &TurnFact) -> Rendered {
    match fact {
        TurnFact::TurnStarted(fact) => started(fact),
        TurnFact::TurnContextBuilt(fact) => {
            let sources: Vec<&str> = fact.context.sources.iter().map(|source| source.path.as_str()).collect();
            let summary = format!("instructions: {}", listed(&sources));
            Rendered::new(Visibility::Debug, Category::Trace, "context", &summary)
        }
        TurnFact::ToolsCatalogued(fact) => catalogued(fact),
        TurnFact::ProviderAttemptRecorded(fact) => attempt(fact),
        TurnFact::ProviderRoundCompleted(fact) => answered(fact),
        TurnFact::ProvidersAwaited(fact) => awaited(fact),
        TurnFact::AssistantRoundRecorded(fact) => round(fact),
        TurnFact::ToolStarted(fact) => {
            let name = fact.tool.as_str();
            Rendered::new(Visibility::Debug, Category::Tool, name, &format!("{name} begins"))
        }
        TurnFact::ToolExecuted(fact) => executed(fact),
        TurnFact::ToolExecutionFailed(fact) => failed(fact),
        TurnFact::ReminderInjected(fact) => {
            let summary = format!("reminded: {}", fact.kind);
            Rendered::new(Visibility::Verbose, Category::Runtime, "reminder", &summary)
        }
        TurnFact::ContextCompacted(fact) => {
            Rendered::new(Visibility::Verbose, Category::Runtime, "context", &compacted(fact))
        }
        TurnFact::RuntimeError(fact) => runtime_error(fact),
        TurnFact::BudgetReserved(fact) => traced("reserved", fact.amount),
        TurnFact::BudgetSettled(fact) => traced("settled", fact.amount),
        TurnFact::BudgetExhausted(fact) => budget(fact),
        TurnFact::TurnTerminal(fact) => ended(fact),
    }
}

/// Which tools of other programs there are now.
fn catalogued(fact: &ToolsCatalogued) -> Rendered {
    let ServerTools { tools, left_out, unavailable, .. } = &*fact.catalogue;
    let mut summary = format!("{} tools of other programs", tools.len());
    if *left_out > 0 {
        summary.push_str(&format!(", {left_out} left out"));
    }
    if !unavailable.is_empty() {
        summary.push_str(&format!("; without {}", unavailable.join(", ")));
    }
    if fact.tools_offered.is_none() {
        summary.push_str("; offered from the next turn on");
    }
    Rendered::new(Visibility::Verbose, Category::Runtime, "tools", &summary)
}

fn started(fact: &TurnStarted) -> Rendered {
    let models: Vec<String> = fact.models.iter().map(ToString::to_string).collect();
    let carried = match fact.carried_rounds {
        0 => String::new(),
        rounds => format!(", after {rounds} rounds of an interrupted run"),
    };
    let summary =
        format!("turn {} begins for {}{carried}, with {}", fact.turn_index, fact.message_id, listed(&models));
    Rendered::new(Visibility::Debug, Category::Runtime, "turn", &summary)
}

fn attempt(fact: &ProviderAttemptRecorded) -> Rendered {
    let attempt = &fact.attempt;
    let Some(kind) = attempt.failure_kind else {
        let took = duration(attempt.duration_ms);
        let summary = format!("{} answered after {took}, attempt {}", attempt.model_ref, attempt.attempt);
        return Rendered::new(Visibility::Trace, Category::Trace, "attempt", &summary);
    };
    let what = attempt.message.as_ref().map_or("", |message| message.preview());
    let then = match (attempt.backoff_ms, attempt.advanced_to_fallback) {
        (Some(wait), _) => format!(", again in {wait}"),
        (None, true) => ", trying the next model".to_owned(),
        (None, false) => String::new(),
    };
    let summary = format!("{} {kind}{then}: {what}", attempt.model_ref);
    Rendered::new(Visibility::Verbose, Category::OperatorNotification, "attempt", &summary)
}

/// Whoever waits in front of it may end it.
fn awaited(fact: &ProvidersAwaited) -> Rendered {
    let (pause, left) = (duration(fact.pause_ms), duration(fact.until.since(fact.since)));
    let models = listed(&fact.models.iter().map(ToString::to_string).collect::<Vec<_>>());
    let summary =
        format!("no model answers: waiting {pause}, of {left} at most, for {models}; Ctrl-C ends the run");
    Rendered::new(Visibility::Verbose, Category::OperatorNotification, "attempt", &summary)
}

fn answered(fact: &ProviderRoundCompleted) -> Rendered {
    let (usage, took) = (&fact.token_usage, duration(fact.provider_round_ms));
    let summary = format!(
        "{} answered after {took}: {} tokens in, {} out, {}",
        fact.winning_model_ref, usage.input_tokens, usage.output_tokens, fact.stop_reason
    );
    Rendered::new(Visibility::Debug, Category::Trace, "round", &summary)
}

/// What the model says beside its calls. A round without one is the report, which comes as a brief.
fn round(fact: &AssistantRoundRecorded) -> Rendered {
    let lines: Vec<String> = fact.blocks.iter().filter_map(block).collect();
    let visibility = if fact.verdicts.is_empty() { Visibility::Debug } else { Visibility::Verbose };
    let summary = match lines.first() {
        Some(line) => line.as_str(),
        None => "the model returned no text",
    };
    let told = Rendered::new(visibility, Category::AssistantProgress, "assistant", summary);
    Rendered { body: (lines.len() > 1).then(|| lines.join("\n")), ..told }
}

fn block(block: &Block) -> Option<String> {
    match block {
        Block::Text { text } => Some(one_line(text.preview())).filter(|text| !text.is_empty()),
        Block::ToolCall { tool_name, arguments, .. } => {
            Some(one_line(&format!("→ {tool_name} {}", command(arguments))))
        }
        Block::Reasoning { .. } => None,
    }
}

fn executed(fact: &ToolExecuted) -> Rendered {
    let facts = &fact.receipt.facts;
    let outcome = match (facts.exit_status, facts.changed_files.as_slice()) {
        (Some(0), _) => "ok".to_owned(),
        (Some(status), _) => format!("exit status {status}"),
        (None, []) => "done".to_owned(),
        (None, changed) => format!("changed {}", files(changed)),
    };
    let summary = format!("{}: {outcome}", fact.tool_name);
    Rendered::new(Visibility::Verbose, Category::Tool, &fact.tool_name, &summary)
}

fn failed(fact: &ToolExecutionFailed) -> Rendered {
    let summary = match &fact.receipt.error {
        Some(error) => format!("{}: {}: {}", fact.tool_name, error.kind, error.message.preview()),
        None => format!("{}: failed", fact.tool_name),
    };
    Rendered::new(Visibility::Verbose, Category::Tool, &fact.tool_name, &summary)
}

fn compacted(fact: &ContextCompacted) -> String {
    match fact.recapped_rounds {
        0 => "the context is full: earlier messages are left out".to_owned(),
        1 => "the context is full: the first round is summarized".to_owned(),
        rounds => format!("the context is full: the first {rounds} rounds are summarized"),
    }
}

/// The brief tells it to the operator.
fn runtime_error(fact: &RuntimeError) -> Rendered {
    let failure = &fact.failure;
    let summary = format!("{} {}: {}", failure.category, failure.kind, failure.summary.preview());
    Rendered::new(Visibility::Debug, Category::OperatorNotification, "error", &summary)
}

fn traced(what: &str, amount: Amount) -> Rendered {
    let cost = Some(amount.cost_micros).filter(|cost| cost.0 > 0);
    let cost = cost.map(|cost| format!(", {cost}")).unwrap_or_default();
    let summary = format!("{what}: {} tokens{cost}", amount.tokens);
    Rendered::new(Visibility::Trace, Category::StateSync, "budget", &summary)
}

/// The brief tells it to the operator.
fn budget(fact: &BudgetExhausted) -> Rendered {
    let BudgetExhausted { budget, .. } = fact;
    let [limit, used, wanted] = [fact.limit, fact.used, fact.wanted].map(|number| budget.format(number));
    let summary = format!("the budget {budget} is used up: {used} of {limit}, {wanted} more were wanted");
    Rendered::new(Visibility::Debug, Category::OperatorNotification, "budget", &summary)
}

fn ended(fact: &TurnTerminal) -> Rendered {
    let reason = fact.reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
    let took = duration(fact.duration_ms);
    let rounds = if fact.rounds == 1 { "round" } else { "rounds" };
    let summary =
        format!("turn {}: {}{reason} after {took}, {} {rounds}", fact.turn_index, fact.kind, fact.rounds);
    Rendered::new(Visibility::Verbose, Category::Runtime, "turn", &summary)
}

fn listed(names: &[impl AsRef<str>]) -> String {
    if names.is_empty() {
        return "none".to_owned();
    }
    names.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ")
}
