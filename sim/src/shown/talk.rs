//! The conversation of one agent as its records leave it.

#![expect(clippy::wildcard_enum_match_arm, reason = "a talk is made of some facts alone")]

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use holon_facts::event::inbox::MessageAdmitted;
use holon_facts::event::turn::TurnStarted;
use holon_facts::event::{
    EpisodeClosed, EpisodeFact, InboxFact, LifecycleFact, TaskFact, TurnFact, WakeFact,
};
use holon_facts::hint::{Hint, HintWeight, SOURCES};
use holon_facts::ids::{EpisodeId, TaskId};
use holon_facts::lifecycle::ControlAction;
use holon_facts::message::Message;
use holon_facts::model::Block;
use holon_facts::outcome::LoadedContext;
use holon_facts::receipt::{Receipt, SelfCall, TaskCall, Verdict};
use holon_facts::terminal::TurnKind;
use holon_facts::{AgentId, Event, MessageId, Record, RunId, Text};

use super::calls::Called;
use super::digests::{self, Over};
use super::work::Work;
use crate::failure::{Failure, ensure};

/// Closed episodes that any request may show.
const KEPT: usize = 64;

#[derive(Debug, Clone, Default)]
pub(super) struct Talk {
    /// Messages that have not come to an end.
    messages: BTreeMap<MessageId, Arc<Message>>,
    /// Conversations of interrupted turns, by their messages.
    carried: BTreeMap<MessageId, Spoken>,
    turn: Option<Turn>,
    /// Turns of the open episode that are over, in order.
    past: Vec<Arc<Past>>,
    /// Closed episodes that a request may show.
    digests: VecDeque<Over>,
    /// How many episodes have closed.
    closes: u64,
    /// The next turn begins an episode.
    begins: bool,
    /// A model's summary of an episode since the last close, and whether the next request is to show it.
    summary: Option<(Text, bool)>,
    /// A model's summary of an episode in which no turn had ended: the digest of the open one shows it.
    inherited: Option<Text>,
    /// Pending hints by source, and below those that live messages report.
    hints: BTreeMap<String, Hinted>,
    /// Hints that matter, of sources that were folded.
    folded: Vec<Hinted>,
    delivered_hints: BTreeMap<MessageId, Vec<Hinted>>,
    /// Tasks that live messages report.
    delivered_tasks: BTreeMap<MessageId, Vec<TaskId>>,
    ended: BTreeSet<TaskId>,
    work: Work,
    /// An external trigger can wake the agent.
    trigger: bool,
}

/// The last hint of a source, and its last body.
#[derive(Debug, Clone)]
pub(super) struct Hinted {
    pub(super) hint: Hint,
    pub(super) body: Option<Text>,
    sequence: u64,
}

#[derive(Debug, Clone)]
struct Turn {
    run: RunId,
    messages: Vec<MessageId>,
    /// What its messages report.
    delivered: Vec<Delivered>,
    spoken: Spoken,
    /// A result of its last round ends the turn, and nobody has said anything since.
    rests: bool,
    /// The ended task that the call in progress looks at.
    looks: Option<TaskId>,
    stands: Stands,
}

/// The state of everything when a run, or its episode, began.
#[derive(Debug, Clone, Default)]
pub(super) struct Stands {
    /// Work items and waits in the words of a request.
    pub(super) work: Arc<str>,
    pub(super) context: Option<Arc<LoadedContext>>,
    /// Whether an external trigger could wake the agent.
    pub(super) trigger: bool,
}

/// The conversation of a turn, in order.
#[derive(Debug, Clone, Default)]
pub(super) struct Spoken {
    pub(super) pieces: Vec<Piece>,
    /// So many rounds are shown in a recap.
    pub(super) recapped: usize,
}

#[derive(Debug, Clone)]
pub(super) enum Piece {
    Round(Round),
    Interjection(Arc<Message>),
    Reminder(Arc<str>),
    /// An earlier run of the message was interrupted here.
    Continuation,
    /// Hints that a call has shown.
    Hints(Vec<Hinted>),
}

#[derive(Debug, Clone)]
pub(super) struct Round {
    pub(super) blocks: Arc<[Block]>,
    pub(super) verdicts: Arc<[Verdict]>,
    /// Results by their calls.
    pub(super) results: BTreeMap<Arc<str>, Arc<Receipt>>,
}

