//! Handlers of workspaces, worktrees and occupancy (contract: tasks.md, Workspaces).

pub(crate) mod isolate;
pub(crate) mod occupancy;
pub(crate) mod operator;
pub(crate) mod tools;
pub(crate) mod tree;
#[cfg(test)]
mod worktree_tests;

#[cfg(test)]
mod tests;
