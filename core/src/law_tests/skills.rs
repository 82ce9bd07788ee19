//! Turns that are offered skills and use them, as a host has written them; and ways to break the laws about them.

use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::content::ContentId;
use holon_facts::event::{Event, InboxFact, SkillActivated, SkillFact, SkillsCatalogued, WorkspaceFact};
use holon_facts::ids::{RunId, TurnIndex};
use holon_facts::message::{Ingress, Message};
use holon_facts::outcome::Outcome;
use holon_facts::provenance::MessageKind;
use holon_facts::skill::{LoadReason, SkillCatalogue, SkillScope};
use holon_facts::workspace::{ExecutionBinding, WorkspaceChange};

use super::sabotage::{Case, Script};
use crate::input::Input;
use crate::testing::{World, agent, answers, calls, context, context_with, given, prompt, skill, uses};

pub(super) fn cases() -> Vec<Case> {
    activations().into_iter().chain(messages()).chain(catalogues()).collect()
}

fn activations() -> Vec<Case> {
    alloc::vec![
        activated("it is none on offer", |fact| fact.skill_id = "agent:other".into()),
        activated("it is another version", |fact| fact.digest = ContentId([9; 32])),
        activated("it is somebody else's", |fact| fact.scope = SkillScope::User),
        activated("its file is no script", |fact| fact.load_reason = LoadReason::RunSkillScript),
        activated("no command has named the file", |fact| {
            fact.path = "/skills/pdf/scripts/fill.py".into();
            fact.load_reason = LoadReason::RunSkillScript;
        }),
        activated("another run has used it", |fact| fact.run_id = Some(RunId(9))),
        activated("another turn has used it", |fact| fact.turn_index = TurnIndex(9)),
        case("K1", "something else has come in between", |s| {
            let fact = activation(s);
            s.after("assistant_round_recorded", 1, fact);
        }),
        brought("no command has named its file, and no message", |s| {
            let fact = activation(s);
            s.replace(
                "skill_activated",
                0,
                SkillActivated {
                    skill_id: "agent:csv".into(),
                    name: "csv".into(),
                    path: "/skills/csv/SKILL.md".into(),
                    entrypoint_path: "/skills/csv/SKILL.md".into(),
                    ..fact
                },
            );
        }),
        brought("something else has come in between", |s| {
            let fact = activation(s);
            s.after("assistant_round_recorded", 0, fact);
        }),
        case("K4", "a file that a command has named makes nothing active", |s| {
            s.remove("skill_activated", 0);
        }),
        Case::of("K4", "a prompt makes nothing active", Script::of(with_skill()), |s| {
            s.remove("skill_activated", 0);
        }),
        brought("it is active by another file", |s| {
            let fact = activation(s);
            s.replace("skill_activated", 0, SkillActivated { path: "/skills/pdf/scripts/a".into(), ..fact });
        }),
    ]
}

fn messages() -> Vec<Case> {
    alloc::vec![
        along("a webhook brings it", |message| {
            message.kind = MessageKind::WebhookEvent;
        }),
        along("it brings one twice", |message| message.skills.push(message.skills[0].clone())),
        along("one is long", |message| message.skills[0].body = crate::testing::long(1, 6_145)),
    ]
}

fn catalogues() -> Vec<Case> {
    alloc::vec![
        catalogued("it is the one before", 1, |fact| {
            let catalogue =
                SkillCatalogue { skills: alloc::vec![skill("pdf", 1)], ..SkillCatalogue::default() };
            fact.catalogue = Arc::new(catalogue);
        }),
        catalogued("it has one name twice", 0, |fact| {
            let twice = Arc::make_mut(&mut fact.catalogue);
            twice.skills.push(skill("pdf", 2));
        }),
        catalogued("its names are in no order", 0, |fact| {
            let unordered = Arc::make_mut(&mut fact.catalogue);
            unordered.skills.push(skill("a", 2));
        }),
        catalogued("it has a skill of the user", 0, |fact| {
            Arc::make_mut(&mut fact.catalogue).skills[0].scope = SkillScope::User;
        }),
        catalogued("its workspace is not trusted", 0, |fact| {
            let untrusted = Arc::make_mut(&mut fact.catalogue);
            (untrusted.untrusted, untrusted.skills[0].scope) = (1, SkillScope::Workspace);
        }),
        catalogued("it belongs to another run", 0, |fact| fact.run_id = RunId(9)),
        Case::of("K2", "nobody trusts the workspace", Script::of(elsewhere()), |s| {
            s.remove("workspace_trusted", 0);
        }),
        Case::of("O4", "it was trusted already", Script::of(elsewhere()), |s| {
            let event = s.event("workspace_trusted", 0).clone();
            let Event::Workspace(WorkspaceFact::WorkspaceTrusted(fact)) = event else { panic!() };
            s.after("workspace_trusted", 0, *fact);
        }),
        case("K2", "it comes after the context", |s| {
            let fact = catalogue(s, 0);
            s.remove("skills_catalogued", 0);
            s.after("turn_context_built", 0, fact);
        }),
    ]
}