/// What a request must show.
#[derive(Debug, Clone)]
pub(super) struct Expected {
    pub(super) messages: Vec<Delivered>,
    pub(super) spoken: Spoken,
    /// Turns that are shown before it.
    pub(super) past: Vec<Arc<Past>>,
    pub(super) digests: Vec<Over>,
    pub(super) closes: u64,
    /// A summary that the request shows once.
    pub(super) summary: Option<Text>,
    pub(super) stands: Stands,
}

/// A turn that is over.
#[derive(Debug, Clone)]
pub(super) struct Past {
    pub(super) messages: Vec<Delivered>,
    pub(super) spoken: Spoken,
    pub(super) end: TurnKind,
}

/// A message that a turn has taken, and what it reports.
#[derive(Debug, Clone)]
pub(super) struct Delivered {
    pub(super) message: Arc<Message>,
    pub(super) tasks: Vec<TaskId>,
    pub(super) hints: Vec<Hinted>,
}

impl Round {
    /// Calls in the model's order: id, name, arguments.
    pub(super) fn calls(&self) -> impl Iterator<Item = (&str, &str, &Text)> {
        self.blocks.iter().filter_map(|block| match block {
            Block::ToolCall { call_id, tool_name, arguments } => {
                Some((call_id.as_str(), tool_name.as_str(), arguments))
            }
            Block::Text { .. } | Block::Reasoning { .. } => None,
        })
    }

    /// The one result of a call.
    pub(super) fn result(&self, call_id: &str) -> Option<&Arc<Receipt>> {
        self.results.get(call_id)
    }

    /// The first call that has no result; they come in the order of the calls.
    fn open(&self) -> Option<(usize, (&str, &str, &Text))> {
        self.calls().enumerate().nth(self.results.len())
    }
}

impl Spoken {
    fn last_round(&mut self) -> Option<&mut Round> {
        self.pieces.iter_mut().rev().find_map(|piece| match piece {
            Piece::Round(round) => Some(round),
            Piece::Interjection(_) | Piece::Reminder(_) | Piece::Continuation | Piece::Hints(_) => None,
        })
    }

    pub(super) fn rounds(&self) -> usize {
        self.pieces.iter().filter(|piece| matches!(piece, Piece::Round(_))).count()
    }
}

impl Talk {
    /// What the next request must show.
    pub(super) fn expected(&self) -> Option<Expected> {
        let turn = self.turn.as_ref()?;
        Some(Expected {
            messages: turn.delivered.clone(),
            spoken: turn.spoken.clone(),
            past: self.past.clone(),
            digests: self.digests.iter().cloned().collect(),
            closes: self.closes,
            summary: self.summary.clone().and_then(|(text, due)| due.then_some(text)),
            stands: turn.stands.clone(),
        })
    }

    /// How many episodes have closed.
    pub(super) fn closes(&self) -> u64 {
        self.closes
    }

    /// M11: a turn that rests asks no model again.
    pub(super) fn asks(
        &self,
        agent: &AgentId,
        checked: &mut BTreeMap<&'static str, u64>,
    ) -> Result<(), Failure> {
        let Some(turn) = &self.turn else { return Ok(()) };
        *checked.entry("M11").or_default() += u64::from(turn.rests);
        ensure!(!turn.rests, "M11", "{} of {agent} rests, and asks a model again", turn.run);
        Ok(())
    }

    /// The call that is about to be executed.
    pub(super) fn called(&mut self) -> Option<Called> {
        let turn = self.turn.as_mut()?;
        let round = turn.spoken.last_round()?;
        let (index, (call_id, tool_name, arguments)) = round.open()?;
        let verdict = round.verdicts.get(index)?.clone();
        let after = round.verdicts[index + 1..].to_vec();
        let (call_id, tool_name, arguments) = (call_id.into(), tool_name.into(), arguments.clone());
        turn.looks = match &verdict {
            Verdict::OnTask(TaskCall::Output { task, .. }) => {
                Some(*task).filter(|task| self.ended.contains(task))
            }
            _ => None,
        };
        Some(Called { call_id, tool_name, arguments, verdict, after })
    }

