//! A run in this process that takes instructions while it goes on.

use std::sync::Mutex;

use holon_facts::MessageId;
use holon_facts::message::Ingress;
use holon_facts::provenance::Priority;

use super::interrupts::Ending;
use super::output::Failure;
use super::run_input::RunInput;
use super::run_request::Task;
use super::session::{Outcome, Session, ingress, locked};
use crate::driver::Driver;
use crate::images;
use crate::report::RunFold;
use crate::run_stream::{Delivery, Instruction, Refusal, Source};
use crate::skills::GiveError;

impl Session {
    /// Keeps the agent going until the end of the input, and of what came of it.
    pub(super) async fn converse(
        &self,
        driver: &mut Driver,
        (task, mut input): (&Task, RunInput),
        fold: &Mutex<RunFold>,
        ending: &Ending,
    ) -> Result<Outcome, Failure> {
        match task {
            Task::Input => drop(self.in_progress(driver, task, ending).await?),
            Task::Prompt(_) => {
                let message = self.begin(driver, task, fold, ending).await?;
                input.admitted(Source::default(), message);
            }
            Task::Resume(_) => input.resumed(self.begin(driver, task, fold, ending).await?),
        }
        self.taken_in();
        let earlier = self.earlier();
        let interrupted = self.until_end(driver, &mut input, fold, ending).await?;
        let verdict = self.verdict_of(driver, interrupted);
        let message = input.last(ending)?;
        Ok(self.outcome(driver, (message, verdict), earlier))
    }

    /// Says whether the end was asked for before that.
    async fn until_end(
        &self,
        driver: &mut Driver,
        input: &mut RunInput,
        fold: &Mutex<RunFold>,
        ending: &Ending,
    ) -> Result<bool, Failure> {
        while input.is_open() || !self.settled(driver) {
            tokio::select! {
                biased;
                () = ending.wait() => {
                    self.interrupt(driver).await?;
                    return Ok(true);
                }
                instruction = input.next(), if input.takes_more() => {
                    if let Some(instruction) = instruction {
                        let source = instruction.source.clone();
                        let told = self.instruct(driver, instruction).await?;
                        if let Ok(message) = &told {
                            locked(fold).prompted_again(*message);
                        }
                        input.answer(source, told);
                    }
                }
                pumped = driver.pump() => pumped?,
            }
            self.follow_up(driver).await?;
        }
        Ok(false)
    }

    /// Gives the agent what a line has.
    async fn instruct(
        &self,
        driver: &mut Driver,
        instruction: Instruction,
    ) -> Result<Result<MessageId, Refusal>, Failure> {
        match self.message(driver, instruction) {
            Ok(ingress) => Ok(self.admit(driver, ingress).await?.map_err(Refusal::from)),
            Err(refusal) => Ok(Err(refusal)),
        }
    }

    fn message(&self, driver: &Driver, instruction: Instruction) -> Result<Ingress, Refusal> {
        let Instruction { source, text, images, skills, delivery } = instruction;
        let skills = self.skills(driver, &text, &skills).map_err(|error| not_given(&error))?;
        let image = |(at, picture): (usize, images::Picture)| {
            images::take(driver.texts(), &picture.name, &picture.bytes).map_err(|error| {
                let text = format!("images[{at}] ({:?}): {error}", picture.name);
                Refusal::invalid(&text).hint(error.hint())
            })
        };
        let images = images.into_iter().enumerate().map(image).collect::<Result<_, _>>()?;
        let plain = Ingress { images, skills, correlation_id: source.id, ..ingress(driver, &text) };
        Ok(match delivery {
            Delivery::Prompt => plain,
            Delivery::Interjection => Ingress { priority: Priority::Interject, ..plain },
            Delivery::Answer(brief) => {
                let agent = driver.view().agent(&self.request.agent);
                let open = agent.into_iter().flat_map(|agent| agent.asks.open.iter().map(|ask| ask.brief_id));
                let asked = Refusal::unless_asked(&self.request.agent, open, brief)?;
                Ingress { causation_id: Some(asked.to_string()), ..plain }
            }
        })
    }
}

/// Why the skills of a line can't go along.
fn not_given(error: &GiveError) -> Refusal {
    let code = match error {
        GiveError::Unknown { .. } => "skill_not_found",
        GiveError::NotOffered { .. } | GiveError::TooLong { .. } => "skill_invalid",
        GiveError::TooMany { .. } => "too_many",
    };
    Refusal::new(code, error).hint(error.hint())
}
