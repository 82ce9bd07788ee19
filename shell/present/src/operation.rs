//! Operations: what turns wait for, which turns tell themselves.

use holon_facts::event::OperationFact;

use super::{Category, Rendered, Visibility};

pub(super) fn render(fact: &OperationFact) -> Rendered {
    let summary = match fact {
        OperationFact::OperationOpened(fact) => format!("{} begins: {}", fact.op, fact.kind),
        OperationFact::OperationSettled(fact) => format!("{} has ended: {}", fact.op, fact.settlement),
    };
    Rendered::new(Visibility::Trace, Category::Trace, "operation", &summary)
}