fn case(law: &'static str, what: &'static str, sabotage: impl FnOnce(&mut Script)) -> Case {
    Case::of(law, what, Script::of(life()), sabotage)
}

/// A turn that is offered two skills, for a prompt that brings one along.
fn brought(what: &'static str, sabotage: impl FnOnce(&mut Script)) -> Case {
    Case::of("K1", what, Script::of(with_skill()), sabotage)
}

fn along(what: &'static str, sabotage: impl FnOnce(&mut Message)) -> Case {
    Case::of("K3", what, Script::of(with_skill()), |s| {
        let Event::Inbox(InboxFact::MessageAdmitted(fact)) = s.event("message_admitted", 0) else { panic!() };
        let mut fact = (**fact).clone();
        sabotage(&mut fact.message);
        s.replace("message_admitted", 0, fact);
    })
}

fn with_skill() -> Vec<holon_facts::Record> {
    let mut world = World::with_agent("main");
    let pdf = skill("pdf", 1);
    world.admit("main", Ingress { skills: alloc::vec![given(&pdf)], ..prompt("go") });
    world.complete("main", context_with(&[skill("csv", 1), pdf]));
    world.complete("main", answers("done"));
    world.log
}

fn activation(script: &Script) -> SkillActivated {
    let Event::Skill(SkillFact::SkillActivated(fact)) = script.event("skill_activated", 0) else { panic!() };
    (**fact).clone()
}

fn catalogue(script: &Script, nth: usize) -> SkillsCatalogued {
    let Event::Skill(SkillFact::SkillsCatalogued(fact)) = script.event("skills_catalogued", nth) else {
        panic!()
    };
    (**fact).clone()
}

fn activated(what: &'static str, sabotage: impl FnOnce(&mut SkillActivated)) -> Case {
    case("K1", what, |s| {
        let mut fact = activation(s);
        sabotage(&mut fact);
        s.replace("skill_activated", 0, fact);
    })
}

fn catalogued(what: &'static str, nth: usize, sabotage: impl FnOnce(&mut SkillsCatalogued)) -> Case {
    case("K2", what, |s| {
        let mut fact = catalogue(s, nth);
        sabotage(&mut fact);
        s.replace("skills_catalogued", nth, fact);
    })
}

/// An agent goes to a folder of its choice, which has a skill; an operator names the folder before the next turn.
fn elsewhere() -> Vec<holon_facts::Record> {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("look elsewhere"));
    world.complete("main", context());
    world.complete("main", calls(&[("", "UseWorkspace", r#"{"path":"/x"}"#)]));
    let execution = ExecutionBinding::project("/x", "/x");
    world.complete("main", Outcome::found(execution.clone()));
    world.complete("main", answers("done"));
    assert!(world.agent("main").workspaces.is_untrusted_at(&execution));
    let change = WorkspaceChange::Attach { execution };
    world.ask(|reply| Input::ChangeWorkspace { agent: agent("main"), change, reply });
    let mut of_workspace = skill("pdf", 1);
    (of_workspace.scope, of_workspace.skill_id) = (SkillScope::Workspace, "workspace:pdf".into());
    world.admit("main", prompt("again"));
    world.complete("main", context_with(&[of_workspace]));
    world.complete("main", answers("done"));
    world.log
}

/// A turn that reads a skill, one that finds another version of it, and one that finds none.
fn life() -> Vec<holon_facts::Record> {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    world.complete("main", context_with(&[skill("pdf", 1)]));
    world.complete("main", calls(&[("", "ExecCommand", r#"{"cmd":"cat /skills/pdf/SKILL.md"}"#)]));
    world.complete("main", uses(&["/skills/pdf/SKILL.md"]));
    world.complete("main", answers("done"));
    for found in [context_with(&[skill("pdf", 2)]), context()] {
        world.admit("main", prompt("again"));
        world.complete("main", found);
        world.complete("main", answers("done"));
    }
    world.log
}
