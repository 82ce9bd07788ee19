//! What is waited for and looked at again, as far as a law looks back.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use holon_facts::event::WaitFact;
use holon_facts::event::inbox::MessageAdmitted;
use holon_facts::event::wait::{Rechecked, WaitRegistered};
use holon_facts::hint::Hint;
use holon_facts::ids::{MessageId, TaskId, TimerId, WaitId, WorkItemId};
use holon_facts::message::{AdmissionContext, MessageKind, Origin};
use holon_facts::time::{Millis, Wall};
use holon_facts::wait::WaitKind;

use super::hints::Pending;
use super::{Entry, Past};

/// A work item, or the agent itself.
pub(crate) type Owner = Option<WorkItemId>;

#[derive(Debug, Clone, Default)]
pub(crate) struct Waits {
    pub(crate) active: BTreeMap<Owner, Wait>,
    pub(crate) rechecks: BTreeMap<Owner, Recheck>,
    /// What live messages are about.
    about: BTreeMap<MessageId, About>,
}

#[derive(Debug, Clone)]
pub(crate) struct Wait {
    pub(crate) id: WaitId,
    pub(crate) kind: WaitKind,
    pub(crate) task: Option<TaskId>,
    pub(crate) timer: Option<TimerId>,
    subject: Option<String>,
    pub(crate) token: Option<String>,
    rechecked: bool,
    must_act: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Recheck {
    after: Millis,
    pub(crate) at: Option<Wall>,
    pub(crate) count: u32,
    /// The last message that told of it.
    pub(crate) tick: Option<MessageId>,
}

#[derive(Debug, Clone, Default)]
struct About {
    names: Vec<String>,
    /// What might be the name of a wait.
    waits: Vec<String>,
    by_trigger: bool,
    /// Its sender has proven who he is.
    proven: bool,
    timer: Option<TimerId>,
    tasks: Vec<TaskId>,
    rechecks: bool,
    delivers_hints: bool,
    /// The hints that it reports.
    hints: Vec<Pending>,
}

fn hinted(wait: &Wait, hints: &Pending) -> bool {
    hints.is_about(wait.id, wait.subject.as_ref())
}

impl Recheck {
    /// Twice as long for each in a row, up to a day, or as long as was asked for.
    pub(crate) fn next(&self, from: Wall, count: u32) -> Wall {
        let most = self.after.0.max(86_400_000);
        let doubled = (0..count).fold(self.after.0, |ms, _| ms.saturating_mul(2).min(most));
        from.after(Millis(doubled))
    }

    fn renew(&mut self, at: Wall) {
        self.count = 0;
        self.at = self.at.map(|due| due.min(at.after(self.after)));
    }
}

impl Past {
    fn now(&self) -> Wall {
        self.last.map_or_else(Wall::default, |last| last.at)
    }

    pub(super) fn admitted_about(&mut self, fact: &MessageAdmitted) {
        let message = &fact.message;
        let mut about = About {
            names: message.source_refs.values().cloned().collect(),
            waits: message.source_refs.get("wait_id").cloned().into_iter().collect(),
            proven: message.admission_context != AdmissionContext::PublicUnauthenticated,
            by_trigger: message.admission_context == AdmissionContext::ExternalTriggerCapability,
            ..About::default()
        };
        about.waits.extend(message.correlation_id.clone());
        match &message.origin {
            Origin::Channel { channel_id, sender_id } => {
                about.names.push(channel_id.clone());
                about.names.extend(sender_id.clone());
            }
            Origin::Webhook { source, event_type } => {
                about.names.push(source.clone());
                about.names.extend(event_type.clone());
            }
            Origin::Callback { descriptor_id, source } => {
                about.names.push(descriptor_id.clone());
                about.names.extend(source.clone());
            }
            Origin::Timer { timer_id } => about.timer = timer_id.parse().ok(),
            Origin::Operator { .. } | Origin::System { .. } | Origin::Task { .. } => {}
        }
        self.waits.about.insert(message.id, about);
    }

    pub(super) fn settled_about(&mut self, message: MessageId) {
        self.waits.about.remove(&message);
    }

    /// Whether an active wait names a hint by its token or its subject.
    pub(crate) fn ends_named_wait(&self, hint: &Hint) -> bool {
        let mut waits = self.waits.active.values().filter(|wait| wait.kind == WaitKind::External);
        waits.any(|wait| {
            let subject = wait.subject.as_ref();
            let named = subject.is_some_and(|it| hint.source == *it || hint.resource.as_ref() == Some(it));
            named || hint.wait_id == Some(wait.id)
        })
    }

