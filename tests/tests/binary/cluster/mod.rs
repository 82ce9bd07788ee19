//! Nodes that share a ledger in a real PostgreSQL: whatever happens to them, each acknowledged message is there once, nothing
//! stays open, and nothing runs on a node that others have given up.

mod counts;
mod deposits;
mod https;
mod pair;
mod troubles;

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use end_to_end::daemon::Daemon;
use end_to_end::durable::wait_until_quiet;
use end_to_end::http::ask;
use end_to_end::provider::{Provider, Reply, command, says};
use end_to_end::{Holon, wait_for};
use holon_ledger::postgres::local::LocalServer;
use holon_ledger::postgres::testing::{Database, NOT_TRIED};
use serde_json::{Value, json};

use self::pair::{LEASE_MS, PROMPT, Pair};

/// A model that runs a command now and then.
fn replies() -> impl Iterator<Item = Reply> {
    (0..10_000).map(|number| match number % 5 {
        0 => end_to_end::provider::calls(&[plain("echo done")]),
        _ => says("Done."),
    })
}

fn plain(cmd: &str) -> (&'static str, Value) {
    let (name, mut arguments) = command(cmd);
    arguments["login"] = json!(false);
    (name, arguments)
}

#[test]
fn nodes_share_a_ledger_and_pass_requests_on() {
    let provider = Provider::start(replies());
    let Some(pair) = Pair::new(&provider) else { return not_tried() };
    pair.start();
    let (first, id) = pair.owner();
    let second = 1 - first;
    for node in &pair.nodes {
        let prompted = node.ok(&["prompt", "--wait", "hello"]);
        assert!(prompted.stdout.contains("Done."), "{prompted:?}");
    }
    let lists = [first, second].map(|at| pair.nodes[at].ok(&["agent", "list", "--json"]).json());
    assert_eq!(lists[0]["agents"], lists[1]["agents"]);
    let ready = pair.nodes[second].ok(&["daemon", "status", "--json"]).json();
    assert_eq!(ready["ok"], true, "{ready}");

    // A stranger is let in by no node.
    let url = format!(
        "http://{}",
        pair.nodes[second].metadata().expect("ready")["http_addr"].as_str().expect("an address")
    );
    let wrong = std::process::Command::new("curl")
        .args(["-s", "-H", "Authorization: Bearer wrong-token-wrong", &format!("{url}/agents/list")])
        .output();
    if let Ok(wrong) = wrong {
        assert!(String::from_utf8_lossy(&wrong.stdout).contains("wrong_token"), "{wrong:?}");
    }

    // An orderly end hands over at once.
    let begun = Instant::now();
    pair.nodes[first].ok(&["daemon", "stop"]);
    pair.nodes[second].ok(&["prompt", "--wait", "go on"]);
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let (owner, other) = pair.owner();
    assert_eq!(owner, second);
    assert_ne!(other, id);
    pair.nodes[first].start();
    pair.whole();
}

/// A cell gives up what is old while nobody owns it.
#[test]
fn what_is_old_goes_when_no_node_is_left() {
    let provider = Provider::start(replies());
    let Some(pair) = Pair::new(&provider) else { return not_tried() };
    for _ in 0..2 {
        pair.start();
        pair.nodes[0].ok(&["prompt", "--wait", "hello"]);
        pair.nodes[1].ok(&["daemon", "stop"]);
        let gc = ["ledger", "gc", "--keep", "0"];
        pair.nodes[1].0.run(&gc).refused(4, &["owns cell 1", "stop the nodes"]);
        pair.nodes[0].ok(&["daemon", "stop"]);
    }
    let removed = pair.nodes[1].ok(&["ledger", "gc", "--keep", "0", "--json"]).json();
    assert!(removed["ledger"]["calls"].as_u64().is_some_and(|calls| calls > 5), "{removed}");
    pair.start();
    pair.nodes[1].ok(&["prompt", "--wait", "go on"]);
    pair.whole();
}

