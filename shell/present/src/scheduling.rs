//! What was decided, and the hold.

use holon_facts::event::SchedulingFact;
use holon_facts::event::scheduling::{HoldCause, HoldEnd, SelfTurnCounted};

use super::{Category, Rendered, Visibility};

pub(super) fn render(fact: &SchedulingFact) -> Rendered {
    match fact {
        SchedulingFact::SchedulerDecision(fact) => {
            let about = fact.message_id.map(|id| format!(" for {id}")).unwrap_or_default();
            let summary = format!("decided: {}{about}, {} (row {})", fact.kind, fact.reason, fact.row);
            Rendered::new(Visibility::Debug, Category::StateSync, "decision", &summary)
        }
        SchedulingFact::ContinuationResolved(fact) => {
            let summary = format!("{} continues: {}", fact.message_id, fact.resolution.class);
            Rendered::new(Visibility::Trace, Category::StateSync, "continuation", &summary)
        }
        SchedulingFact::ClosureDecided(fact) => {
            let closure = fact.closure.clone().shown();
            let reason = closure.waiting_reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
            let turn = if closure.without_turn() { " with no turn" } else { "" };
            let summary = format!("closure: {}{turn}{reason}, row {}", closure.outcome, closure.row);
            Rendered::new(Visibility::Debug, Category::StateSync, "closure", &summary)
        }
        SchedulingFact::HoldSet(fact) => {
            let why = match fact.cause {
                HoldCause::Outage => "no provider is available",
                HoldCause::Quota => "the quota of the providers is used up",
                HoldCause::Budget => "a budget is used up",
                HoldCause::Credentials => "no model accepts its key",
            };
            let next = match (fact.until, fact.budget) {
                (Some(until), _) => format!("next attempt at {until}"),
                (None, Some(budget)) => format!("waits until budget.{} is raised", budget.budget),
                (None, None) => "waits".to_owned(),
            };
            let summary = format!("{why}; {next}");
            Rendered::new(Visibility::Info, Category::Waiting, "hold", &summary)
        }
        SchedulingFact::SelfTurnCounted(fact) => self_turn(fact),
        SchedulingFact::UnattendedTurnsExhausted(fact) => {
            let (turns, until) = (fact.turns, fact.until);
            let summary = format!("{turns} turns without an operator today: further ones wait until {until}");
            Rendered::new(Visibility::Info, Category::Waiting, "unattended", &summary)
        }
        SchedulingFact::UnattendedTurnsRaised(fact) => {
            let turns = fact.turns_per_day;
            let summary = format!("turns without an operator continue: a day may have {turns}");
            Rendered::new(Visibility::Info, Category::Waiting, "unattended", &summary)
        }
        SchedulingFact::SleepBegun(fact) => {
            let until = fact.until.map(|until| format!(" until {until}")).unwrap_or_default();
            let reason =
                fact.reason.as_ref().map(|it| format!(": {}", super::one_line(it))).unwrap_or_default();
            let summary = format!("it sleeps{until}{reason}");
            Rendered::new(Visibility::Info, Category::Waiting, "sleep", &summary)
        }
        SchedulingFact::SleepElapsed(fact) => {
            let summary = format!("its sleep until {} is over: {}", fact.until, fact.message_id);
            Rendered::new(Visibility::Verbose, Category::Waiting, "sleep", &summary)
        }
        SchedulingFact::HoldEnded(fact) => {
            let summary = match fact.reason {
                HoldEnd::TurnSucceeded => "a turn has succeeded",
                HoldEnd::BudgetRaised => "the budget is raised",
                HoldEnd::Restarted => "the runtime was started, with the keys that there are now",
                HoldEnd::ModelChanged => "another model is used now",
                HoldEnd::LoginChanged => "the login of the provider is another one now",
                HoldEnd::Stopped => "stopped: the hold ends",
            };
            Rendered::new(Visibility::Verbose, Category::Waiting, "hold", summary)
        }
    }
}

fn self_turn(fact: &SelfTurnCounted) -> Rendered {
    let turns = match fact.turns {
        1 => "a turn of its own".to_owned(),
        turns => format!("{turns} turns of its own in a row"),
    };
    let next = match fact.deferred_until {
        _ if fact.self_hold => "; it waits for an event from outside".to_owned(),
        Some(until) => format!("; next at {until}"),
        None => String::new(),
    };
    let visibility = if fact.self_hold { Visibility::Info } else { Visibility::Verbose };
    Rendered::new(visibility, Category::Waiting, "unattended", &format!("{turns} made no progress{next}"))
}
