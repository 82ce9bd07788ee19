//! A supervisor that is started before there is a command for it, so that the next command need not wait until a process
//! has come up: one at most, only after a command has ended, and only for a while.
//!
//! It is like any other that waits for the word, and knows no more: started with the same variables, in a folder of its
//! own. A runtime that vanishes takes it along.

use std::mem;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use holon_platform::spawn;
use tokio::task::JoinHandle;

use super::connection::{Supervisor, Variables};
use super::{Settings, lock};

/// Before anything is done for a next command, the result of this one goes on record and to the model.
const FIRST_THE_RESULT: Duration = Duration::from_millis(5);

/// The place for one.
#[derive(Default)]
pub(super) struct Spare(Arc<Mutex<State>>);

#[derive(Default)]
enum State {
    #[default]
    None,
    ComesUp,
    Waits {
        supervisor: Box<Supervisor>,
        environment: Variables,
        idle: JoinHandle<()>,
    },
}

impl Spare {
    /// The one that waits, if it was started as this command needs it, and is still there.
    pub(super) fn take(&self, needed: &Variables) -> Option<Supervisor> {
        let mut state = lock(&self.0);
        match &*state {
            State::Waits { environment, .. } if environment == needed => {}
            State::None | State::ComesUp | State::Waits { .. } => return None,
        }
        let State::Waits { mut supervisor, idle, .. } = mem::take(&mut *state) else { return None };
        idle.abort();
        supervisor.is_alive().then_some(*supervisor)
    }

    /// Starts one, where none waits. That none can be started costs nothing: the next command starts its own.
    pub(super) async fn start(&self, settings: &Settings, environment: Variables) {
        {
            let mut state = lock(&self.0);
            match &mut *state {
                State::None => {}
                State::ComesUp => return,
                State::Waits { supervisor, idle, .. } => {
                    if supervisor.is_alive() {
                        return;
                    }
                    idle.abort();
                }
            }
            *state = State::ComesUp;
        }
        let coming = ComingUp(&self.0);
        tokio::time::sleep(FIRST_THE_RESULT).await;
        let Ok(supervisor) = Supervisor::start(settings, &environment).await else { return };
        mem::forget(coming);
        let idle = Duration::from_millis(settings.commands.next_within.0);
        let idle = spawn::task(end_after(idle, Arc::downgrade(&self.0)));
        *lock(&self.0) = State::Waits { supervisor: Box::new(supervisor), environment, idle };
    }
}

/// Nothing comes up any more, whatever the reason.
struct ComingUp<'a>(&'a Mutex<State>);

impl Drop for ComingUp<'_> {
    fn drop(&mut self) {
        *lock(self.0) = State::None;
    }
}

/// Is stopped when the one that it is for is taken.
async fn end_after(idle: Duration, place: Weak<Mutex<State>>) {
    tokio::time::sleep(idle).await;
    if let Some(place) = place.upgrade() {
        *lock(&place) = State::None;
    }
}
