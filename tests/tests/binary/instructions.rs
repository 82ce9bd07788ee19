//! Instruction files and what they import, as a model is shown them.

use std::fs;
use std::os::unix::fs::symlink;

use end_to_end::provider::{Provider, says};
use end_to_end::{Holon, payloads};
use serde_json::{Value, json};

fn with(provider: &Provider) -> Holon {
    Holon::new().with("HOLON_MODEL", "local/test").with("HOLON_LOCAL_BASE_URL", &provider.url)
}

fn system(request: &Value) -> &str {
    request["messages"][0]["content"].as_str().expect("a system message")
}

#[test]
fn a_file_of_one_import_is_the_imported_file_and_stays_the_same_in_the_episode() {
    let provider = Provider::start((0..2).map(|_| says("done")));
    let holon = with(&provider);
    holon.file("CLAUDE.md", "@docs/rules.md\n");
    fs::create_dir(holon.work().join("docs")).expect("a folder");
    let rules = holon.file("docs/rules.md", "Never touch the generated files.\n");
    let run = |text: &str| {
        let ended = holon.run(&["run", "--json", "--agent", "main", "--create-agent", text]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.json()
    };
    let first = run("first");
    fs::write(&rules, "Touch what you like.\n").expect("a file");
    run("second");
    let requests = provider.requests();
    let shown = system(&requests[0]);
    let heading = format!("docs/rules.md, imported by {}:\n", holon.work().join("CLAUDE.md").display());
    assert!(shown.contains(&(heading + "Never touch the generated files.")), "{shown}");
    // What changes is added where it is new.
    assert_eq!(system(&requests[1]), shown);
    let last = requests[1]["messages"].as_array().and_then(|all| all.last()).expect("a message");
    assert!(last["content"].as_str().is_some_and(|it| it.contains("Touch what you like.")), "{last}");
    let records = holon.records(first["ledger"].as_str().expect("a ledger").as_ref());
    let sources = payloads(&records, "turn_context_built")[0]["context"]["sources"].clone();
    let import = sources.as_array().and_then(|all| all.last()).expect("sources");
    assert_eq!(import["scope"], json!("workspace"));
    assert!(import["imported_by"].as_str().is_some_and(|by| by.ends_with("CLAUDE.md")), "{import}");
    assert_eq!(import["content_id"].as_str().map(str::len), Some(64));
    holon.check_ledger(first["ledger"].as_str().expect("a ledger").as_ref());
}

#[test]
fn what_is_cut_or_left_out_of_imports_is_shown() {
    let provider = Provider::start([says("done")]);
    let holon = with(&provider);
    let lines =
        "@picture.png\n@loop.md\n@big.md\n@rest.md\n@late.md\n@../beside.md\n@link.md\n@none.md\n@alice\n";
    holon.file("AGENTS.md", lines);
    holon.file("loop.md", "Round.\n@AGENTS.md\n");
    holon.file("big.md", &"b".repeat(10 << 20));
    holon.file("rest.md", &"r".repeat(40_000));
    holon.file("late.md", "Late.\n");
    holon.file("picture.png", "\u{89}PNG\0\0");
    fs::write(holon.folder().join("beside.md"), "Nobody imports this.\n").expect("a file");
    symlink(holon.folder().join("beside.md"), holon.work().join("link.md")).expect("a link");
    assert_eq!(holon.run(&["run", "go"]).code, Some(0));
    let requests = provider.requests();
    let shown = system(&requests[0]);
    for said in [
        "[not imported, because an imported file imports nothing: AGENTS.md]",
        "[… cut here: the file has 10485760 bytes, the first 32768 are shown …]",
        "[… cut here: the file has 40000 bytes, the first ",
        "[not imported: @late.md: all imports together have 64 KiB at most]",
        "[not imported: @picture.png: it is not a text file]",
        "[not imported: @../beside.md: it leads out of this folder]",
        "[not imported: @link.md: it leads out of this folder]",
        "[not imported: @none.md: there is no such file]",
    ] {
        assert!(shown.contains(said), "{said}: {:?}", &shown[shown.len().saturating_sub(3_000)..]);
    }
    assert!(!shown.contains("Nobody imports this.") && !shown.contains("@alice: "));
    assert!(shown.len() < 80_000, "{} bytes", shown.len());
}

#[test]
fn instructions_that_are_no_text_or_lead_round_end_the_turn_with_their_path() {
    let provider = Provider::start([says("never")]);
    let holon = with(&provider);
    holon.file("AGENTS.md", "\u{7f}ELF\0\0");
    let ended = holon.run(&["run", "go"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("AGENTS.md can't be read: it is not a text file"), "{ended:?}");
    holon.file("AGENTS.md", "@round.md\n");
    symlink("round.md", holon.work().join("round.md")).expect("a link");
    let ended = holon.run(&["run", "go"]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("round.md can't be read"), "{ended:?}");
    assert!(provider.requests().is_empty());
}

#[test]
fn a_link_that_leads_nowhere_is_shown_in_a_workspace_and_ends_the_turn_in_the_home_of_an_agent() {
    let provider = Provider::start((0..2).map(|_| says("done")));
    let holon = with(&provider);
    let link = holon.work().join("AGENTS.md");
    symlink("../elsewhere/AGENTS.md", &link).expect("a link");
    holon.file("CLAUDE.md", "Use tabs.\n");
    let run = |text: &str| holon.run(&["run", "--agent", "main", "--create-agent", text]);
    let ended = run("first");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let requests = provider.requests();
    let shown = system(&requests[0]);
    let note = format!("[not shown: {} is a link that leads nowhere]", link.display());
    assert!(shown.contains(&note) && shown.contains("Use tabs."), "{shown}");
    let own = holon.home().join("agents/main/AGENTS.md");
    fs::remove_file(&own).ok();
    symlink("nowhere.md", &own).expect("a link");
    let ended = run("second");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("AGENTS.md can't be read: it is a link that leads nowhere"), "{ended:?}");
    assert_eq!(provider.requests().len(), 1);
}

/// A part of it would be known to nobody as a secret.
#[test]
fn no_part_of_a_secret_that_a_cut_goes_through_is_sent() {
    const SECRET: &str = "canary-0123456789-abcdefghij-end";
    let provider = Provider::start([says("done")]);
    let holon = with(&provider).with("DEPLOY_SECRET", SECRET);
    let across = |most: usize| format!("{} {SECRET}\n", ".".repeat(most - SECRET.len()));
    holon.file("AGENTS.md", &format!("@big.md\n{}", across((64 << 10) - "@big.md\n".len())));
    holon.file("big.md", &across(32 << 10));
    let memory = holon.home().join("agents/main/memory");
    fs::create_dir_all(&memory).expect("a folder");
    fs::write(memory.join("self.md"), across(8_000)).expect("a file");
    let ended = holon.run(&["run", "--agent", "main", "--create-agent", "go"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let request = provider.requests()[0].to_string();
    assert_eq!(request.matches("[… cut here: ").count(), 3);
    assert!(!request.contains("canary"), "{:?}", request.find("canary"));
}
