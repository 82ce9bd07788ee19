//! The laws, tried on what this crate decides: real lives break none of them and give each something to say; hand-made lives
//! break each of them in the ways that it is there for.

mod budgets;
mod children;
mod debts;
mod deposits;
mod episodes;
mod facts;
mod hints;
mod labels;
mod lives;
mod memory;
mod sabotage;
mod servers;
mod shown;
mod skills;
mod stops;
mod summaries;
mod tasks;
mod timers;
mod triggers;
mod unattended;
mod waits;
mod work;
mod workspaces;
