//! The end of the server: asked for once, heard by everybody who waits for it.

use std::sync::Arc;

use tokio::sync::watch;

/// Cheap to clone; all clones are the same request.
#[derive(Debug, Clone)]
pub struct Shutdown(Arc<watch::Sender<bool>>);

impl Default for Shutdown {
    fn default() -> Self {
        Self(Arc::new(watch::channel(false).0))
    }
}

impl Shutdown {
    /// Asks for the end. Asking twice is asking once.
    pub fn ask(&self) {
        self.0.send_replace(true);
    }

    /// Waits until the end is asked for.
    pub fn asked(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut asked = self.0.subscribe();
        // The sender is gone only with everybody who could ask.
        async move { drop(asked.wait_for(|asked| *asked).await) }
    }
}