#[test]
fn killed_nodes_lose_and_double_nothing() {
    let provider = Provider::start(replies());
    let Some(pair) = Pair::new(&provider) else { return not_tried() };
    pair.start();
    let acknowledged = pair.under_prompts(|| {
        for kill in 0..rounds(3) {
            std::thread::sleep(Duration::from_millis(50 + kill * 37 % 300));
            let (owner, _) = pair.owner();
            pair.nodes[owner].kill();
            wait_for("another owner", || pair.owner().0 != owner);
            pair.nodes[owner].start();
        }
    });
    pair.settled(&acknowledged);
}

#[test]
fn a_node_that_stood_still_performs_nothing_for_others() {
    let provider = Provider::start(replies());
    let Some(pair) = Pair::new(&provider) else { return not_tried() };
    pair.start();
    let acknowledged = pair.under_prompts(|| {
        for pause in 0..rounds(2) {
            std::thread::sleep(Duration::from_millis(100 + pause * 41 % 300));
            let (owner, id) = pair.owner();
            pair.nodes[owner].signal("STOP");
            wait_for("another owner", || pair.owner().0 != owner);
            pair.nodes[owner].signal("CONT");
            wait_for("another node of the same process", || {
                let nodes = pair.status()["nodes"].as_array().cloned().unwrap_or_default();
                nodes.len() == 2 && nodes.iter().all(|node| node["node"].as_u64() != Some(id))
            });
        }
    });
    pair.settled(&acknowledged);
}

/// Nothing closes the connection to a node that stands still.
#[test]
fn what_waits_at_a_node_that_stands_still_is_answered_by_the_next_owner() {
    let provider = Provider::start(replies());
    let Some(pair) = Pair::new(&provider) else { return not_tried() };
    pair.start();
    let (owner, _) = pair.owner();
    let other = &pair.nodes[1 - owner];
    other.ok(&["prompt", "--wait", "hello"]);
    pair.nodes[owner].signal("STOP");
    let socket = other.run_file("holon.sock");
    let asked = |method, path, headers: &[(&str, &str)], body: Option<Value>| {
        ask(&socket, method, path, headers, body.as_ref()).expect("an answer")
    };
    let asked = &asked;
    std::thread::scope(|scope| {
        let read = scope.spawn(|| asked("GET", "/agents/main/state", &[], None));
        let key = [("idempotency-key", "of mine")];
        let prompt = scope.spawn(move || asked("POST", PROMPT, &key, Some(json!({ "text": "with a key" }))));
        let unknown = scope.spawn(|| asked("POST", PROMPT, &[], Some(json!({ "text": "without" }))));
        assert_eq!(read.join().expect("ended").status, 200);
        let prompted = prompt.join().expect("ended");
        assert!(prompted.status < 300, "{prompted:?}");
        let unknown = unknown.join().expect("ended");
        assert!(unknown.status == 503 && unknown.body.to_string().contains("is not known"), "{unknown:?}");
    });
    pair.nodes[owner].signal("CONT");
    let acknowledged = pair.acknowledged("of mine", &json!({ "text": "with a key" }));
    assert!(acknowledged["message_id"].is_string(), "{acknowledged}");
    wait_until_quiet(other, &["main"]);
    pair.whole();
}

#[expect(clippy::print_stdout, reason = "whoever runs the tests sees why one did nothing")]
fn not_tried() {
    println!("{NOT_TRIED}");
}

