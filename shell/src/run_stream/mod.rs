//! The lines of `--output-format stream-json` and `--input-format stream-json` (docs/run-stream.md): what a program may
//! write to a run, how its lines are read, and the lines that are written to it besides durable events.

mod incoming;
mod input;
mod output;
mod prompts;
#[cfg(test)]
mod schema;

pub use incoming::Incoming;
pub use input::{Delivery, Instruction, LINE_BYTES, Source};
pub use output::{Refusal, run_finished};
pub use prompts::Prompts;
