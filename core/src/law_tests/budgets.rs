//! A tenth hand-made life, of budgets, and ways to break the laws about them.

use alloc::vec::Vec;

use holon_facts::budget::{Budget, BudgetKind};
use holon_facts::closure::ClosureOutcome;
use holon_facts::decision::DecisionKind;
use holon_facts::event::brief::BriefKind;
use holon_facts::event::inbox::{Disposition, RequeueCause};
use holon_facts::event::lifecycle::AgentCreated;
use holon_facts::event::operation::OpKind;
use holon_facts::event::scheduling::{HoldCause, HoldEnd, HoldEnded, HoldSet};
use holon_facts::event::turn::{
    BudgetExhausted, BudgetReserved, BudgetSettled, TurnContextBuilt, TurnTerminal,
};
use holon_facts::ids::{OpId, RunId};
use holon_facts::lifecycle::Status;
use holon_facts::message::Priority;
use holon_facts::price::Amount;
use holon_facts::terminal::TurnKind;
use holon_facts::time::Wall;

use super::facts::*;
use super::sabotage::{Case, Script};
use crate::testing::spec;

fn case(law: &'static str, what: &'static str, sabotage: impl FnOnce(&mut Script)) -> Case {
    Case::of(law, what, life(), sabotage)
}

pub(super) fn cases() -> Vec<Case> {
    alloc::vec![
        case("B1", "a request for which nothing is reserved", |s| s.remove("budget_reserved", 0)),
        case("B1", "something is reserved for no request", |s| {
            s.after("budget_reserved", 0, reserved(2, 1));
        }),
        case("B1", "something is reserved against another day", |s| {
            s.replace("budget_reserved", 0, BudgetReserved { day: 1, ..reserved(2, 1) });
        }),
        case("B1", "sending takes more than all of it", |s| {
            let sent = Amount { tokens: 1_001, ..Amount::default() };
            s.replace("budget_reserved", 0, BudgetReserved { sent, ..reserved(2, 1) });
        }),
        case("B1", "a request ends that is not settled", |s| s.remove("budget_settled", 0)),
        case("B1", "a request is settled twice", |s| s.after("budget_settled", 0, paid(2))),
        case("B1", "another request is settled", |s| {
            s.replace("budget_settled", 0, BudgetSettled { op: OpId(1), ..paid(2) });
        }),
        case("B1", "a request is settled against another day", |s| {
            s.replace("budget_settled", 0, BudgetSettled { day: -1, ..paid(2) });
        }),
        case("T6", "a budget is exhausted, and the end names another", |s| {
            let end = ended(1, 1, 1, TurnKind::BudgetExhausted, Some(BudgetKind::AgentCost.reason()), 1);
            s.replace("turn_terminal", 0, TurnTerminal { held: true, ..end });
        }),
        case("B2", "a hold for another budget", |s| {
            s.replace("hold_set", 0, hold(BudgetKind::AgentCost, None));
        }),
        case("B2", "a hold for providers that are there", |s| {
            let fact =
                HoldSet { cause: HoldCause::Outage, budget: None, ..hold(BudgetKind::AgentTokens, SOON) };
            s.replace("hold_set", 0, fact);
        }),
        case("B2", "a hold ends by itself and its budget does not", |s| {
            s.replace("hold_set", 0, hold(BudgetKind::AgentTokens, SOON));
        }),
        case("B2", "no hold where a message waits for a budget", |s| s.remove("hold_set", 0)),
        case("B2", "a message is dealt with that is said to wait", |s| {
            s.replace("message_requeued", 0, processed(1, Some(1), Disposition::Processed));
        }),
        case("B2", "a budget is raised that nobody waits for", |s| s.after("hold_ended", 0, raised())),
    ]
}

const SOON: Option<Wall> = Some(Wall(i64::MAX - 1));

fn hold(budget: BudgetKind, until: Option<Wall>) -> HoldSet {
    let budget = Some(Budget { budget, limit: 1_000 });
    let (cause, run_id, refused_by) = (HoldCause::Budget, RunId(1), Vec::new());
    HoldSet { cause, run_id, since: Wall(0), step: 0, until, budget, refused_by }
}

fn raised() -> HoldEnded {
    HoldEnded { since: Wall(0), reason: HoldEnd::BudgetRaised }
}

/// The second request of a turn is not covered; the budget is raised, and the turn goes on.
fn life() -> Script {
    let budget = BudgetKind::AgentTokens;
    let exhausted = BudgetExhausted { run_id: RunId(1), budget, limit: 1_000, used: 700, wanted: 1_000 };
    let mut s = Script::default();
    s.step().on(AgentCreated { spec: spec() });
    s.step().on(admitted(1, Priority::Normal));
    s.begin(1, 1, 1, 1);
    s.step().on(settled(1)).on(TurnContextBuilt { run_id: RunId(1), context: loaded() });
    s.on(opened(2, OpKind::CallModel, 1));
    s.step().on(settled(2)).on(spoken(0)).on(exhausted).on(hold(budget, None));
    s.on(requeued(1, 1, RequeueCause::Hold, 0));
    let end = ended(1, 1, 1, TurnKind::BudgetExhausted, Some(budget.reason()), 1);
    s.on(TurnTerminal { held: true, ..end }).on(brief(1, BriefKind::Failure, 1));
    s.on(closed(ClosureOutcome::Failed)).on(decided(DecisionKind::WaitForOperator, None));
    s.on(posture(Status::AwakeIdle, Status::Asleep));
    s.step().on(raised());
    s.begin(1, 2, 2, 3);
    s.step().on(settled(3)).on(processed(1, Some(2), Disposition::Processed));
    s.on(ended(2, 2, 1, TurnKind::Completed, None, 0)).on(brief(2, BriefKind::Result, 1));
    s.on(closed(ClosureOutcome::Completed)).on(decided(DecisionKind::Sleep, None));
    s.on(posture(Status::AwakeIdle, Status::Asleep));
    s
}