/// A command of a node goes on until others may have settled it, and no longer.
fn a_command_ends_when_its_node_gets(harm: &str) {
    let place = Holon::new();
    let beat = place.home().join("beat");
    std::fs::create_dir_all(place.home()).expect("a folder");
    let beats = format!("while true; do echo x >> {}; sleep 0.05; done", beat.display());
    let first = end_to_end::provider::calls(&[plain(&beats)]);
    let provider = Provider::start(std::iter::once(first).chain((0..100).map(|_| says("Done."))));
    let Some(pair) = Pair::new(&provider) else { return not_tried() };
    pair.start();
    let (owner, _) = pair.owner();
    pair.nodes[owner].ok(&["prompt", "go"]);
    wait_for("a command that runs", || size(&beat) > 4);
    let other = &pair.nodes[1 - owner];
    if harm == MOVE {
        pair.move_cell();
        wait_for("another owner", || pair.owner().0 != owner);
    } else {
        pair.nodes[owner].signal(harm);
        wait_for("another owner", || pair.owner().0 != owner);
        wait_until_quiet(other, &["main"]);
    }
    let ended = size(&beat);
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(size(&beat), ended, "it runs on after a new owner has settled it");
    if harm == "STOP" {
        pair.nodes[owner].signal("CONT");
    }
    wait_until_quiet(other, &["main"]);
    other.ok(&["daemon", "stop"]);
    other.ok(&["ledger", "verify"]);
}

/// No signal: an operator moves what the node owns.
const MOVE: &str = "MOVE";

/// The next owner writes it off, so it has ended before there is one.
#[test]
fn a_command_ends_before_its_cell_is_moved() {
    a_command_ends_when_its_node_gets(MOVE);
}

#[test]
fn a_command_ends_with_the_lease_of_a_node_that_was_killed() {
    a_command_ends_when_its_node_gets("KILL");
}

#[test]
fn a_command_ends_with_the_lease_of_a_node_that_stands_still() {
    a_command_ends_when_its_node_gets("STOP");
}

fn size(path: &std::path::Path) -> u64 {
    std::fs::metadata(path).map_or(0, |file| file.len())
}

#[test]
fn cells_are_moved_and_nodes_drained_under_prompts() {
    let provider = Provider::start(replies());
    let Some(pair) = Pair::new(&provider) else { return not_tried() };
    pair.start();
    let acknowledged = pair.under_prompts(|| {
        for _ in 0..rounds(3) {
            let (owner, _) = pair.owner();
            pair.move_cell();
            wait_for("another owner", || pair.owner().0 != owner);
        }
        let (_, id) = pair.owner();
        pair.nodes[0].ok(&["cluster", "drain", &id.to_string()]);
        wait_for("another owner", || pair.owner().1 != id);
    });
    pair.settled(&acknowledged);
}

#[test]
fn a_database_that_is_away_is_waited_for() {
    let provider = Provider::start(replies());
    let Some(pair) = Pair::new(&provider) else { return not_tried() };
    pair.start();
    let (_, before) = pair.owner();
    let acknowledged = pair.under_prompts(|| {
        std::thread::sleep(Duration::from_millis(300));
        pair.database.lets_in(false);
        // Longer than any lease.
        std::thread::sleep(Duration::from_millis(3 * LEASE_MS));
        pair.database.lets_in(true);
        wait_for("another epoch", || {
            let status = pair.status();
            status["cells"][0]["node"].as_u64().is_some_and(|node| node != before)
        });
        std::thread::sleep(Duration::from_millis(500));
    });
    pair.settled(&acknowledged);
}

/// Between nodes and their database: passes on what comes, but for answers while it is mute.
struct Proxy {
    port: u16,
    mute: Arc<AtomicBool>,
    cut: Arc<AtomicUsize>,
}

impl Proxy {
    fn start(socket: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (mute, cut) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let (muted, cuts) = (mute.clone(), cut.clone());
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = UnixStream::connect(&socket) else { continue };
                let (muted, cuts) = (muted.clone(), cuts.clone());
                std::thread::spawn(move || pass(client, server, &muted, &cuts));
            }
        });
        Self { port, mute, cut }
    }

    /// What is under way is carried out, and nobody hears of it.
    fn lose_answers(&self) {
        self.mute.store(true, Ordering::Release);
        std::thread::sleep(Duration::from_millis(60));
        self.cut.fetch_add(1, Ordering::AcqRel);
        std::thread::sleep(Duration::from_millis(40));
        self.mute.store(false, Ordering::Release);
    }
}

