//! What servers say of their own accord: that their tools have changed, and what they ask their user.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as Plain, PoisonError};
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::SubscriptionFilter;
use rmcp::service::{Peer, ServiceError};

use super::answer::QUESTION_CHARS;
use crate::connection::Part;

/// Questions that are kept until the end of a call.
const QUESTIONS: usize = 8;
/// A stream of news that has ended is opened again after so long.
const PAUSE: Duration = Duration::from_secs(10);

/// What a server has said of its own accord.
#[derive(Clone, Default)]
pub(super) struct Heard {
    changed: Arc<AtomicBool>,
    /// What it has asked its user since the call in progress began.
    questions: Arc<Plain<Vec<String>>>,
}

/// News that are about to be acted on. Where that does not succeed they stay news.
pub(super) struct Change<'a> {
    changed: &'a AtomicBool,
    open: bool,
}

impl Change<'_> {
    pub(super) fn settled(mut self) {
        self.open = false;
    }
}

impl Drop for Change<'_> {
    fn drop(&mut self) {
        if self.open {
            self.changed.store(true, Ordering::Relaxed);
        }
    }
}

impl Heard {
    pub(super) fn changes(&self) {
        self.changed.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_changed(&self) -> bool {
        self.changed.load(Ordering::Relaxed)
    }

    /// What is known to have changed until now. What changes from now on is another change.
    pub(super) fn change(&self) -> Change<'_> {
        Change { open: self.changed.swap(false, Ordering::Relaxed), changed: &self.changed }
    }

    pub(super) fn asks(&self, question: &str) {
        let mut questions = self.questions.lock().unwrap_or_else(PoisonError::into_inner);
        if questions.len() < QUESTIONS {
            questions.push(question.chars().take(QUESTION_CHARS).collect());
        }
    }

    /// What was asked since the last time, as parts of a result.
    pub(super) fn questions(&self) -> impl Iterator<Item = Part> {
        let questions = std::mem::take(&mut *self.questions.lock().unwrap_or_else(PoisonError::into_inner));
        questions.into_iter().map(|question| Part::Text {
            text: format!(
                "[the server asked its user, and nobody answered: {question}. Ask your operator where it matters, and \
                 call it again with the answer.]"
            ),
        })
    }

    /// Listens for changes as long as the connection is there: the newest revision sends them to whoever asks for them.
    pub(super) async fn listen(self, peer: Peer<RoleClient>) {
        let wanted = SubscriptionFilter::builder().tools_list_changed().build();
        while !peer.is_transport_closed() {
            match peer.listen(wanted.clone()).await {
                Ok(mut news) => {
                    while let Ok(Some(_)) = news.next().await {
                        self.changes();
                    }
                    // What comes until the next stream is there is heard by nobody.
                    self.changes();
                }
                // It does not know the question.
                Err(ServiceError::McpError(_)) => return,
                Err(_) => {}
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_stay_news_until_they_are_acted_on() {
        let heard = Heard::default();
        drop(heard.change());
        assert!(!heard.has_changed(), "no news");
        heard.changes();
        drop(heard.change());
        assert!(heard.has_changed(), "nothing came of it");
        let change = heard.change();
        assert!(!heard.has_changed());
        change.settled();
        assert!(!heard.has_changed());
        let change = heard.change();
        heard.changes();
        change.settled();
        assert!(heard.has_changed(), "it has changed once more in the meantime");
    }

    #[test]
    fn a_question_is_passed_on_once() {
        let heard = Heard::default();
        for number in 0..20 {
            heard.asks(&number.to_string());
        }
        assert_eq!((heard.questions().count(), heard.questions().count()), (QUESTIONS, 0));
    }
}