    pub(super) fn follow(
        &mut self,
        record: &Record,
        checked: &mut BTreeMap<&'static str, u64>,
    ) -> Result<(), Failure> {
        self.work.follow(record);
        match &record.event {
            Event::Inbox(fact) => self.inbox(fact),
            Event::Turn(fact) => self.turn(&record.agent, fact, checked)?,
            Event::Wake(fact) => self.wake(fact),
            Event::Episode(EpisodeFact::EpisodeClosed(fact)) => self.closed(&record.agent, fact, checked)?,
            Event::Episode(EpisodeFact::EpisodeSummarized(fact)) => {
                let Some(summary) = &fact.summary else { return Ok(()) };
                self.summarized(fact.episode_id, summary);
            }
            Event::Task(TaskFact::TaskStatusUpdated(fact)) if fact.status.is_terminal() => {
                self.ended.insert(fact.task_id);
            }
            Event::Task(TaskFact::TaskResultQueued(fact)) => {
                self.delivered_tasks.entry(fact.message_id).or_default().push(fact.task_id);
            }
            // A stop drops pending hints (E3).
            Event::Lifecycle(LifecycleFact::ControlApplied(fact)) if fact.action == ControlAction::Stop => {
                self.hints.clear();
                self.folded.clear();
            }
            _ => {}
        }
        Ok(())
    }

    /// A model has summed up an episode: its digest shows that, or the next one where it has none.
    fn summarized(&mut self, episode: EpisodeId, summary: &Text) {
        self.summary = Some((summary.clone(), false));
        match self.digests.iter_mut().find(|over| over.id >= episode) {
            Some(over) if over.id == episode || over.summary.is_none() => {
                over.summary = Some(summary.clone())
            }
            Some(_) => {}
            // Between a close and the next turn no episode is open.
            None => self.inherited = (!self.begins).then(|| summary.clone()),
        }
    }

    /// An episode begins: its head shows the summaries that exist now.
    fn head_is_fixed(&mut self) {
        self.digests.iter_mut().for_each(|over| over.in_head = over.summary.is_some());
    }

    /// The conversation has gone on since the summary came: the next request shows it.
    fn summary_is_due(&mut self) {
        self.summary.iter_mut().for_each(|(_, due)| *due = true);
    }

    fn inbox(&mut self, fact: &InboxFact) {
        match fact {
            InboxFact::MessageAdmitted(fact) => self.admitted(fact),
            InboxFact::OperatorInterjectionAdmitted(fact) => {
                let message = self.messages.get(&fact.message_id).cloned();
                if let Some(turn) = &mut self.turn {
                    turn.spoken.pieces.extend(message.map(Piece::Interjection));
                    turn.rests = false;
                }
            }
            InboxFact::MessageRequeued(fact) => {
                // The summary may be among what the message carries along.
                self.summary = None;
                let turn = self.turn.as_mut().filter(|turn| turn.messages.first() == Some(&fact.message_id));
                if let Some(turn) = turn {
                    self.carried.insert(fact.message_id, std::mem::take(&mut turn.spoken));
                }
            }
            InboxFact::MessageProcessed(fact) => self.settled(fact.message_id),
            InboxFact::MessageAborted(fact) => self.settled(fact.message_id),
            InboxFact::MessageDropped(fact) => self.settled(fact.message_id),
            InboxFact::MessageDuplicate(_) | InboxFact::MessageDequeued(_) => {}
        }
    }

    fn admitted(&mut self, fact: &MessageAdmitted) {
        self.messages.insert(fact.message.id, Arc::new(fact.message.clone()));
    }

    fn settled(&mut self, message: MessageId) {
        self.carried.remove(&message);
        self.delivered_hints.remove(&message);
        self.delivered_tasks.remove(&message);
        // The turn still names its messages.
        if self.turn.as_ref().is_none_or(|turn| turn.messages.first() != Some(&message)) {
            self.messages.remove(&message);
        }
    }