fn pass(mut client: TcpStream, mut server: UnixStream, mute: &AtomicBool, cuts: &AtomicUsize) {
    let begun = cuts.load(Ordering::Acquire);
    let pause = Some(Duration::from_millis(5));
    client.set_read_timeout(pause).and_then(|()| server.set_read_timeout(pause)).expect("timeouts");
    client.set_nodelay(true).expect("a socket");
    let mut buffer = [0; 64 << 10];
    // One direction after the other: a statement and its answer alternate anyway.
    while cuts.load(Ordering::Acquire) == begun {
        for from_client in [true, false] {
            let read = if from_client { client.read(&mut buffer) } else { server.read(&mut buffer) };
            match read {
                Ok(0) => return,
                Ok(count) if from_client => drop(server.write_all(&buffer[..count])),
                Ok(_) if mute.load(Ordering::Acquire) => {}
                Ok(count) => drop(client.write_all(&buffer[..count])),
                Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
                Err(_) => return,
            }
        }
    }
}

#[test]
fn answers_that_are_lost_lose_and_double_nothing() {
    let provider = Provider::start(replies());
    let Some(database) = Database::new() else { return not_tried() };
    // Its address names the folder of a socket.
    let Some(folder) = database.url.split("host=").nth(1).and_then(|rest| rest.split('&').next()) else {
        return;
    };
    let proxy = Proxy::start(PathBuf::from(folder).join(".s.PGSQL.5432"));
    let url = database.url.replace(&format!("host={folder}&"), "");
    let url = url.replace("postgres:///", &format!("postgres://127.0.0.1:{}/", proxy.port));
    let pair = Pair::at(&provider, database, &url);
    pair.start();
    let acknowledged = pair.under_prompts(|| {
        for cut in 0..rounds(6) {
            std::thread::sleep(Duration::from_millis(100 + cut * 53 % 200));
            proxy.lose_answers();
        }
    });
    pair.settled(&acknowledged);
}

#[test]
fn a_server_that_crashes_loses_nothing_that_was_acknowledged() {
    let provider = Provider::start(replies());
    let place = Holon::new();
    std::fs::create_dir_all(place.home()).expect("a folder");
    let Some(server) = LocalServer::find(&place.home().join("database")) else { return not_tried() };
    server.make().and_then(|()| server.start(&[])).expect("a server");
    let Some(database) = Database::new() else { return };
    let pair = Pair::at(&provider, database, &server.url());
    pair.start();
    let acknowledged = pair.under_prompts(|| {
        for crash in 0..rounds(2) {
            std::thread::sleep(Duration::from_millis(200 + crash * 71 % 300));
            server.stop().expect("it ends");
            server.start(&[]).expect("it starts again");
        }
    });
    pair.settled(&acknowledged);
    server.stop().expect("it ends");
}

/// What a backup has.
const KEEPS: &str =
    "CREATE TABLE kept AS SELECT * FROM cells; CREATE TABLE kept_batches AS SELECT * FROM batches;
    CREATE TABLE kept_agents AS SELECT * FROM agents";

/// As after a restore of it.
const GOES_BACK: &str = "
    UPDATE cells c SET batch = k.batch, through_step = k.through_step, link = k.link FROM kept k;
    DELETE FROM batches b WHERE NOT EXISTS (SELECT 1 FROM kept_batches k WHERE k.batch = b.batch);
    DELETE FROM records r WHERE NOT EXISTS (SELECT 1 FROM kept_batches k WHERE k.batch = r.batch);
    DELETE FROM recorder r WHERE NOT EXISTS (SELECT 1 FROM kept_batches k WHERE k.batch = r.batch);
    DELETE FROM content c WHERE position > (SELECT max(through_content) FROM kept_batches);
    DELETE FROM snapshots;
    DELETE FROM agents; INSERT INTO agents SELECT * FROM kept_agents";

