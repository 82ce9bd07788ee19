//! The memory over a real ledger: what is searched, how it follows, and that nothing is lost with the index.

use std::fs;

use holon_core::Input;
use holon_facts::AgentId;
use holon_facts::message::Origin;
use holon_facts::provenance::MessageKind;
use holon_ledger::sqlite::testing;

use super::*;

struct Scene {
    ledger: testing::Home,
    memory: Memory,
    main: AgentId,
}

impl Scene {
    fn new() -> Self {
        let ledger = testing::Home::new();
        let home = Home::at(ledger.ledger().parent().unwrap());
        Self { memory: memory(&home), ledger, main: AgentId::new("main").unwrap() }
    }

    fn home(&self) -> &Home {
        &self.memory.inner.home
    }

    fn found(&self, query: &str) -> MemoryFound {
        self.memory.search(&asked(&self.main, query)).unwrap()
    }

    fn kinds(&self, query: &str) -> Vec<String> {
        self.found(query).results.into_iter().map(|hit| hit.source.kind).collect()
    }
}

fn asked(agent: &AgentId, query: &str) -> Asked {
    Asked { agent: agent.clone(), query: query.into(), limit: 10, workspace: None, in_turn: false }
}

fn memory(home: &Home) -> Memory {
    Memory::new(home.clone(), Texts::new(holon_text::Secrets::default(), Box::new(|_| Ok(None))))
}

#[test]
fn what_operators_ask_and_what_is_answered_is_found_and_opened() {
    let scene = Scene::new();
    let mut world = scene.ledger.start();
    world.create("main");
    let long = format!("{} find the otter here", "a long request about rivers ".repeat(400));
    world.prompt("main", &long);
    let found = scene.found("otters");
    assert_eq!(found.index.state, "ready");
    let hit = &found.results[0];
    assert_eq!((hit.source.kind.as_str(), hit.source.standing.as_str()), ("message", "operator"));
    assert!(hit.snippet.contains("otter"), "{}", hit.snippet);
    let text = scene.memory.get(&scene.main, &hit.source.source_ref, 50_000).unwrap();
    assert_eq!((text.content.as_str(), text.truncated), (long.as_str(), false));
    let text = scene.memory.get(&scene.main, &hit.source.source_ref, 6).unwrap();
    assert_eq!((text.content.as_str(), text.truncated), ("a long", true));
    // The same reference after the index was deleted, and nobody else's.
    fs::remove_dir_all(scene.home().root().join("index")).unwrap();
    let anew = memory(scene.home());
    assert_eq!(anew.get(&scene.main, &hit.source.source_ref, 6).unwrap(), text);
    let other = AgentId::new("other").unwrap();
    for (agent, invented) in
        [(&other, hit.source.source_ref.as_str()), (&scene.main, "mem_aaaaaaaaaaaaaaaa"), (&scene.main, "x")]
    {
        assert!(matches!(anew.get(agent, invented, 6), Err(MemoryProblem::NotFound { .. })), "{invented}");
    }
}

#[test]
fn files_of_the_agent_are_searched_as_they_are() {
    let scene = Scene::new();
    let mut world = scene.ledger.start();
    world.create("main");
    let home = scene.home().agent(&scene.main);
    fs::create_dir_all(home.join("memory")).unwrap();
    fs::create_dir_all(home.join("notes/deep")).unwrap();
    fs::write(home.join("memory/self.md"), "# Learned\nThe heron waits.").unwrap();
    fs::write(home.join("notes/deep/birds.md"), "A heron by the pond.").unwrap();
    fs::write(home.join("notes/picture.png"), "heron").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", home.join("notes/linked.md")).unwrap();
    let mut kinds = scene.kinds("herons");
    kinds.sort();
    assert_eq!(kinds, ["agent_memory", "note"]);
    assert!(scene.kinds("root nologin").is_empty(), "a link is not followed");
    let reference = scene.found("pond").results[0].source.source_ref.clone();
    for text in ["A crane by the pond.", "A stork by the pond."] {
        fs::write(home.join("notes/deep/birds.md"), text).unwrap();
        assert_eq!(scene.kinds("heron"), ["agent_memory"]);
        assert_eq!(scene.memory.get(&scene.main, &reference, 50).unwrap().content, text);
    }
    fs::write(home.join("notes/deep/birds.md"), "").unwrap();
    assert!(scene.kinds("stork").is_empty() && scene.kinds("pond").is_empty());
    fs::remove_file(home.join("memory/self.md")).unwrap();
    assert!(scene.kinds("heron").is_empty());
}

