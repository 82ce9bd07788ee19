//! Files of agents, kept as turns find and leave them.

use std::path::Path;

use holon_core::Input;
use holon_facts::AgentId;
use holon_facts::event::workspace::TreeMoment;
use holon_facts::workspace::{ExecutionBinding, WorkspaceKind, WorkspaceTree};

use super::Performers;
use crate::home::Home;
use crate::workplace::{self, HeldBack, Keeper};

impl Performers {
    /// Keeps the files where an agent works, as they are now. Nobody could ask for those of temporary runs.
    async fn kept_tree(&self, agent: &AgentId, execution: &ExecutionBinding) -> Option<WorkspaceTree> {
        let settings = &self.inner.settings;
        let keeper = Keeper::new(&settings.real_agent_home(agent));
        let bound = settings.confinement.as_ref().map(|_| Path::new(&execution.workspace_anchor));
        let root = Path::new(&execution.execution_root);
        let policy = settings.policy(agent, execution);
        let held_back = HeldBack { supervisor: &settings.supervisor, policy: policy.as_ref() };
        workplace::keep(root, &keeper, held_back, bound).await
    }

    /// Keeps them as a turn finds or leaves them; tools of the agent that are called from now on wait for that. None where
    /// nobody could ask for them.
    pub fn keep_tree(
        &self,
        agent: AgentId,
        execution: ExecutionBinding,
        moment: TreeMoment,
    ) -> Option<impl Future<Output = Option<Input>> + use<>> {
        let settings = &self.inner.settings;
        let lasts = Home::shared(settings.home.root()) == settings.home.root();
        if !settings.keep_trees || !lasts || execution.kind == WorkspaceKind::AgentHome {
            return None;
        }
        let turn = self.inner.captures.begin(&agent)?;
        let performers = self.clone();
        Some(async move {
            turn.comes().await;
            let kept = performers.kept_tree(&agent, &execution).await?;
            Some(Input::TreeKept { agent, execution, kept, moment })
        })
    }

    /// Until the files of the agent are kept as they were before.
    pub async fn files_kept(&self, agent: &AgentId) {
        self.inner.captures.over(agent).await;
    }
}
