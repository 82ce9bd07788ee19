//! How people name and list an agent (contract: surface.md, `agent archive|rename|describe`).

use holon_facts::event::lifecycle::AgentLabelled;
use holon_facts::ids::{AgentId, ReplyId};
use holon_facts::label::{AgentLabel, Description, LabelChange};
use holon_facts::reject::Reject;

use crate::effect::Answer;
use crate::tx::Tx;

/// Changes the label; what is so already records nothing.
pub(crate) fn change(tx: &mut Tx<'_>, change: LabelChange, reply: ReplyId) {
    let before = tx.agent().label.clone();
    let label = match change {
        LabelChange::Rename { name } => match second_name(tx, name) {
            Ok(name) => AgentLabel { name, ..before },
            Err(reject) => return tx.reply(reply, Answer::Refused { reject }),
        },
        LabelChange::Describe { description } => AgentLabel { description, ..before },
    };
    let changed = set(tx, label);
    let label = tx.agent().label.clone();
    tx.reply(reply, Answer::Labelled { label, changed });
}

/// The description that a new agent begins with, recorded in the step that creates it.
pub(crate) fn begin(tx: &mut Tx<'_>, description: Option<Description>) {
    set(tx, AgentLabel { description, ..AgentLabel::default() });
}

/// Puts an agent into the archive, or takes it out; says whether it was elsewhere.
pub(super) fn archive(tx: &mut Tx<'_>, archived: bool) -> bool {
    let label = AgentLabel { archived, ..tx.agent().label.clone() };
    set(tx, label)
}

fn set(tx: &mut Tx<'_>, label: AgentLabel) -> bool {
    let previous = tx.agent().label.clone();
    let changed = previous != label;
    if changed {
        tx.record(AgentLabelled { previous, label });
    }
    changed
}

/// A name that nobody else has. Its own id is what every agent has anyway.
fn second_name(tx: &Tx<'_>, name: Option<AgentId>) -> Result<Option<AgentId>, Reject> {
    let own = &tx.agent().id;
    let Some(name) = name.filter(|name| name != own) else { return Ok(None) };
    if name.is_reserved() {
        return Err(Reject::ReservedAgentId { agent: name });
    }
    match tx.env.names.holder(&name) {
        Some(holder) if holder != own => Err(Reject::NameTaken { agent: holder.clone(), name }),
        Some(_) | None => Ok(Some(name)),
    }
}

#[cfg(test)]
mod tests {
    use holon_facts::lifecycle::{ControlOutcome, Status};

    use super::*;
    use crate::input::{ControlRequest, Input};
    use crate::testing::{World, agent, answers, calls, context, prompt};

    fn rename(world: &mut World, who: &str, to: Option<&str>) -> Answer {
        let (agent, name) = (agent(who), to.map(agent));
        world.ask(|reply| Input::Label { agent, change: LabelChange::Rename { name }, reply })
    }

    fn controlled(world: &mut World, request: ControlRequest) -> ControlOutcome {
        let Answer::Controlled(outcome) = world.control("main", request) else { panic!() };
        outcome
    }

    #[test]
    fn a_name_means_one_agent() {
        let mut world = World::with_agent("main");
        world.create("other");
        let label = |name: Option<&str>| AgentLabel { name: name.map(agent), ..AgentLabel::default() };
        let labelled = |name, changed| Answer::Labelled { label: label(name), changed };
        let taken = |name: &str, by: &str| Answer::Refused {
            reject: Reject::NameTaken { name: agent(name), agent: agent(by) },
        };
        assert_eq!(rename(&mut world, "main", Some("boss")), labelled(Some("boss"), true));
        assert_eq!(rename(&mut world, "main", Some("boss")), labelled(Some("boss"), false));
        assert_eq!(rename(&mut world, "other", Some("boss")), taken("boss", "main"));
        assert_eq!(rename(&mut world, "other", Some("main")), taken("main", "main"));
        assert_eq!(world.create("boss"), taken("boss", "main"));
        assert!(matches!(
            rename(&mut world, "main", Some("a--b")),
            Answer::Refused { reject: Reject::ReservedAgentId { .. } }
        ));
        // A name that is given up is free, also for whoever is not in memory at the time.
        assert_eq!(rename(&mut world, "main", Some("main")), labelled(None, true));
        assert_eq!(rename(&mut world, "main", None), labelled(None, false));
        assert_eq!(rename(&mut world, "other", Some("boss")), labelled(Some("boss"), true));
        world.crash();
        assert_eq!(rename(&mut world, "main", Some("boss")), taken("boss", "other"));
    }