/// Each node remembers more than the database has.
#[test]
fn a_loss_is_accepted_once_for_all_nodes() {
    let provider = Provider::start(replies());
    let Some(pair) = Pair::with_one(&provider) else { return not_tried() };
    let [first, second] = &pair.nodes;
    pair.database.vandal(KEEPS);
    first.ok(&["prompt", "--wait", "hello again"]);
    second.start();
    let moves_to = |owner: usize| {
        wait_for("both nodes", || pair.status()["nodes"].as_array().is_some_and(|nodes| nodes.len() == 2));
        pair.move_cell();
        wait_for("the other owner", || pair.owner().0 == owner);
    };
    moves_to(1);
    second.ok(&["prompt", "--wait", "hello there"]);
    for node in [first, second] {
        node.ok(&["daemon", "stop"]);
    }
    pair.database.vandal(GOES_BACK);
    second.start();
    let problem = || pair.status()["cells"][0]["problem"].as_str().unwrap_or_default().to_owned();
    wait_for("a problem", || problem().contains("has lost something that was acknowledged"));
    first.ok(&["cluster", "accept", "1"]);
    wait_for("a prompt that is answered", || second.0.run(&["prompt", "--wait", "go on"]).code == Some(0));
    first.start();
    moves_to(0);
    first.ok(&["prompt", "--wait", "go on here"]);
    assert_eq!(problem(), "");
    pair.whole();
}

#[test]
fn a_cell_that_is_wanted_on_a_node_that_takes_none_stays() {
    let provider = Provider::start(replies());
    let Some(pair) = Pair::new(&provider) else { return not_tried() };
    pair.start();
    let (owner, id) = pair.owner();
    wait_for("both nodes", || pair.status()["nodes"].as_array().is_some_and(|nodes| nodes.len() == 2));
    let nodes = pair.status()["nodes"].as_array().cloned().expect("nodes");
    let other = nodes.iter().filter_map(|node| node["node"].as_u64()).find(|node| *node != id);
    let other = other.expect("another node");
    let epoch = || pair.status()["cells"][0]["epoch"].clone();
    let before = epoch();
    pair.nodes[0].ok(&["cluster", "drain", &other.to_string()]);
    // Whoever moved it there had looked before the node was drained.
    pair.database.vandal(&format!("UPDATE cells SET wanted_on = {other}"));
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(epoch(), before, "it was handed over");
    pair.nodes[owner].ok(&["prompt", "--wait", "hello"]);
    pair.whole();
}

#[test]
fn a_database_that_went_back_performs_nothing_until_an_operator_accepts_it() {
    let provider = Provider::start(replies());
    let Some(pair) = Pair::with_one(&provider) else { return not_tried() };
    let node = &pair.nodes[0];
    pair.database.vandal(KEEPS);
    node.ok(&["prompt", "--wait", "hello again"]);
    node.ok(&["daemon", "stop"]);
    pair.database.vandal(GOES_BACK);
    node.start();
    let problem = || pair.status()["cells"][0]["problem"].as_str().unwrap_or_default().to_owned();
    wait_for("a problem", || problem().contains("has lost something that was acknowledged"));
    let refused = node.0.run(&["prompt", "hello"]);
    assert_ne!(refused.code, Some(0), "{refused:?}");
    node.ok(&["cluster", "accept", "1"]);
    wait_for("a prompt that is answered", || node.0.run(&["prompt", "--wait", "go on"]).code == Some(0));
    assert_eq!(problem(), "");
    node.ok(&["daemon", "stop"]);
    node.ok(&["ledger", "verify"]);
}

