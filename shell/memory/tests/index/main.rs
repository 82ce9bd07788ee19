//! The index from outside, on real files.

mod common;
mod file;
mod scope;
mod search;
