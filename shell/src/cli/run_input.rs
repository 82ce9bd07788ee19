//! What a program writes to a run while it goes on (docs/run-stream.md), and what it is answered.

use std::io;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::anyhow;
use holon_facts::{AgentId, MessageId, Record};

use super::exit::Exit;
use super::interrupts::Ending;
use super::output::{self, Failure, Lines};
use crate::activity::TextSource;
use crate::run_stream::{Incoming, Instruction, Prompts, Refusal, Source};

/// The lines of standard input, and where lines about them go.
pub(super) struct RunInput {
    incoming: Incoming,
    answers: Answers,
    /// The last message that came of a line, or the prompt of the command line.
    last: Option<MessageId>,
}

/// Writes lines about prompts between those of durable events. Cheap to clone.
#[derive(Clone)]
pub(super) struct Answers {
    prompts: Arc<Mutex<Prompts>>,
    lines: SyncSender<String>,
}

impl RunInput {
    /// Begins to read standard input, for this agent.
    pub(super) fn begin(agent: &AgentId, texts: TextSource, lines: &Lines) -> io::Result<Self> {
        let prompts = Arc::new(Mutex::new(Prompts::new(agent.clone(), texts)));
        let answers = Answers { prompts, lines: lines.sender() };
        Ok(Self { incoming: Incoming::stdin()?, answers, last: None })
    }

    pub(super) fn answers(&self) -> Answers {
        self.answers.clone()
    }

    /// Whether there may be more.
    pub(super) fn is_open(&self) -> bool {
        self.incoming.is_open()
    }

    /// Whether another instruction is taken in now.
    pub(super) fn takes_more(&self) -> bool {
        self.is_open() && !self.answers.prompts.lock().unwrap_or_else(PoisonError::into_inner).are_full()
    }

    /// The next instruction; none at the end of the input, and after a line that was refused at once. Giving the wait
    /// up loses nothing.
    pub(super) async fn next(&mut self) -> Option<Instruction> {
        match self.incoming.next().await? {
            Ok(instruction) => Some(instruction),
            Err((source, refusal)) => {
                self.refused(source, refusal);
                None
            }
        }
    }

    /// What came of an instruction.
    pub(super) fn answer(&mut self, source: Source, told: Result<MessageId, Refusal>) {
        match told {
            Ok(message) => self.admitted(source, message),
            Err(refusal) => self.refused(source, refusal),
        }
    }

    /// A prompt is a message of the agent.
    pub(super) fn admitted(&mut self, source: Source, message: MessageId) {
        self.last = Some(message);
        self.answers.write(|prompts| prompts.admitted(message, source));
    }

    /// The run goes on with what a message has asked for before.
    pub(super) fn resumed(&mut self, message: MessageId) {
        self.last = Some(message);
    }

    fn refused(&self, source: Source, refusal: Refusal) {
        self.answers.write(|prompts| vec![prompts.refused(source, refusal)]);
    }

    /// The message that the report of the run is about.
    pub(super) fn last(&self, ending: &Ending) -> Result<MessageId, Failure> {
        self.last.ok_or_else(|| {
            if ending.asked() {
                return Failure::new(Exit::Interrupted, anyhow!("interrupted"));
            }
            let error = anyhow!("standard input ended without a line that the agent took in");
            Failure::usage(error).hint(r#"a line such as {"type":"prompt","text":"…"}"#)
        })
    }
}

impl Answers {
    /// Takes the next durable record of the agent, once its own line is written.
    pub(super) fn record(&self, record: &Record) {
        self.write(|prompts| prompts.record(record));
    }

    fn write(&self, made: impl FnOnce(&mut Prompts) -> Vec<anyhow::Result<String>>) {
        let lines = made(&mut self.prompts.lock().unwrap_or_else(PoisonError::into_inner));
        for line in lines {
            match line {
                // A reader that went away does not stop the run.
                Ok(line) => drop(self.lines.send(output::json(&line))),
                Err(error) => output::note(&format!("holon: {error}")),
            }
        }
    }
}
