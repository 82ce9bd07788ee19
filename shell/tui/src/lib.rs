//! The terminal console: one agent's conversation, a composer that is always there, and lists over it (contract:
//! consoles.md). A client of the typed API and of nothing else; what an event means comes from the one presentation.
//! The screen is a pure picture of a model, which a pure reducer changes; one loop performs what the reducer asks for.
//! Closing it changes nothing in the runtime.

mod command;
mod composer;
mod console;
mod conversation;
mod entry;
mod keyboard;
mod layout;
mod lists;
mod message;
mod model;
mod output;
mod overlay;
mod perform;
mod row;
mod screen;
mod streams;
mod style;
mod terminal;
#[cfg(test)]
mod tests;
mod text;
mod update;
mod view;

pub use console::{Options, run};