    /// Whether a hint is about what somebody waits for.
    pub(crate) fn is_awaited(&self, hints: &Pending) -> bool {
        self.waits.active.values().any(|wait| wait.kind == WaitKind::External && hinted(wait, hints))
    }

    pub(super) fn hints_about(&mut self, message: MessageId, hints: Vec<Pending>) {
        let about = self.waits.about.entry(message).or_default();
        (about.hints, about.delivers_hints) = (hints, true);
    }

    pub(super) fn delivers_hints(&self, message: MessageId) -> bool {
        self.waits.about.get(&message).is_some_and(|about| about.delivers_hints)
    }

    pub(super) fn delivered(&mut self, message: MessageId, task: TaskId) {
        if let Some(about) = self.waits.about.get_mut(&message) {
            about.tasks.push(task);
        }
    }

    /// Whether somebody waits for a task that the message reports.
    pub(crate) fn awaits_task_of(&self, message: MessageId) -> bool {
        let tasks = self.waits.about.get(&message).map(|about| about.tasks.as_slice()).unwrap_or_default();
        tasks.iter().any(|task| self.awaits(*task))
    }

    pub(crate) fn awaits(&self, task: TaskId) -> bool {
        self.waits.active.values().any(|wait| wait.task == Some(task))
    }

    /// Whether a message brings what is waited for.
    pub(crate) fn brings(&self, message: MessageId, wait: &Wait) -> bool {
        self.brings_to(message, wait, false)
    }

    /// The same in a log of an earlier build, which gave out no tokens: whoever knew the number of a wait ended it.
    pub(crate) fn may_bring(&self, message: MessageId, wait: &Wait) -> bool {
        self.brings_to(message, wait, wait.token.is_none())
    }

    fn brings_to(&self, message: MessageId, wait: &Wait, before: bool) -> bool {
        let entry = self.queue.live.get(&message);
        let (Some(&Entry { kind, by_operator, .. }), Some(about)) = (entry, self.waits.about.get(&message))
        else {
            return false;
        };
        match wait.kind {
            WaitKind::Operator => by_operator,
            WaitKind::Task => wait.task.is_some_and(|task| about.tasks.contains(&task)),
            WaitKind::Timer => wait.timer.is_some() && wait.timer == about.timer,
            WaitKind::External if kind == MessageKind::SystemTick => {
                about.hints.iter().any(|hint| hinted(wait, hint))
            }
            WaitKind::External => {
                let outside =
                    [MessageKind::ChannelEvent, MessageKind::WebhookEvent, MessageKind::CallbackEvent];
                let named = about.waits.iter().any(|name| {
                    let guessed = || (about.proven || before) && name.parse() == Ok(wait.id);
                    wait.token.as_ref() == Some(name) || guessed()
                });
                let meant = match &wait.subject {
                    Some(subject) => about.names.contains(subject),
                    None => about.by_trigger,
                };
                outside.contains(&kind) && (named || meant)
            }
        }
    }

    /// The timer that a live message reports.
    pub(super) fn tick_of(&self, message: MessageId) -> Option<TimerId> {
        self.waits.about.get(&message)?.timer
    }

    /// Whether a message was to have something looked at again that is gone.
    pub(crate) fn recheck_is_gone(&self, message: MessageId) -> bool {
        let holds = |recheck: &Recheck| recheck.at.is_some() && recheck.tick == Some(message);
        let rechecks = self.waits.about.get(&message).is_some_and(|about| about.rechecks);
        rechecks && !self.waits.rechecks.values().any(holds)
    }

