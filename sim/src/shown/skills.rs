//! M16: each skill of a prompt is shown with it, once and quoted.

use holon_facts::AgentId;
use holon_facts::frame::Part;
use holon_facts::message::Message;

use super::compare::{given, leaves, outside};
use crate::failure::{Failure, ensure};

/// Checks that a message is shown with its skills.
pub(super) fn with(agent: &AgentId, message: &Message, parts: &[Part]) -> Result<(), Failure> {
    let (all, bare) = (leaves(parts), outside(parts));
    for skill in &message.skills {
        let is = |part: &&&Part| given(part) == Some(&skill.body);
        let (shown, bare) = (all.iter().filter(is).count(), bare.iter().filter(is).count());
        ensure!(
            shown == 1 && bare == 0,
            "M16",
            "{} of {agent} brings {} along, shown {shown} times, {bare} of them not quoted",
            message.id,
            skill.skill_id
        );
    }
    Ok(())
}
