//! What the machine gives a process: clocks, random numbers, threads and tasks, limits, the environment. The lowest
//! layer of the shell; it knows what a time is, and nothing else of Holon.

pub mod beneath;
pub mod build;
pub mod clock;
pub mod crash_point;
pub mod entropy;
mod environment;
pub mod hex;
pub mod open_files;
pub mod process;
pub mod regular;
pub mod shield;
pub mod socket;
pub mod spawn;
pub mod threads;

pub use environment::Environment;
