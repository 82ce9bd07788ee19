//! Waiting for a future on a thread that may block, also on one that belongs to a runtime.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use holon_facts::Millis;
use holon_platform::clock;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The result of a future that something else drives; none when `limit` is over before. Without one it waits for as long as
/// it takes.
pub(super) fn on<T>(future: impl Future<Output = T>, limit: Option<Millis>) -> Option<T> {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    let began = clock::now();
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return Some(result);
        }
        match limit {
            None => thread::park(),
            Some(limit) => {
                let left = limit.0.saturating_sub(clock::since(began).0);
                if left == 0 {
                    return None;
                }
                thread::park_timeout(std::time::Duration::from_millis(left));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_future_is_waited_for_and_given_up_at_its_limit() {
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let other = holon_platform::spawn::thread("other", move || sender.send(7).unwrap()).unwrap();
        assert_eq!(on(receiver, None), Some(Ok(7)));
        other.join().unwrap();
        assert_eq!(on(std::future::pending::<()>(), Some(Millis(20))), None);
    }
}
