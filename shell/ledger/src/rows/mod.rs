//! What a ledger holds, whatever stores it: the rows, the hash links and sums that show damage, batches in the making, and
//! the head that names the last batch which was acknowledged. What is here reads no more than a newest batch, and writes
//! nothing but a head.
//!
//! | table | one row is | written |
//! | --- | --- | --- |
//! | `records` | a fact: `position` over all agents, `(agent, event_seq)` within one, its payload, its `sum`; two indexes find runs, admissions and briefs | once |
//! | `recorder` | a call of the host, in the order of the calls | once |
//! | `content` | a text of more than 256 bytes, by its hash | once; an erased text is null |
//! | `batches` | a transaction: which rows of the tables above it brought, and its `link` | once |
//! | `snapshots` | an agent's state at one event, compressed; the newest two are kept | and removed |
//! | `agents` | what a start has to know of an agent before it loads it | updated |
//! | `kinds` | the newest version of each kind of event that was ever written | updated |

pub(crate) mod batch;
pub(crate) mod head;
pub(crate) mod link;
pub(crate) mod packed;
pub(crate) mod row;
pub(crate) mod schema;

pub use batch::{Batch, EncodedCall};
pub use head::Head;
pub use packed::Packed;
pub use schema::SCHEMA_VERSION;
