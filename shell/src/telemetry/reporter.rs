//! Sends metrics again and again, as collectors that nobody lets in want them. What one of them has missed is in the next ones.

use std::time::Duration;

use holon_models::DocumentPost;
use holon_platform::{Environment, clock};
use tokio::time::sleep;

use super::offer::Taken;
use super::{Target, TargetError, measured};

/// Between two documents, where nobody names a time.
const EVERY: Duration = Duration::from_mins(1);
/// The shortest and the longest time that somebody may name.
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_hours(24);
const INTERVAL: &str = "OTEL_METRIC_EXPORT_INTERVAL";

/// Sends what a process counts to one collector.
pub struct Reporter {
    target: Target,
    every: Duration,
    post: DocumentPost,
}

impl Reporter {
    /// # Errors
    /// A variable that names no time.
    pub fn new(target: Target, environment: &Environment) -> Result<Self, TargetError> {
        let named = environment.get(INTERVAL).map(str::trim).filter(|text| !text.is_empty());
        let every = named.map_or(Some(EVERY), |text| text.parse().ok().map(Duration::from_millis));
        let every = every.filter(|every| (SHORTEST..=LONGEST).contains(every)).ok_or_else(|| {
            TargetError::Interval { name: INTERVAL, least: SHORTEST.as_millis(), most: LONGEST.as_millis() }
        })?;
        Ok(Self { target, every, post: DocumentPost::default() })
    }

    /// Reports until it is dropped. `shown` gives what `/metrics` shows at that moment.
    pub async fn run<F: Future<Output = Result<String, String>>>(self, shown: impl Fn() -> F) {
        let began = clock::now().wall;
        let mut failed = false;
        loop {
            sleep(self.every).await;
            let problem = match shown().await {
                Ok(text) => {
                    let document = measured::document(&self.target.resource, &text, began, clock::now().wall);
                    match self.target.offer(&self.post, document).await {
                        Taken::Yes => None,
                        Taken::Never(problem) | Taken::TooLarge(problem) | Taken::NotNow(problem, _) => {
                            Some(problem)
                        }
                    }
                }
                Err(problem) => Some(problem),
            };
            match (&problem, failed) {
                (Some(problem), false) => {
                    tracing::warn!("{} takes no metrics: {problem}", self.target.shown());
                }
                (None, true) => tracing::info!("{} takes metrics again", self.target.shown()),
                (Some(_), true) | (None, false) => {}
            }
            failed = problem.is_some();
        }
    }
}
