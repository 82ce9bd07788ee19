//! Handlers of workspaces, worktrees and occupancy (contract: tasks.md, Workspaces).

pub(crate) mod isolate;
pub(crate) mod occupancy;
pub(crate) mod operator;
pub(crate) mod tools;
#[cfg(test)]
mod worktree_tests;

#[cfg(test)]
mod tests;