    pub(super) fn wait(&mut self, fact: &WaitFact) {
        match fact {
            WaitFact::WaitRegistered(fact) => self.registered(fact),
            WaitFact::WaitResolved(fact) => drop(self.wait_over(fact.wait_id)),
            WaitFact::WaitCancelled(fact) => {
                let timer = self.wait_over(fact.wait_id).and_then(|wait| wait.timer);
                let about = self.waits.about.iter();
                let tick = about.filter(|(_, about)| timer.is_some() && about.timer == timer);
                let tick: Vec<MessageId> = tick.map(|(message, _)| *message).collect();
                tick.into_iter().for_each(|message| self.queue.known(message));
            }
            WaitFact::WorkItemRecheckDue(fact) => {
                for Rechecked { work_item_id, count, next_at } in &fact.due {
                    let recheck = self.waits.rechecks.entry(*work_item_id);
                    let recheck = recheck.or_insert(Recheck {
                        after: Millis::hours(1),
                        at: None,
                        count: 0,
                        tick: None,
                    });
                    (recheck.at, recheck.count, recheck.tick) =
                        (Some(*next_at), *count, Some(fact.message_id));
                }
                self.waits.about.entry(fact.message_id).or_default().rechecks = true;
                if let Some(entry) = self.queue.live.get_mut(&fact.message_id) {
                    entry.own = false;
                }
            }
            WaitFact::RecheckGivenUp(fact) => {
                if let Some(wait) = self.waits.active.get_mut(&fact.work_item_id) {
                    wait.must_act = true;
                }
                if let Some(item) = fact.work_item_id {
                    self.work_given_up(item);
                }
                self.follow_recheck(fact.work_item_id);
            }
        }
    }

    fn registered(&mut self, fact: &WaitRegistered) {
        self.next.wait = fact.wait_id.next();
        let owner = fact.work_item_id;
        let wait = Wait {
            id: fact.wait_id,
            kind: fact.kind,
            task: fact.task_id,
            timer: fact.timer_id,
            subject: fact.subject.clone(),
            token: fact.token.clone(),
            rechecked: fact.recheck_after_ms.is_some(),
            must_act: false,
        };
        self.waits.active.insert(owner, wait);
        if let Some(after) = fact.recheck_after_ms {
            self.ask_recheck(owner, after);
        }
        self.work_waits(owner, true);
        self.follow_recheck(owner);
    }

    fn wait_over(&mut self, id: WaitId) -> Option<Wait> {
        let owner = self.waits.active.iter().find(|(_, wait)| wait.id == id).map(|(owner, _)| *owner)?;
        let wait = self.waits.active.remove(&owner);
        self.work_waits(owner, false);
        self.follow_recheck(owner);
        wait
    }

    pub(super) fn ask_recheck(&mut self, owner: Owner, after: Millis) {
        let now = self.now();
        let new = Recheck { after, at: None, count: 0, tick: None };
        let recheck = self.waits.rechecks.entry(owner).or_insert(new);
        recheck.after = after;
        let next = recheck.next(now, recheck.count);
        recheck.at = Some(recheck.at.map_or(next, |at| at.min(next)));
    }

    /// Arms or disarms, as its owner is now.
    pub(super) fn follow_recheck(&mut self, owner: Owner) {
        let now = self.now();
        let waits = self.waits.active.get(&owner).is_some_and(|wait| wait.rechecked && !wait.must_act);
        let needed = match owner {
            Some(item) => self.work_stands(item, waits),
            None => waits,
        };
        match self.waits.rechecks.get_mut(&owner) {
            Some(recheck) if !needed => recheck.at = None,
            Some(recheck) if recheck.at.is_none() => recheck.at = Some(recheck.next(now, recheck.count)),
            Some(_) => {}
            None if needed => self.ask_recheck(owner, Millis::hours(1)),
            None => {}
        }
    }

    /// Something has come of one owner.
    pub(super) fn renew_recheck(&mut self, owner: Owner) {
        let now = self.now();
        if let Some(recheck) = self.waits.rechecks.get_mut(&owner) {
            recheck.renew(now);
        }
    }

    /// Another time was asked for.
    pub(super) fn disarm_recheck(&mut self, owner: Owner) {
        if let Some(recheck) = self.waits.rechecks.get_mut(&owner) {
            recheck.at = None;
        }
    }

    /// Somebody outside has said something.
    pub(super) fn external_activity(&mut self) {
        let now = self.now();
        self.unattended.clear();
        self.waits.rechecks.values_mut().for_each(|recheck| recheck.renew(now));
    }

    pub(super) fn operator_activity(&mut self) {
        self.external_activity();
        let owners: Vec<Owner> = self.waits.active.keys().copied().collect();
        for owner in owners {
            if let Some(wait) = self.waits.active.get_mut(&owner) {
                wait.must_act = false;
            }
            self.follow_recheck(owner);
        }
    }

    pub(super) fn item_is_gone(&mut self, item: WorkItemId) {
        self.waits.rechecks.remove(&Some(item));
    }

    pub(super) fn waits_stepped(&mut self, from: Wall, to: Wall) {
        for recheck in self.waits.rechecks.values_mut() {
            recheck.at = recheck.at.map(|at| at.shifted(from, to));
        }
    }
}
