//! What came of the lines of a run's input, as a fold over the durable records of its agent.

use std::collections::VecDeque;

use holon_core::view::RunVerdict;
use holon_facts::closure::WaitingReason;
use holon_facts::event::{Event, InboxFact, SchedulingFact};
use holon_facts::provenance::MessageKind;
use holon_facts::{AgentId, MessageId, Record};
use holon_text::Texts;

use super::input::Source;
use super::output::{AdmittedInput, FinishedPrompt, OutputLine, Refusal, RefusedInput};
use crate::activity::TextSource;
use crate::answer::Answer;
use crate::exit::Exit;
use crate::prompt_turn::PromptTurn;

/// Prompts of the run that are followed at once: with so many, no more are taken in. Of others as many are followed, and of
/// more the oldest is not followed to its end.
const FOLLOWED: usize = 1_024;

/// The prompts of an agent whose turns have not ended, and where they come from.
pub struct Prompts {
    agent: AgentId,
    texts: TextSource,
    followed: VecDeque<Followed>,
    /// What the agent waited for when its last turn had ended.
    waits: Option<RunVerdict>,
}

struct Followed {
    message: MessageId,
    turn: PromptTurn,
    answer: Answer,
    /// None while nobody has said that it is of this run: an agent of the runtime has other prompts, too.
    source: Option<Source>,
    /// Once its turn has ended, and its agent has decided what follows.
    verdict: Option<RunVerdict>,
}

impl Prompts {
    /// Of this agent, whose texts are read there.
    pub fn new(agent: AgentId, texts: TextSource) -> Self {
        Self { agent, texts, followed: VecDeque::new(), waits: None }
    }

    /// Whether so many prompts of the run are under way that no more are taken in.
    pub fn are_full(&self) -> bool {
        self.followed.iter().filter(|followed| followed.source.is_some()).count() >= FOLLOWED
    }

    /// A line is a message of the agent.
    pub fn admitted(&mut self, message_id: MessageId, source: Source) -> Vec<anyhow::Result<String>> {
        self.follow(message_id).source = Some(source.clone());
        let payload = AdmittedInput { source, message_id };
        let line = OutputLine::InputAdmitted { agent_id: &self.agent, payload }.line();
        let mut lines = vec![line.map_err(anyhow::Error::from)];
        lines.extend(self.finished());
        lines
    }

    /// A line changed nothing.
    pub fn refused(&self, source: Source, refusal: Refusal) -> anyhow::Result<String> {
        let payload = RefusedInput { source, refusal };
        Ok(OutputLine::InputRefused { agent_id: &self.agent, payload }.line()?)
    }

    /// Takes the next durable record of the agent; gives the lines that follow it.
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "every other one only concerns prompts that are followed"
    )]
    pub fn record(&mut self, record: &Record) -> Vec<anyhow::Result<String>> {
        if let Event::Inbox(InboxFact::MessageAdmitted(fact)) = &record.event
            && fact.message.kind == MessageKind::OperatorPrompt
        {
            self.follow(fact.message.id);
        }
        for followed in &mut self.followed {
            followed.turn.record(record);
            followed.answer.record(record);
        }
        match &record.event {
            Event::Scheduling(SchedulingFact::ClosureDecided(fact)) => {
                self.waits = fact.closure.waiting_reason.map(waits);
                Vec::new()
            }
            // It follows the end of each turn, and so do the agent's report and what it waits for.
            Event::Scheduling(SchedulingFact::SchedulerDecision(_)) => self.finished(),
            _ => Vec::new(),
        }
    }

    /// A prompt from its admission on: its record may come before the reply, and after it.
    fn follow(&mut self, message: MessageId) -> &mut Followed {
        let known = self.followed.iter().position(|followed| followed.message == message);
        let at = known.unwrap_or_else(|| {
            if self.followed.len() >= 2 * FOLLOWED {
                // One that has ended and that nobody has named by now is somebody else's.
                let others = |followed: &Followed| followed.source.is_none();
                let ended = self.followed.iter().position(|one| others(one) && one.verdict.is_some());
                let at = ended.or_else(|| self.followed.iter().position(others));
                self.followed.remove(at.unwrap_or_default());
            }
            let (turn, answer) = (PromptTurn::of(message), Answer::to(message));
            self.followed.push_back(Followed { message, turn, answer, source: None, verdict: None });
            self.followed.len() - 1
        });
        &mut self.followed[at]
    }

    /// The lines about prompts of this run whose turns have ended.
    fn finished(&mut self) -> Vec<anyhow::Result<String>> {
        let mut lines = Vec::new();
        for followed in &mut self.followed {
            if let Some((_, ended)) = followed.turn.ended() {
                followed.verdict.get_or_insert_with(|| followed.turn.verdict(ended, self.waits));
            }
        }
        let (agent, texts) = (self.agent.clone(), self.texts.get());
        self.followed.retain(|followed| {
            let (Some(verdict), Some(source)) = (followed.verdict, &followed.source) else { return true };
            lines.push(followed.line(&agent, (verdict, source), texts));
            false
        });
        lines
    }
}

impl Followed {
    fn line(
        &self,
        agent: &AgentId,
        (verdict, source): (RunVerdict, &Source),
        texts: Option<&Texts>,
    ) -> anyhow::Result<String> {
        let told = self.answer.told().zip(texts);
        let final_text = told.map(|(told, texts)| texts.resolve(&told.text).map(|text| text.to_string()));
        let payload = FinishedPrompt {
            source: source.clone(),
            message_id: self.message,
            verdict,
            exit_code: Exit::from(verdict).code(),
            final_text: final_text.transpose()?,
            active_tasks: self.turn.tasks().iter().copied().collect(),
        };
        Ok(OutputLine::PromptFinished { agent_id: agent, payload }.line()?)
    }
}

/// How a prompt stands whose agent waits for this.
fn waits(reason: WaitingReason) -> RunVerdict {
    match reason {
        WaitingReason::AwaitingOperatorInput => RunVerdict::WaitingForOperator,
        WaitingReason::AwaitingExternalChange | WaitingReason::AwaitingTaskResult => {
            RunVerdict::WaitingForExternal
        }
        WaitingReason::AwaitingTimer => RunVerdict::WaitingForTimer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_of_the_run_are_followed_to_their_end_whatever_others_send() {
        let mut prompts = Prompts::new(AgentId::new("main").unwrap(), TextSource::default());
        for own in 0..FOLLOWED as u64 {
            assert!(!prompts.are_full());
            prompts.admitted(MessageId(own), Source::default());
        }
        assert!(prompts.are_full());
        for other in 0..3 * FOLLOWED as u64 {
            prompts.follow(MessageId(1_000_000 + other));
        }
        assert_eq!(prompts.followed.len(), 2 * FOLLOWED);
        let own = prompts.followed.iter().filter(|followed| followed.source.is_some());
        assert_eq!(own.count(), FOLLOWED);
    }
}