    fn turn(
        &mut self,
        agent: &AgentId,
        fact: &TurnFact,
        checked: &mut BTreeMap<&'static str, u64>,
    ) -> Result<(), Failure> {
        match fact {
            TurnFact::TurnStarted(fact) => {
                self.summary_is_due();
                if std::mem::take(&mut self.begins) {
                    self.head_is_fixed();
                }
                self.turn_started(agent, fact)?;
            }
            TurnFact::AssistantRoundRecorded(fact) => {
                self.summary_is_due();
                let Some(turn) = &mut self.turn else { return Ok(()) };
                let (blocks, verdicts) = (fact.blocks.clone(), fact.verdicts.clone().into());
                turn.spoken.pieces.push(Piece::Round(Round { blocks, verdicts, results: BTreeMap::new() }));
                turn.rests = false;
            }
            TurnFact::ToolExecuted(fact) => {
                self.result(agent, &fact.call_id, &fact.tool_name, &fact.receipt, checked)?;
            }
            TurnFact::ToolExecutionFailed(fact) => {
                self.result(agent, &fact.call_id, &fact.tool_name, &fact.receipt, checked)?;
            }
            TurnFact::TurnContextBuilt(fact) => {
                if let Some(turn) = &mut self.turn {
                    turn.stands.context = Some(Arc::new(fact.context.clone()));
                    turn.stands.trigger = fact.context.execution.external_trigger && self.trigger;
                }
            }
            TurnFact::ReminderInjected(fact) => {
                if let Some(turn) = &mut self.turn {
                    turn.spoken.pieces.push(Piece::Reminder(fact.text.as_str().into()));
                }
            }
            TurnFact::TurnTerminal(fact) => {
                let Some(turn) = self.turn.take() else { return Ok(()) };
                let Some(first) = turn.messages.first() else { return Ok(()) };
                // A requeued message comes back with its whole conversation.
                if !self.carried.contains_key(first) {
                    self.messages.remove(first);
                    let Turn { delivered: messages, spoken, .. } = turn;
                    self.past.push(Arc::new(Past { messages, spoken, end: fact.kind }));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// An episode closes. The conversation of the turn in progress goes on in the next one.
    fn closed(
        &mut self,
        agent: &AgentId,
        fact: &EpisodeClosed,
        checked: &mut BTreeMap<&'static str, u64>,
    ) -> Result<(), Failure> {
        let past = std::mem::take(&mut self.past);
        self.closes += 1;
        self.summary = None;
        self.begins = self.turn.is_none();
        *checked.entry("M6").or_default() += digests::recorded(agent, &fact.digest, &past)?;
        if !past.is_empty() {
            let (id, digest, summary) = (fact.episode_id, fact.digest.clone(), self.inherited.take());
            self.digests.push_back(Over { id, digest, summary, in_head: false });
            self.digests.drain(..self.digests.len().saturating_sub(KEPT));
        }
        if self.begins {
            // The next episode begins with its turn, and takes nothing on from this one.
            self.inherited = None;
        } else {
            self.head_is_fixed();
        }
        if let Some(turn) = &mut self.turn {
            turn.spoken.recapped = fact.hidden_rounds as usize;
            turn.stands.work = self.work.words().into();
        }
        Ok(())
    }

    fn turn_started(&mut self, agent: &AgentId, fact: &TurnStarted) -> Result<(), Failure> {
        let mut spoken = self.carried.remove(&fact.message_id).unwrap_or_default();
        let rounds = spoken.rounds();
        ensure!(
            rounds == fact.carried_rounds as usize,
            "M3",
            "{} of {agent} goes on after {} rounds, {rounds} are on record",
            fact.run_id,
            fact.carried_rounds
        );
        if rounds > 0 && !matches!(spoken.pieces.last(), Some(Piece::Continuation)) {
            spoken.pieces.push(Piece::Continuation);
        }
        let messages: Vec<MessageId> =
            std::iter::once(fact.message_id).chain(fact.also.iter().copied()).collect();
        let delivered = |id: &MessageId| {
            Some(Delivered {
                message: self.messages.get(id)?.clone(),
                tasks: self.delivered_tasks.get(id).cloned().unwrap_or_default(),
                hints: self.delivered_hints.get(id).cloned().unwrap_or_default(),
            })
        };
        let delivered = messages.iter().filter_map(delivered).collect();
        let stands = Stands { work: self.work.words().into(), ..Stands::default() };
        self.turn =
            Some(Turn { run: fact.run_id, messages, delivered, spoken, rests: false, looks: None, stands });
        Ok(())
    }

    /// A call gets its result: the first open one, under its own name.
    fn result(
        &mut self,
        agent: &AgentId,
        call_id: &str,
        tool_name: &str,
        receipt: &Arc<Receipt>,
        checked: &mut BTreeMap<&'static str, u64>,
    ) -> Result<(), Failure> {
        let Some(turn) = &mut self.turn else { return Ok(()) };
        let looks = turn.looks.take();
        let Some(round) = turn.spoken.last_round() else { return Ok(()) };
        let open = round.open().map(|(index, (id, name, _))| (index, id.to_owned(), name.to_owned()));
        let fits = open.as_ref().is_some_and(|(_, id, name)| id == call_id && name == tool_name);
        *checked.entry("M3").or_default() += 1;
        ensure!(fits, "M3", "{agent} has a result of {tool_name} ({call_id}), the open call is {open:?}");
        let verdict = open.and_then(|(index, _, _)| round.verdicts.get(index).cloned());
        round.results.insert(call_id.into(), receipt.clone());
        let succeeds = receipt.error.is_none();
        let sleeps = matches!(verdict, Some(Verdict::OnSelf(SelfCall::Sleep { .. })));
        turn.rests |= receipt.facts.ends_turn || (sleeps && succeeds);
        let shows = looks.filter(|_| succeeds);
        let marked = receipt.facts.shown_task;
        *checked.entry("M11").or_default() += u64::from(shows.is_some());
        ensure!(
            marked == shows || shows.is_none(),
            "M11",
            "{agent} is shown the end of {shows:?}, which is on record as {marked:?}"
        );
        Ok(())
    }

    /// Keeps one hint per source, for as many sources as may wait; then the oldest is dropped.
    fn fold(&mut self, mut folded: Hinted) {
        let same = self.folded.iter().position(|kept| kept.hint.source == folded.hint.source);
        let oldest =
            || self.folded.iter().enumerate().min_by_key(|(_, kept)| kept.sequence).map(|(at, _)| at);
        let with = same.or_else(|| oldest().filter(|_| self.folded.len() >= SOURCES));
        if let Some(with) = with {
            let kept = self.folded.remove(with);
            folded.body = folded.body.or(kept.body);
        }
        self.folded.push(folded);
    }

    fn wake(&mut self, fact: &WakeFact) {
        match fact {
            WakeFact::WakeHintRecorded(fact) => {
                let (hint, sequence) = (fact.hint.clone(), fact.sequence);
                let body = hint.body.clone();
                self.hints.insert(hint.source.clone(), Hinted { hint, body, sequence });
                let folded = fact.folded.as_ref().and_then(|source| self.hints.remove(source));
                match fact.folded_as {
                    Some(HintWeight::Contentful | HintWeight::Awaited) => {
                        folded.into_iter().for_each(|folded| self.fold(folded));
                    }
                    Some(HintWeight::Bare) | None => {}
                }
            }
            WakeFact::WakeHintCoalesced(fact) => {
                let hint = fact.hint.clone();
                let before = self.hints.remove(&hint.source).and_then(|before| before.body);
                let body = hint.body.clone().or(before);
                self.hints.insert(hint.source.clone(), Hinted { hint, body, sequence: fact.sequence });
            }
            WakeFact::WakeTickQueued(fact) => {
                let all = std::mem::take(&mut self.hints);
                let (left, delivered): (BTreeMap<_, _>, BTreeMap<_, _>) =
                    all.into_iter().partition(|(source, _)| fact.left.contains(source));
                self.hints = left;
                let delivered = delivered.into_values().chain(std::mem::take(&mut self.folded)).collect();
                self.delivered_hints.insert(fact.message_id, delivered);
            }
            WakeFact::ExternalTriggerProvisioned(_) => self.trigger = true,
            WakeFact::ExternalTriggerRevoked(_) => self.trigger = false,
            WakeFact::WakeHintsShown(fact) => {
                let shown = fact.sources.iter().filter_map(|source| self.hints.remove(source)).collect();
                if let Some(turn) = &mut self.turn {
                    turn.spoken.pieces.push(Piece::Hints(shown));
                }
            }
            _ => {}
        }
    }
}