/// The newest of too many are searched, and of each kind some.
#[test]
fn many_notes_hide_neither_newer_ones_nor_plans() {
    let scene = Scene::new();
    let mut world = scene.ledger.start();
    world.create("main");
    let home = scene.home().agent(&scene.main);
    let write = |name: &str, text: &str, seconds: u64| {
        let path = home.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        file.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(seconds)).unwrap();
    };
    for at in 0..200 {
        write(&format!("memory/a{at:03}.md"), "a sparrow", 5_000);
        write(&format!("notes/a{at:03}.md"), "a sparrow", 5_000);
    }
    write("notes/zz.md", "a newer heron", 9_000);
    write("notes/zy.md", "an older bittern", 1_000);
    write("work-items/work_1/plan.md", "an old plan of a heron", 1_000);
    let mut kinds = scene.kinds("heron");
    kinds.sort();
    assert_eq!(kinds, ["note", "work_plan"]);
    assert!(scene.kinds("bittern").is_empty(), "it is older than the newest 256");
    let counts = scene.memory.status(&scene.main).unwrap().by_kind;
    let files = counts.iter().filter(|count| ["agent_memory", "note", "work_plan"].contains(&&*count.kind));
    assert_eq!(files.map(|count| count.documents).sum::<u64>(), 256);
    for at in 0..200 {
        fs::remove_file(home.join(format!("memory/a{at:03}.md"))).unwrap();
    }
    assert_eq!(scene.kinds("bittern"), ["note"]);
}

/// What is searched is redacted, and would not be known as a secret by its beginning.
#[test]
fn no_part_of_a_secret_that_a_cut_goes_through_is_searched() {
    let home = tempfile::tempdir().unwrap();
    let secrets = holon_text::Secrets::new([("KEY".to_owned(), "canary-0123456789-ß-end".to_owned())]);
    let texts = Texts::new(secrets, Box::new(|_| Ok(None)));
    fs::create_dir(home.path().join("notes")).unwrap();
    for shown in [7, 19] {
        let text = format!("{} canary-0123456789-ß-end", ".".repeat((256 << 10) - 1 - shown));
        fs::write(home.path().join("notes/long.md"), text).unwrap();
        let document = Document {
            agent: AgentId::new("main").unwrap(),
            source: holon_memory::Source { kind: holon_memory::Kind::Note, id: "notes/long.md".into() },
            standing: holon_memory::Standing::Own,
            workspace: None,
            path: None,
            title: String::new(),
            updated_at: holon_facts::Wall(0),
            events: Vec::new(),
            stamp: None,
        };
        let body = files::body(&texts, home.path(), &document).unwrap();
        assert!(body.ends_with(". "), "{}", &body[body.len() - 30..]);
    }
}

#[test]
fn no_link_to_a_folder_is_searched_and_the_index_is_for_its_owner_alone() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    let scene = Scene::new();
    let mut world = scene.ledger.start();
    world.create("main");
    let index = scene.home().root().join("index");
    fs::create_dir(&index).unwrap();
    fs::set_permissions(&index, fs::Permissions::from_mode(0o755)).unwrap();
    let (home, elsewhere) = (scene.home().agent(&scene.main), scene.home().root().join("elsewhere"));
    fs::create_dir_all(home.join("notes")).unwrap();
    for name in ["one.md", "work_1/plan.md"] {
        let path = elsewhere.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "a heron").unwrap();
    }
    for name in ["memory", "work-items", "notes/deep"] {
        symlink(&elsewhere, home.join(name)).unwrap();
    }
    assert!(scene.kinds("heron").is_empty());
    assert_eq!(fs::metadata(&index).unwrap().mode() & 0o777, 0o700);
    // One that was a folder when it was found is not followed either.
    fs::remove_file(home.join("memory")).unwrap();
    fs::create_dir(home.join("memory")).unwrap();
    fs::write(home.join("memory/one.md"), "an own heron").unwrap();
    let found = scene.found("heron").results[0].source.source_ref.clone();
    fs::remove_dir_all(home.join("memory")).unwrap();
    symlink(&elsewhere, home.join("memory")).unwrap();
    assert!(scene.memory.get(&scene.main, &found, 50).is_err());
    fs::remove_dir_all(&index).unwrap();
    assert!(memory(scene.home()).search(&asked(&scene.main, "heron")).unwrap().results.is_empty());
    assert_eq!(fs::metadata(&index).unwrap().mode() & 0o777, 0o700);
}

