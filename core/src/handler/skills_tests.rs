//! Skills on offer and in use, in a world without I/O.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::event::{Event, SkillFact};
use holon_facts::message::Ingress;
use holon_facts::outcome::Outcome;
use holon_facts::skill::{ACTIVE, ActivationState, SkillCatalogue, SkillScope};
use holon_facts::time::Millis;

use crate::effect::Answer;
use crate::input::ControlRequest;
use crate::testing::{
    World, answers, calls, context, context_with, given, interjection, prompt, skill, tool_answers, uses,
};

/// A turn that is offered what was read, with a command for each outcome.
fn turn(world: &mut World, read: Outcome, commands: &[Outcome]) {
    world.admit("main", prompt("go"));
    world.complete("main", read);
    for outcome in commands {
        world.complete("main", calls(&[("c", "ExecCommand", r#"{"cmd":"true"}"#)]));
        world.complete("main", outcome.clone());
    }
    world.complete("main", answers("done"));
}

/// What is on record of skills, in short.
fn facts(world: &World) -> Vec<String> {
    let found = world.log.iter().filter_map(|record| {
        let Event::Skill(fact) = &record.event else { return None };
        Some(match fact {
            SkillFact::SkillsCatalogued(fact) => format!("offered {}", fact.catalogue.skills.len()),
            SkillFact::SkillActivated(fact) => format!("{} {}", fact.load_reason, fact.path),
        })
    });
    found.collect()
}

fn active(world: &World) -> Vec<(String, ActivationState)> {
    let skills = &world.agent("main").skills.active;
    skills.iter().map(|skill| (skill.name.clone(), skill.state)).collect()
}

/// What the last request shows.
fn shown(world: &World) -> String {
    format!("{:?}", world.requests.last().unwrap())
}

#[test]
fn a_catalogue_is_on_record_as_it_changes_and_said_once() {
    let mut world = World::with_agent("main");
    turn(&mut world, context(), &[]);
    turn(&mut world, context_with(&[]), &[]);
    assert_eq!(facts(&world), [""; 0]);
    let two = [skill("csv", 1), skill("pdf", 1)];
    turn(&mut world, context_with(&two), &[]);
    assert!(
        shown(&world).contains("skills that are new, or are as follows now")
            && shown(&world).contains("- csv")
    );
    turn(&mut world, context_with(&two), &[]);
    assert_eq!(facts(&world), ["offered 2"]);
    assert_eq!(shown(&world).matches("skills that are new").count(), 1);
    turn(&mut world, context_with(&[skill("csv", 1), skill("pdf", 2)]), &[]);
    assert!(shown(&world).contains("Version 2 of pdf"));
    turn(&mut world, context(), &[]);
    assert!(shown(&world).contains("skills that are no longer there"));
    assert_eq!(facts(&world), ["offered 2", "offered 2", "offered 0"]);
    // The next episode has what is there in its standing part, and nothing where nothing is.
    world.pass(Millis::hours(2));
    turn(&mut world, context(), &[]);
    assert!(!shown(&world).contains("skill"));
    world.pass(Millis::hours(2));
    turn(&mut world, context_with(&two), &[]);
    assert!(shown(&world).contains("skills_catalogue") && !shown(&world).contains("skills that are new"));
}

#[test]
fn a_command_that_succeeds_makes_its_skill_active_once_a_turn() {
    let mut world = World::with_agent("main");
    let offered = || context_with(&[skill("pdf", 1)]);
    let (read, run) = ("/skills/pdf/SKILL.md", "/skills/pdf/scripts/fill.py");
    turn(
        &mut world,
        offered(),
        &[uses(&[read]), uses(&[run, read]), uses(&["/elsewhere/SKILL.md"]), tool_answers("")],
    );
    let first =
        [format!("read_skill_md {read}"), format!("run_skill_script {run}"), format!("read_skill_md {read}")];
    assert_eq!(facts(&world)[1..], first);
    assert_eq!(active(&world), [("pdf".into(), ActivationState::SessionActive)]);
    assert!(!shown(&world).contains("active_skills"), "the episode began before");
    world.pass(Millis::hours(2));
    turn(&mut world, offered(), &[]);
    assert!(shown(&world).contains("active_skills") && shown(&world).contains("- pdf: /skills/pdf/SKILL.md"));
    // What has changed is not in use any more.
    turn(&mut world, context_with(&[skill("pdf", 2)]), &[]);
    assert_eq!(active(&world), []);
}

#[test]
fn a_turn_that_fails_leaves_no_skill_in_use_and_one_that_comes_again_does() {
    let mut world = World::with_agent("main");
    let offered = || context_with(&[skill("pdf", 1)]);
    world.admit("main", prompt("go"));
    world.complete("main", offered());
    world.complete("main", calls(&[("c", "ExecCommand", r#"{"cmd":"true"}"#)]));
    world.complete("main", uses(&["/skills/pdf/SKILL.md"]));
    assert_eq!(active(&world), [("pdf".into(), ActivationState::TurnActive)]);
    world.crash();
    assert_eq!(active(&world), [("pdf".into(), ActivationState::TurnActive)]);
    world.complete("main", offered());
    world.complete("main", answers("done"));
    assert_eq!(active(&world), [("pdf".into(), ActivationState::SessionActive)]);
    world.admit("main", prompt("go"));
    world.crash();
    assert_eq!(active(&world), [("pdf".into(), ActivationState::Restored)]);
    world.complete("main", offered());
    world.complete("main", calls(&[("c", "ExecCommand", r#"{"cmd":"true"}"#)]));
    world.complete("main", uses(&["/skills/pdf/SKILL.md"]));
    world.control("main", ControlRequest::Abort { run_id: None, stop_after_abort: false });
    assert_eq!(
        active(&world),
        [("pdf".into(), ActivationState::SessionActive)],
        "an earlier turn has completed"
    );
}

/// Prompts that bring skills along, as an operator names them.
fn naming(text: Ingress, skills: &[holon_facts::skill::Skill]) -> Ingress {
    Ingress { skills: skills.iter().map(given).collect(), ..text }
}

#[test]
fn a_skill_that_an_operator_names_is_shown_quoted_and_in_use_where_it_is_on_offer() {
    let mut world = World::with_agent("main");
    world.admit("main", naming(prompt("fill it in"), &[skill("pdf", 1), skill("gone", 1), skill("csv", 1)]));
    world.complete("main", context_with(&[skill("csv", 2), skill("pdf", 1)]));
    let once = |world: &World, text: &str| shown(world).matches(text).count();
    for name in ["pdf", "gone", "csv"] {
        assert_eq!(once(&world, &format!("How {name} is done.")), 1, "{}", shown(&world));
    }
    assert_eq!(once(&world, "[skill | the operator wants it to be used"), 3);
    // Another version is on offer now, and one is gone: what the operator chose is shown, and no more is said of it.
    assert_eq!(facts(&world)[1..], ["prompt_injection /skills/pdf/SKILL.md"]);
    assert_eq!(active(&world), [("pdf".into(), ActivationState::TurnActive)]);
    // In the middle of a turn it goes along with what is interjected; a crash shows and records nothing twice.
    world.admit("main", naming(interjection("and add it up"), &[skill("csv", 2)]));
    world.complete("main", calls(&[("c", "ExecCommand", r#"{"cmd":"true"}"#)]));
    world.complete("main", tool_answers(""));
    let twice = ["prompt_injection /skills/pdf/SKILL.md", "prompt_injection /skills/csv/SKILL.md"];
    assert_eq!(
        (facts(&world)[1..].to_vec(), once(&world, "How csv is done.")),
        (twice.map(String::from).to_vec(), 2)
    );
    world.crash();
    world.complete("main", context_with(&[skill("csv", 2), skill("pdf", 1)]));
    assert_eq!(
        (facts(&world)[1..].to_vec(), once(&world, "How csv is done.")),
        (twice.map(String::from).to_vec(), 2)
    );
    world.complete("main", answers("done"));
    let kept = |name: &str| (name.into(), ActivationState::SessionActive);
    assert_eq!(active(&world), [kept("pdf"), kept("csv")]);
}

#[test]
fn an_operator_alone_brings_skills_along_and_not_many() {
    let mut world = World::with_agent("main");
    let many: Vec<_> = (0..5).map(|at| skill(&format!("s{at}"), 1)).collect();
    let refused = |world: &mut World, ingress| {
        let answer = world.send("main", ingress);
        let Answer::Refused { reject } = answer else { panic!("{answer:?}") };
        reject.code()
    };
    assert_eq!(refused(&mut world, naming(prompt("go"), &many)), "too_many");
    assert_eq!(refused(&mut world, naming(prompt("go"), &[skill("pdf", 1), skill("pdf", 1)])), "too_many");
    let mut long = naming(prompt("go"), &many[..1]);
    long.skills[0].body = crate::testing::long(1, 6_145);
    assert_eq!(refused(&mut world, long), "too_large");
}

/// CX4: what an agent uses decides nothing.
#[test]
fn activation_changes_no_schedule_no_tool_and_no_authority() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("go"));
    world.complete("main", context_with(&[skill("pdf", 1)]));
    world.complete("main", calls(&[("c", "ExecCommand", r#"{"cmd":"true"}"#)]));
    let before = world.agent("main").clone();
    let from = world.log.len();
    world.complete("main", uses(&["/skills/pdf/SKILL.md"]));
    let record = world.log[from..]
        .iter()
        .find(|record| matches!(record.event, Event::Skill(SkillFact::SkillActivated(_))));
    let mut after = before.clone();
    after.apply(record.expect("an activation"));
    assert_ne!(after.skills, before.skills);
    after.skills = before.skills.clone();
    (after.event_seq, after.last_at) = (before.event_seq, before.last_at);
    assert_eq!(after, before, "nothing that decisions or requests look at is another");
}

#[test]
fn at_most_sixteen_are_in_use() {
    let mut world = World::with_agent("main");
    let all: Vec<_> = (0..20).map(|at| skill(&format!("s{at:02}"), 1)).collect();
    let files: Vec<_> = all.iter().map(|skill| skill.entrypoint_path.clone()).collect();
    let files: Vec<_> = files.iter().map(String::as_str).collect();
    turn(&mut world, context_with(&all), &[uses(&files[..10]), uses(&files[10..])]);
    let names: Vec<_> = active(&world).into_iter().map(|(name, _)| name).collect();
    assert_eq!((names.len(), names[0].to_string()), (ACTIVE, "s04".into()));
}

#[test]
fn what_does_not_fit_is_cut_and_counted() {
    let catalogue = |count: usize, left_out| SkillCatalogue {
        skills: (0..count).map(|at| skill(&format!("skill-{at:03}"), 1)).collect(),
        left_out,
        untrusted: 2,
    };
    let shown = |catalogue: &SkillCatalogue| format!("{:?}", crate::prompt::skills::catalogue(catalogue));
    let few = shown(&catalogue(3, 0));
    assert!(
        few.contains("skill-002") && few.contains("[2 skills of this workspace are not offered"),
        "{few}"
    );
    assert!(!few.contains("more skills"));
    let many = shown(&catalogue(100, 7));
    assert!(many.contains("skill-099") && many.contains("[7 more skills are not shown"), "{many}");
    let mut long = catalogue(100, 0);
    for skill in &mut long.skills {
        skill.description = holon_facts::content::Text::short("d".repeat(250));
    }
    let long = shown(&long);
    assert!(long.contains("chars: 120") && long.contains("more skills are not shown"), "{long}");
}

/// Of one name the workspace's is offered; of too many they are the last to be left out, wherever their names are.
#[test]
fn what_does_not_fit_is_left_out_by_the_precedence_of_its_scope() {
    let scopes = [SkillScope::User, SkillScope::Agent, SkillScope::Workspace];
    let one = |at: usize| {
        let mut skill = skill(&format!("skill-{at:03}"), 1);
        skill.description = holon_facts::content::Text::short("d".repeat(250));
        skill.scope = scopes[at / 32];
        skill
    };
    let catalogue = SkillCatalogue { skills: (0..96).map(one).collect(), left_out: 0, untrusted: 0 };
    let unshown = crate::prompt::skills::unshown(&catalogue);
    let of = |scope| unshown.iter().filter(|skill| skill.scope == scope).count();
    assert!(of(SkillScope::Workspace) == 0 && of(SkillScope::User) > of(SkillScope::Agent), "{unshown:?}");
    let block = format!("{:?}", crate::prompt::skills::catalogue(&catalogue));
    for skill in &catalogue.skills {
        assert_eq!(block.contains(&format!("{}: ", skill.name)), !unshown.contains(&skill), "{}", skill.name);
    }
    let note = format!("[{} more skills are not shown", unshown.len());
    assert!(block.contains(&note), "{note}: {block}");
}
