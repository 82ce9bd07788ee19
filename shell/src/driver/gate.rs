//! What tools wait for before the first of them may change something.

use tokio::sync::watch;

/// Closed until its latch is gone. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Gate(watch::Receiver<()>);

/// Keeps a gate closed; dropping it, in whatever way, opens the gate.
#[derive(Debug)]
pub struct Latch(#[expect(dead_code, reason = "only its end matters")] watch::Sender<()>);

impl Gate {
    /// One that never was closed.
    pub fn open() -> Self {
        Latch::closed().1
    }

    /// Waits until the gate is open.
    pub async fn opened(&self) {
        let mut latch = self.0.clone();
        while latch.changed().await.is_ok() {}
    }
}

impl Latch {
    /// A closed gate.
    pub fn closed() -> (Self, Gate) {
        let (sender, receiver) = watch::channel(());
        (Self(sender), Gate(receiver))
    }
}
