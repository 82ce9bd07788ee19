//! What programs that put load on a runtime share: a model that answers at once, connections that cost little,
//! followers that count, and what the kernel says of a process.

pub mod connection;
pub mod follower;
pub mod model;
pub mod served;
pub mod usage;
