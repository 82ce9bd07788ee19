//! What the host is notified of without an operation that waits for it: plans, files of repositories, logins.

use holon_core::Input;
use holon_facts::event::SchedulingFact;
use holon_facts::event::workspace::TreeMoment;
use holon_facts::ids::WorkItemId;
use holon_facts::workspace::{ExecutionBinding, WorkspaceTree};
use holon_facts::{AgentId, ContentId, Event, Record};

use super::World;
use super::agenda::Happening;
use crate::choices::Site;
use crate::ingress;

impl World<'_> {
    /// Probes a plan, which may have changed: the result arrives once, twice, or shows an old version. In a scripted
    /// story the plan never changes.
    pub(super) fn look_at_plan(&mut self, agent: AgentId, item: WorkItemId) {
        let number = self.number(&agent);
        let site = self.site("plan", number, "edited");
        let edited = [0, 0, 0, 0, 0, 1, 1, 2][self.choices.below(site, 8) as usize];
        let still = self.quiet || !self.scenario.story.is_empty();
        for _ in 0..if still { 0 } else { edited } {
            let content = self.choices.below(site.about("content"), 4);
            let hash = u8::try_from(content).ok().filter(|content| *content > 0);
            let hash = hash.map(|content| ContentId([content; 32]));
            let after = u64::from(self.choices.below(site.about("after"), 400_000));
            let input = Box::new(Input::PlanProbed { agent: agent.clone(), item, hash });
            self.plan(self.at + after, number, Happening::Looked { input, life: self.life.number });
        }
    }

    /// Keeps the files of a folder, which change now and then: the result arrives once, twice, late, or never. The folders
    /// of most agents are no repositories, and none of a scripted story.
    pub(super) fn keep_tree(&mut self, agent: AgentId, execution: ExecutionBinding, moment: TreeMoment) {
        let number = self.number(&agent);
        let plain = self.choices.below(Site::new("files", number, 0, "repository"), 8) > 0;
        if plain || self.quiet || !self.scenario.story.is_empty() {
            return;
        }
        let site = self.site("files", number, "kept");
        let times = [0, 1, 1, 1, 2][self.choices.below(site, 5) as usize];
        for _ in 0..times {
            let content = self.choices.below(site.about("content"), 3);
            let kept = WorkspaceTree { tree: format!("tree {content}"), commit: None, dirty: content > 0 };
            let after = u64::from(self.choices.below(site.about("after"), 400_000));
            let execution = execution.clone();
            let input = Box::new(Input::TreeKept { agent: agent.clone(), execution, kept, moment });
            self.plan(self.at + after, number, Happening::Looked { input, life: self.life.number });
        }
    }

    /// Somebody has logged in anew. A process that is down reads the login when it starts.
    pub(super) fn login_changes(&mut self, number: u32) {
        self.injector.saw("a login changes");
        let input = Box::new(Input::LoginChanged { provider: ingress::provider(number).to_owned() });
        self.agenda.plan(self.at, 0, Happening::Looked { input, life: self.life.number });
    }

    /// An agent waits since a provider refuses its key: now and then somebody logs in there soon.
    pub(super) fn keys_are_refused(&mut self, records: &[Record]) {
        for record in records {
            let Event::Scheduling(SchedulingFact::HoldSet(fact)) = &record.event else { continue };
            let Some(provider) = fact.refused_by.first().filter(|_| !self.quiet) else { continue };
            let number = self.number(&record.agent);
            let site = self.site("login", number, "");
            let faults = &self.scenario.faults;
            if self.injector.strikes(faults, &mut *self.choices, site, "again", faults.logins) {
                let after = [1_000, 20_000_000][self.choices.below(site.about("after"), 2) as usize];
                let input = Box::new(Input::LoginChanged { provider: provider.clone() });
                self.agenda.plan(self.at + after, 0, Happening::Looked { input, life: self.life.number });
            }
        }
    }
}
