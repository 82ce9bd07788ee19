//! Skills that are on offer, and the files of skills that calls have named.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::event::{Event, InboxFact, LifecycleFact, SkillFact, TaskFact, TurnFact};
use holon_facts::ids::MessageId;
use holon_facts::record::Record;
use holon_facts::skill::{FILES, GivenSkill, LoadReason, Skill, SkillCatalogue};
use holon_facts::task::TaskStatus;

#[derive(Debug, Clone, Default)]
pub(crate) struct Skills {
    pub(crate) catalogue: Arc<SkillCatalogue>,
    /// The agent is offered those of the user, too.
    pub(crate) has_user: bool,
    /// The turn in progress has its context.
    pub(crate) loaded: bool,
    /// Files that the last call has named, as long as nothing but what it activates follows.
    pub(crate) named: Vec<String>,
    /// Skills that messages bring along which are not settled.
    pub(crate) given: BTreeMap<MessageId, Vec<GivenSkill>>,
    /// Messages that were taken into the turn in progress.
    pub(crate) interjected: BTreeSet<MessageId>,
    /// A turn has its context, or takes a message in, as long as nothing but what that activates follows.
    pub(crate) taken: bool,
    /// The message that a turn takes in, in the same way; none where it is the turn's own.
    pub(crate) came: Option<MessageId>,
    /// Skills that the turn in progress has used, each with how.
    pub(crate) used: BTreeSet<(String, LoadReason)>,
    /// The same for a command that went on as a task: what it named is not on record.
    pub(crate) task_ended: bool,
}

impl Skills {
    pub(super) fn apply(&mut self, record: &Record) {
        if let Event::Skill(SkillFact::SkillActivated(fact)) = &record.event {
            if fact.run_id.is_some() {
                self.used.insert((fact.skill_id.clone(), fact.load_reason));
            }
            return;
        }
        (self.named, self.task_ended, self.taken, self.came) = (Vec::new(), false, false, None);
        if let Event::Lifecycle(LifecycleFact::AgentCreated(fact)) = &record.event {
            self.has_user = fact.spec.has_user_skills();
        }
        if let Event::Skill(SkillFact::SkillsCatalogued(fact)) = &record.event {
            self.catalogue = fact.catalogue.clone();
        }
        if let Event::Turn(TurnFact::TurnStarted(fact)) = &record.event {
            self.loaded = false;
            self.interjected = fact.interjected.iter().copied().collect();
        }
        if let Event::Turn(TurnFact::TurnContextBuilt(_)) = &record.event {
            (self.loaded, self.taken) = (true, true);
        }
        if let Event::Inbox(fact) = &record.event {
            self.inbox(fact);
        }
        if let Event::Turn(TurnFact::ToolExecuted(fact)) = &record.event {
            self.named.clone_from(&fact.receipt.facts.skill_files);
        }
        if let Event::Task(TaskFact::TaskStatusUpdated(fact)) = &record.event {
            self.task_ended = fact.status == TaskStatus::Completed;
        }
    }
    fn inbox(&mut self, fact: &InboxFact) {
        match fact {
            InboxFact::MessageAdmitted(fact) if !fact.message.skills.is_empty() => {
                self.given.insert(fact.message.id, fact.message.skills.clone());
            }
            InboxFact::OperatorInterjectionAdmitted(fact) => {
                (self.taken, self.came) = (true, Some(fact.message_id));
                self.interjected.insert(fact.message_id);
            }
            InboxFact::MessageProcessed(fact) => self.settled(fact.message_id),
            InboxFact::MessageAborted(fact) => self.settled(fact.message_id),
            InboxFact::MessageDropped(fact) => self.settled(fact.message_id),
            InboxFact::MessageAdmitted(_)
            | InboxFact::MessageDuplicate(_)
            | InboxFact::MessageDequeued(_)
            | InboxFact::MessageRequeued(_) => {}
        }
    }

    /// A turn is over that does not come again.
    pub(super) fn turn_ended(&mut self) {
        self.used.clear();
    }

    /// What is to become active next, each with how: by what a command has named, or a message has brought along.
    pub(crate) fn due(&self, turn: Option<MessageId>) -> BTreeSet<(&str, LoadReason)> {
        let named = self.named.iter().take(FILES).filter_map(|file| self.catalogue.of_file(file));
        let named = named.map(|(skill, reason)| (skill.skill_id.as_str(), reason));
        let taken = |id: &MessageId| match self.came {
            Some(came) => *id == came,
            None => Some(*id) == turn || self.interjected.contains(id),
        };
        let given = self.given.iter().filter(|(id, _)| self.taken && self.loaded && taken(id));
        let offered = given.flat_map(|(_, given)| given).filter_map(|given| {
            let skill = self.catalogue.get(&given.skill_id)?;
            given.is(skill).then_some((skill.skill_id.as_str(), LoadReason::PromptInjection))
        });
        named.chain(offered).collect()
    }

    fn settled(&mut self, message: MessageId) {
        self.given.remove(&message);
        self.interjected.remove(&message);
    }

    /// Whether the turn for that message brings that version of a skill along.
    pub(crate) fn brings(&self, turn: MessageId, skill: &Skill) -> bool {
        let taken = |id: &MessageId| *id == turn || self.interjected.contains(id);
        let mut given = self.given.iter().filter(|(id, _)| taken(id)).flat_map(|(_, given)| given);
        given.any(|given| given.is(skill))
    }
}
