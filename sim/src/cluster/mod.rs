//! Several nodes over one database: the machine of `holon-cluster` against a simulated database and everything that may
//! fail between them.
//!
//! [`db`] executes the machine's statements as PostgreSQL would. [`small`] visits every state of small worlds,
//! [`nodes`] plays large ones at random.

pub mod db;
pub mod nodes;
pub mod rules;
pub mod small;
