//! Worlds of the simulator, and what is recorded of them. One program, so that those that take long run at the same time.

mod corpus;
mod crash;
mod crowd;
mod determinism;
mod explore;
mod laws;
mod ledgers;
mod life;
mod random_clusters;
mod sabotage;
mod servers;
mod shrink;
mod small_clusters;
mod store;
mod swarm;
