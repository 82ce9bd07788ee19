//! Waits for a runtime that is started anew, by whoever goes on with what it was told.

use std::time::Duration;

use holon_api::ClientError;
use holon_facts::Millis;
use holon_platform::clock;

use super::interrupts::Ending;
use super::output::Failure;

/// A runtime that is away is waited for so long.
const AWAY: Millis = Millis::seconds(60);
const PAUSE: Duration = Duration::from_millis(200);

/// Asks again while the runtime is away, or until the end is asked for.
pub(super) async fn until_answered<T, F>(ending: &Ending, ask: impl Fn() -> F) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let began = clock::now();
    loop {
        match ending.or(ask()).await {
            Err(failure) if may_pass(&failure) && clock::since(began) < AWAY => {
                let pause = async {
                    tokio::time::sleep(PAUSE).await;
                    Ok(())
                };
                ending.or(pause).await?;
            }
            answered => return answered,
        }
    }
}

fn may_pass(failure: &Failure) -> bool {
    failure.error.downcast_ref::<ClientError>().is_some_and(ClientError::may_pass)
}
