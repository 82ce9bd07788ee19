//! Operations: what turns wait for, which turns tell themselves.

use holon_facts::event::OperationFact;

use super::{Category, Told, Visibility};

pub(super) fn told(fact: &OperationFact) -> Told {
    let summary = match fact {
        OperationFact::OperationOpened(fact) => format!("{} begins: {}", fact.op, fact.kind),
        OperationFact::OperationSettled(fact) => format!("{} has ended: {}", fact.op, fact.settlement),
    };
    Told::new(Visibility::Trace, Category::Trace, "operation", &summary)
}
