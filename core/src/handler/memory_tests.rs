//! What turns leave in an agent's mind, in a world without I/O.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::event::{EpisodeFact, Event};
use holon_facts::memory::WorkingMemory;
use holon_facts::outcome::Outcome;

use crate::testing::{World, answers, calls, context, prompt, tool_answers};

/// A command that ended with this status.
fn exits(status: i32) -> Outcome {
    let mut outcome = tool_answers("…");
    if let Outcome::Tool { outcome } = &mut outcome {
        outcome.receipt.facts.exit_status = Some(status);
    }
    outcome
}

fn patches(files: &[&str]) -> Outcome {
    let mut outcome = tool_answers("patched");
    if let Outcome::Tool { outcome } = &mut outcome {
        outcome.receipt.facts.changed_files = files.iter().map(ToString::to_string).collect();
    }
    outcome
}

/// Each revision on record.
fn revisions(world: &World) -> Vec<(u64, &WorkingMemory)> {
    let found = world.log.iter().filter_map(|record| {
        let Event::Episode(EpisodeFact::MemoryUpdated(fact)) = &record.event else { return None };
        Some((fact.revision, &fact.memory))
    });
    found.collect()
}

fn turn(world: &mut World, text: &str, rounds: &[(&str, &str, Outcome)]) {
    world.admit("main", prompt(text));
    world.complete("main", context());
    for (tool, arguments, outcome) in rounds {
        world.complete("main", calls(&[("c", tool, arguments)]));
        world.complete("main", outcome.clone());
    }
    world.complete("main", answers("done"));
}

const PATCH: &str = r#"{"patch":"*** Begin Patch\n*** End Patch"}"#;

#[test]
fn files_and_the_last_verification_stay_in_mind() {
    let mut world = World::with_agent("main");
    turn(&mut world, "hello", &[]);
    assert!(revisions(&world).is_empty(), "a turn that only speaks leaves nothing");
    let test = r#"{"cmd":"cargo test -p core"}"#;
    let look = r#"{"cmd":"git status"}"#;
    turn(
        &mut world,
        "fix it",
        &[
            ("ApplyPatch", PATCH, patches(&["src/a.rs", "src/b.rs"])),
            ("ExecCommand", test, exits(101)),
            ("ApplyPatch", PATCH, patches(&["src/a.rs"])),
            ("ExecCommand", test, exits(0)),
            ("ExecCommand", look, exits(1)),
        ],
    );
    let all = revisions(&world);
    let (revision, memory) = all.last().unwrap();
    assert_eq!((*revision, all.len()), (1, 1));
    assert_eq!(memory.files, ["src/b.rs", "src/a.rs"]);
    let verification = memory.verification.as_ref().unwrap();
    assert_eq!((verification.command.as_str(), verification.exit_status), ("cargo test -p core", 0));
    turn(&mut world, "again", &[("ExecCommand", look, exits(0))]);
    assert_eq!(revisions(&world).len(), 1, "nothing of it changed");
}

#[test]
fn no_more_files_are_kept_than_a_few_and_none_of_another_item() {
    let mut world = World::with_agent("main");
    let many: Vec<String> = (0..20).map(|number| alloc::format!("src/{number}.rs")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    turn(&mut world, "write them", &[("ApplyPatch", PATCH, patches(&many))]);
    let newest: Vec<String> = revisions(&world)[0].1.files.clone();
    assert_eq!(newest, many[12..]);
    let item = r#"{"objective":"Ship it","todo_list":[{"text":"Tag","state":"pending"}]}"#;
    let pick = r#"{"work_item_id":"work_1"}"#;
    let calls =
        [("CreateWorkItem", item, tool_answers("created")), ("PickWorkItem", pick, tool_answers("picked"))];
    turn(&mut world, "plan", &calls);
    let (revision, memory) = *revisions(&world).last().unwrap();
    assert_eq!((revision, memory.files.len()), (2, 0), "files of another focus are not in play");
    assert_eq!(memory.objective.as_deref(), Some("Ship it"));
    assert_eq!(memory.follow_ups, ["Tag"]);
}

#[test]
fn an_interrupted_turn_leaves_what_it_did_when_it_ends() {
    let mut world = World::with_agent("main");
    world.admit("main", prompt("fix it"));
    world.complete("main", context());
    world.complete("main", calls(&[("c", "ApplyPatch", PATCH)]));
    world.complete("main", patches(&["src/a.rs"]));
    world.crash();
    assert!(revisions(&world).is_empty());
    world.complete("main", context());
    world.complete("main", answers("done"));
    assert_eq!(revisions(&world)[0].1.files, ["src/a.rs"]);
}
