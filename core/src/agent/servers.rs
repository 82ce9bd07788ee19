//! The tools of other programs that an agent is offered (contract: protocols.md, MCP client).

use alloc::sync::Arc;

use holon_facts::event::turn::ToolsCatalogued;
use holon_facts::tool::{ServerTool, ServerTools};
use serde::{Deserialize, Serialize};

#[omit_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCatalogue {
    /// What requests of the open episode may offer; none where there are none.
    pub offered: Option<Arc<ServerTools>>,
    /// What those of the next episode may, where that is something else.
    pub next: Option<Arc<ServerTools>>,
}

impl ToolCatalogue {
    /// What is newest on record.
    pub(crate) fn newest(&self) -> Option<&Arc<ServerTools>> {
        self.next.as_ref().or(self.offered.as_ref()).filter(|tools| !tools.is_empty())
    }

    /// The tool of this name, among those that requests may offer now.
    pub(crate) fn get(&self, name: &str) -> Option<&ServerTool> {
        self.offered.as_ref()?.get(name)
    }

    pub(super) fn catalogued(&mut self, fact: &ToolsCatalogued) {
        let now = Some(fact.catalogue.clone()).filter(|tools| !tools.is_empty());
        if fact.tools_offered.is_some() {
            (self.offered, self.next) = (now, None);
        } else {
            // That there are none any more is news, too.
            self.next = (self.offered != now).then(|| fact.catalogue.clone());
        }
    }

    /// A run has begun whose requests offer what is newest.
    pub(super) fn run_began(&mut self) {
        if let Some(next) = self.next.take() {
            self.offered = Some(next).filter(|tools| !tools.is_empty());
        }
    }
}