#[test]
fn the_index_is_deleted_damaged_and_of_another_ledger_and_everything_is_found() {
    let scene = Scene::new();
    let mut world = scene.ledger.start();
    world.create("main");
    world.prompt("main", "remember the walrus");
    assert_eq!(scene.kinds("walrus"), ["message"]);
    let path = filler::path(scene.home());
    Index::remove(&path).unwrap();
    assert_eq!(scene.kinds("walrus"), ["message"], "deleted while it was open");
    fs::remove_file(path.with_extension("sqlite3-wal")).ok();
    fs::write(&path, vec![7; 40_000]).unwrap();
    assert_eq!(scene.kinds("walrus"), ["message"], "written over while it was open");
    let cursor = scene.found("walrus").index.indexed_through;
    let mut open = OpenIndex::of(scene.home()).unwrap().0;
    open.index.fill(&open.key).unwrap().commit_through(cursor, 1).unwrap();
    drop(open);
    let anew = Scene { memory: memory(scene.home()), ..scene };
    assert_eq!(anew.kinds("walrus"), ["message"]);
    assert!(
        path.with_extension("sqlite3.aside-1").exists()
            || path.with_file_name("memory.sqlite3.aside-2").exists()
    );
}

/// CX15: it would have a standing that it does not have.
#[test]
fn what_others_wrote_is_not_remembered() {
    let scene = Scene::new();
    let mut world = scene.ledger.start();
    world.create("main");
    let mut input = world.prompted("main", "an ibex");
    let Input::Ingress { ingress, .. } = &mut input else { panic!("{input:?}") };
    ingress.kind = MessageKind::WebhookEvent;
    ingress.origin = Origin::Webhook { source: "w".into(), event_type: None };
    world.run(input);
    let admitted = world.reader.last_of_all().unwrap();
    assert!(scene.kinds("ibex").is_empty());
    world.prompt("main", "an ibex");
    assert!(world.reader.last_of_all().unwrap() > admitted);
    let found = scene.found("ibex").results;
    assert_eq!(found.iter().map(|hit| hit.source.standing.as_str()).collect::<Vec<_>>(), ["operator"]);
}

#[test]
fn a_follower_reads_what_becomes_durable_by_itself() {
    let scene = Scene::new();
    let mut world = scene.ledger.start();
    world.create("main");
    let follower = scene.memory.follow().unwrap();
    world.prompt("main", "an egret");
    scene.memory.notify();
    let last = world.reader.last_of_all().unwrap();
    let until = after(Duration::from_secs(20));
    let through = || scene.memory.with(&scene.memory.inner.searcher, |open| open.progress()).unwrap();
    while through().through < last && clock::now().mono < until {
        thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(through().through, last);
    drop(follower);
}

/// Whatever happened to the index in between, it ends as one that is filled at once.
#[test]
fn any_interleaving_of_appends_slices_crashes_and_deletions_ends_in_the_same_index() {
    for seed in 1..=6_u64 {
        let scene = Scene::new();
        let mut world = scene.ledger.start();
        world.create("main");
        let mut memory = memory(scene.home());
        let mut draws = seed;
        let mut draw = |below: u64| {
            draws = draws.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (draws >> 33) % below
        };
        for number in 0..40 {
            let words = ["otter", "heron", "pond", "river", "水獭"];
            match draw(8) {
                0..=2 => world.prompt(
                    "main",
                    &format!("{} and {} number {number}", words[draw(5) as usize], words[draw(5) as usize]),
                ),
                3 | 4 => {
                    memory.with(&memory.inner.filler, |open| open.fill(Duration::ZERO)).map(drop).unwrap();
                }
                5 => Index::remove(&filler::path(scene.home())).unwrap(),
                6 => memory = self::memory(scene.home()),
                _ => fs::write(
                    scene.home().agent(&scene.main).join("memory/self.md"),
                    format!("an otter {}", draw(3)),
                )
                .unwrap_or_default(),
            }
        }
        let found = |memory: &Memory| -> Vec<Vec<(String, String)>> {
            let queries = ["otter", "heron pond", "river", "水獭", "number"];
            let search = |query: &&str| {
                let asked = Asked { limit: 50, ..asked(&scene.main, query) };
                let found = memory.search(&asked).unwrap();
                assert_eq!(found.index.state, "ready");
                let mut shown: Vec<_> = found
                    .results
                    .into_iter()
                    .map(|hit| (hit.source.source_ref, format!("{} {:.1}", hit.snippet, hit.score)))
                    .collect();
                shown.sort();
                shown
            };
            queries.iter().map(search).collect()
        };
        let grown = found(&memory);
        Index::remove(&filler::path(scene.home())).unwrap();
        assert_eq!(grown, found(&self::memory(scene.home())), "seed {seed}");
    }
}