#[test]
fn a_home_goes_into_a_database_and_back() {
    let provider = Provider::start(replies());
    let Some(database) = Database::new() else { return not_tried() };
    let home = Daemon::new(&provider);
    home.start();
    for number in 0..6 {
        home.ok(&["prompt", "--wait", &format!("message {number}")]);
    }
    let from = home.0.home().display().to_string();
    let agents = home.0.home().join("agents").display().to_string();
    let node = Holon::new().with("HOLON_STORE_URL", &database.url).with("HOLON_STORE_AGENTS", &agents);
    let node = Daemon::asking(node, &provider);
    node.0.run(&["cluster", "import", &from]).refused(4, &["daemon stop"]);
    home.ok(&["daemon", "stop"]);
    node.ok(&["cluster", "init"]);
    let imported = node.ok(&["cluster", "import", &from]);
    assert!(imported.stdout.contains("in order"), "{imported:?}");
    node.0.run(&["cluster", "import", &from]).refused(4, &["has a ledger already"]);
    node.ok(&["ledger", "replay"]);
    assert_eq!(node.ok(&["ledger", "export"]).stdout, home.ok(&["ledger", "export"]).stdout);

    node.start();
    wait_for("a prompt that is answered", || node.0.run(&["prompt", "--wait", "go on"]).code == Some(0));
    let (back, exported) = (Daemon::new(&provider), node.ok(&["ledger", "export"]).stdout.lines().count());
    let to = back.0.home().display().to_string();
    let written = node.ok(&["cluster", "export", "1", &to]);
    assert!(written.stdout.contains("in order"), "{written:?}");
    node.0.run(&["cluster", "export", "1", &to]).refused(4, &["is there already"]);
    node.ok(&["daemon", "stop"]);
    back.ok(&["ledger", "replay"]);
    assert!(back.ok(&["ledger", "export"]).stdout.lines().count() >= exported);
    back.start();
    back.ok(&["prompt", "--wait", "at home again"]);
    back.ok(&["daemon", "stop"]);
    back.ok(&["ledger", "verify"]);
    back.ok(&["ledger", "replay"]);
}

#[test]
fn what_can_not_be_is_refused_in_words() {
    let provider = Provider::start(replies());
    let in_file = Daemon::new(&provider);
    in_file.0.run(&["cluster", "status"]).refused(2, &["is in a file", "store.url"]);
    let Some(pair) = Pair::new(&provider) else { return not_tried() };
    let node = &pair.nodes[0].0;
    node.run(&["cluster", "init"]).refused(4, &["has a cluster already", "cluster status"]);
    node.run(&["cluster", "init", "--lease-ms", "10"]).refused(2, &["500..=60000"]);
    pair.start();
    let (owner, id) = pair.owner();
    node.run(&["cluster", "move", "1", "99"]).refused(3, &["no node 99"]);
    node.run(&["cluster", "move", "7", &id.to_string()]).refused(3, &["no cell 7"]);
    node.run(&["cluster", "drain", "99"]).refused(3, &["no node 99"]);
    node.run(&["cluster", "accept", "1"]).refused(4, &["no problem"]);
    pair.nodes[1 - owner].ok(&["daemon", "stop"]);
    pair.database.lets_in(false);
    let refused = pair.nodes[1 - owner].0.run(&["daemon", "start"]);
    assert_ne!(refused.code, Some(0), "{refused:?}");
    pair.database.lets_in(true);
    let Some(other) = Database::new() else { return };
    let alone = Daemon::asking(Holon::new().with("HOLON_STORE_URL", &other.url), &provider);
    alone.0.run(&["cluster", "status"]).refused(4, &["has no cluster", "cluster init"]);
    alone.start();
    alone.0.run(&["cluster", "init"]).refused(1, &["another runtime has the ledger"]);
    alone.ok(&["prompt", "--wait", "hello"]);
    alone.ok(&["daemon", "stop"]);
    // What a single runtime has written becomes the first cell.
    alone.ok(&["cluster", "init"]);
    alone.start();
    wait_for("an owner", || alone.0.run(&["prompt", "--wait", "again"]).code == Some(0));
    alone.ok(&["daemon", "stop"]);
    alone.ok(&["ledger", "verify"]);
}

/// How often something is done: a few times, unless a whole night is there.
fn rounds(few: u64) -> u64 {
    std::env::var_os("HOLON_ROUNDS").and_then(|named| named.to_str()?.parse().ok()).unwrap_or(few)
}