    #[test]
    fn what_is_described_so_already_records_nothing() {
        let mut world = World::with_agent("main");
        let text = Some(Description::new("keeps CI green").unwrap());
        let describe = |world: &mut World, description: Option<Description>| {
            let change = LabelChange::Describe { description };
            let answer = world.ask(|reply| Input::Label { agent: agent("main"), change, reply });
            let Answer::Labelled { label, changed } = answer else { panic!("{answer:?}") };
            (label.description, changed)
        };
        assert_eq!(describe(&mut world, text.clone()), (text.clone(), true));
        let before = world.agent("main").event_seq;
        assert_eq!(describe(&mut world, text.clone()), (text, false));
        assert_eq!(world.agent("main").event_seq, before);
        assert_eq!(describe(&mut world, None), (None, true));
    }

    #[test]
    fn an_archived_agent_is_stopped_and_a_start_brings_it_back() {
        let mut world = World::with_agent("main");
        rename(&mut world, "main", Some("boss"));
        world.admit("main", prompt("go"));
        world.complete("main", context());
        let outcome = controlled(&mut world, ControlRequest::Archive);
        assert_eq!((outcome.next, outcome.changed, outcome.archived), (Status::Stopped, true, true));
        assert!(outcome.aborted_run_id.is_some(), "it is stopped as a stop does it");
        let again = controlled(&mut world, ControlRequest::Archive);
        assert_eq!((again.changed, again.archived), (false, true));
        let stopped = controlled(&mut world, ControlRequest::Stop);
        assert_eq!((stopped.changed, stopped.archived), (false, true));
        assert!(matches!(
            world.send("main", prompt("are you there?")),
            Answer::Refused { reject: Reject::AgentStopped { .. } }
        ));
        world.crash();
        let outcome = controlled(&mut world, ControlRequest::Start);
        assert_eq!((outcome.next, outcome.changed, outcome.archived), (Status::AwakeIdle, true, false));
        assert_eq!(world.agent("main").label.name, Some(agent("boss")), "it is who it was");
        world.admit("main", prompt("go on"));
        world.complete("main", context());
        world.complete("main", answers("done"));
    }

    #[test]
    fn one_that_was_stopped_before_is_archived_all_the_same() {
        let mut world = World::with_agent("main");
        controlled(&mut world, ControlRequest::Stop);
        let outcome = controlled(&mut world, ControlRequest::Archive);
        assert_eq!((outcome.previous, outcome.changed, outcome.archived), (Status::Stopped, true, true));
    }

    #[test]
    fn only_its_parent_names_a_child() {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        world.complete("main", calls(&[("", "SpawnAgent", r#"{"initial_message":"look"}"#)]));
        let child = world.agent("main").tasks.children().next().expect("a child").1.child_agent_id.clone();
        let private = |answer| matches!(answer, Answer::Refused { reject: Reject::PrivateAgent { .. } });
        assert!(private(rename(&mut world, child.as_str(), Some("kid"))));
        assert!(private(world.control(child.as_str(), ControlRequest::Archive)));
        let outcome = controlled(&mut world, ControlRequest::Archive);
        assert_eq!(outcome.stopped_children, [child], "what it supervises ends with it");
    }
}
