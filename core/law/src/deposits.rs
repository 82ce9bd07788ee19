//! The law about what was deposited while nobody owned an agent.

use holon_facts::record::Record;

use super::past::Past;
use super::{Checked, rule};

pub(super) fn x7(past: &Past, record: &Record) -> Checked {
    let Some(deposit) = record.event.deposit() else { return Ok(false) };
    rule(!past.deposits.contains(&deposit), || format!("{deposit} is taken again"))
}
