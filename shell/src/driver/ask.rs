//! Who asks for something, and waits for what is answered.

use holon_core::{Answer, Input};
use holon_driver::Admits;
use holon_facts::ReplyId;
use holon_platform::clock;
use tokio::sync::oneshot;

use super::{Driver, DriverError, NoAnswer};

/// Told what is answered, once it is durable. Dropped when the runtime ends before.
pub type Answered = Box<dyn FnOnce(Result<Answer, NoAnswer>) + Send>;

impl Driver {
    /// Asks for something, and waits until what was answered is durable.
    ///
    /// # Errors
    /// When the disk is full, or the runtime can't go on.
    pub async fn ask(&mut self, make: impl FnOnce(ReplyId) -> Input) -> Result<Answer, DriverError> {
        let (sender, mut receiver) = oneshot::channel();
        self.admit(make, Box::new(move |told| drop(sender.send(told))), true).await?;
        loop {
            match receiver.try_recv() {
                Ok(Ok(answer)) => return Ok(answer),
                // Whoever is patient is never told that it waits.
                Ok(Err(NoAnswer::DiskFull(full))) => return Err(DriverError::DiskFull(full)),
                Ok(Err(NoAnswer::Waits)) | Err(_) => {}
            }
            self.pump().await?;
        }
    }

    /// Asks for something; whoever asks is told when the answer is durable, or as soon as it is known that the disk
    /// has no room for it.
    ///
    /// # Errors
    /// When the runtime can't go on.
    pub async fn submit(
        &mut self,
        make: impl FnOnce(ReplyId) -> Input,
        answered: Answered,
    ) -> Result<(), DriverError> {
        self.admit(make, answered, false).await
    }

    async fn admit(
        &mut self,
        make: impl FnOnce(ReplyId) -> Input,
        answered: Answered,
        patient: bool,
    ) -> Result<(), DriverError> {
        let reply = self.engine.next_reply();
        let input = make(reply);
        loop {
            match self.engine.admits(&input, patient) {
                Admits::Now => break,
                Admits::Later => self.pump().await?,
                Admits::Refused(told) => {
                    answered(told);
                    return Ok(());
                }
            }
        }
        let more = self.engine.ask(clock::now(), input, reply, answered, patient)?;
        self.follow_up(more)
    }
}
