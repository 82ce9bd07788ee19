//! A home whose ledger is in a PostgreSQL database (`store.url`): everything that holds for a file holds for it, whatever
//! happens to runtime and connections.

use std::net::TcpListener;
use std::time::Duration;

use end_to_end::daemon::Daemon;
use end_to_end::durable::{
    Acknowledged, acknowledged_under, every_key_once, nothing_is_open, wait_until_quiet,
};
use end_to_end::http::{ask, post_until_acknowledged};
use end_to_end::https::certificates;
use end_to_end::life::Life;
use end_to_end::provider::{Provider, Reply, command, says};
use end_to_end::{Holon, wait_for};
use holon_ledger::postgres::local::LocalServer;
use holon_ledger::postgres::testing::{Database, NOT_TRIED};
use serde_json::{Value, json};

const PROMPT: &str = "/control/agents/main/prompt";

/// A daemon over a database of its own, unless this machine has none.
fn daemon(provider: &Provider) -> Option<(Database, Daemon)> {
    let database = Database::new()?;
    let daemon = Daemon::asking(Holon::new().with("HOLON_STORE_URL", &database.url), provider);
    Some((database, daemon))
}

/// Another home, with the same address or another.
fn beside(url: &str) -> Holon {
    let holon = Holon::new().with("HOLON_STORE_URL", url).with("HOLON_HTTP_ADDR", "127.0.0.1:0");
    holon.with("HOLON_MODEL", "scripted/hello")
}

/// A model that runs a command now and then.
fn replies() -> impl Iterator<Item = Reply> {
    (0..10_000).map(|number| match number % 5 {
        0 => {
            let (name, mut arguments) = command("echo done");
            arguments["login"] = json!(false);
            end_to_end::provider::calls(&[(name, arguments)])
        }
        _ => says("Done."),
    })
}

fn records(daemon: &Daemon) -> Vec<Value> {
    let exported = daemon.ok(&["ledger", "export"]).stdout;
    exported.lines().map(|line| serde_json::from_str(line).expect("a record")).collect()
}

fn in_order(daemon: &Daemon) {
    daemon.ok(&["ledger", "verify"]);
    daemon.ok(&["ledger", "replay"]);
}

/// Does something to a runtime while a client prompts it; gives what was acknowledged.
fn under_prompts(daemon: &Daemon, harm: impl FnOnce()) -> Acknowledged {
    acknowledged_under(harm, 10, |number| {
        let key = format!("main.{number}");
        let body = json!({ "text": format!("message {number}") });
        let answer = post_until_acknowledged(&daemon.run_file("holon.sock"), PROMPT, &key, &body);
        let id = answer["message_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
        (("main".to_owned(), key), id)
    })
}

fn settled(daemon: &Daemon, acknowledged: &Acknowledged) {
    wait_until_quiet(daemon, &["main"]);
    let records = records(daemon);
    every_key_once(&records, acknowledged);
    nothing_is_open(&records);
    daemon.ok(&["daemon", "stop"]);
    in_order(daemon);
}

#[test]
fn a_home_in_a_database_is_used_as_one_in_a_file() {
    let provider = Provider::start(replies());
    let Some((database, daemon)) = daemon(&provider) else {
        println!("{NOT_TRIED}");
        return;
    };
    daemon.start();
    let prompted = daemon.ok(&["prompt", "--wait", "hello"]);
    assert!(prompted.stdout.contains("Done."), "{prompted:?}");
    assert!(daemon.ok(&["status"]).stdout.contains("main"));
    in_order(&daemon);
    assert!(!daemon.ledger().exists(), "nothing is in a file");
    let shown = daemon.ok(&["config", "get", "store.url"]).stdout;
    assert!(shown.contains("postgres://") && !shown.contains("user="), "{shown}");

    let other = beside(&database.url);
    let refused = other.run(&["daemon", "start"]);
    assert_ne!(refused.code, Some(0), "{refused:?}");
    assert!(refused.stderr.contains("another runtime has the ledger in"), "{refused:?}");

    daemon.ok(&["daemon", "stop"]);
    let stopped = daemon.ok(&["agent", "list"]);
    assert!(stopped.stdout.contains("main"), "a stopped home is read: {stopped:?}");
    daemon.start();
    daemon.ok(&["prompt", "--wait", "hello again"]);
    daemon.ok(&["daemon", "stop"]);
    in_order(&daemon);
}

#[test]
fn a_home_in_a_database_gives_up_what_is_old() {
    let provider = Provider::start(replies());
    let Some((_database, daemon)) = daemon(&provider) else {
        println!("{NOT_TRIED}");
        return;
    };
    for number in 0..3 {
        daemon.start();
        daemon.ok(&["prompt", "--wait", &format!("hello {number}")]);
        if number == 0 {
            daemon.0.run(&["ledger", "gc", "--keep", "0"]).refused(4, &["daemon stop"]);
        }
        daemon.ok(&["daemon", "stop"]);
    }
    let exported = daemon.ok(&["ledger", "export"]).stdout;
    let gc = |words: &[&str]| daemon.ok(&[&["ledger", "gc", "--keep", "0", "--json"], words].concat()).json();
    let would = gc(&["--dry-run"]);
    assert!(would["ledger"]["calls"].as_u64().is_some_and(|calls| calls > 5), "{would}");
    assert_eq!(gc(&[])["ledger"], would["ledger"]);
    assert_eq!(gc(&[])["ledger"]["calls"], 0, "nothing is left to remove");
    in_order(&daemon);
    assert_eq!(daemon.ok(&["ledger", "export"]).stdout, exported);
    daemon.start();
    daemon.ok(&["prompt", "--wait", "go on"]);
    daemon.ok(&["daemon", "stop"]);
    in_order(&daemon);
}

#[test]
fn a_home_in_a_database_is_backed_up_while_it_works_and_restored_into_a_file() {
    let provider = Provider::start(replies());
    let Some((_database, daemon)) = daemon(&provider) else {
        println!("{NOT_TRIED}");
        return;
    };
    daemon.start();
    daemon.ok(&["prompt", "--wait", "before the backup"]);
    let file = daemon.0.folder().join("backup");
    let file = file.to_str().expect("a path that is text");
    let made = daemon.ok(&["ledger", "backup", file, "--verify", "--json"]).json();
    assert_eq!(made["left_out"]["count"], 0, "{made}");
    assert!(made["verified"]["records"].as_u64().is_some_and(|records| records > 10), "{made}");
    daemon.ok(&["prompt", "--wait", "after the backup"]);
    let exported = daemon.ok(&["ledger", "export"]).stdout;

    let other = Holon::new().with("HOLON_HTTP_ADDR", "127.0.0.1:0").with("HOLON_MODEL", "scripted/hello");
    assert_eq!(other.run(&["ledger", "restore", file]).code, Some(0));
    let restored = other.run(&["ledger", "export"]).stdout;
    assert!(restored.contains("before the backup") && !restored.contains("after the backup"));
    assert!(exported.starts_with(&restored), "the same records");
    assert!(!daemon.ledger().exists(), "nothing of the copy is left in the home");
    daemon.ok(&["daemon", "stop"]);
    for words in [
        ["daemon", "start", "--accept-restored"].as_slice(),
        &["prompt", "--wait", "in a file"],
        &["daemon", "stop"],
        &["ledger", "verify"],
        &["ledger", "replay"],
    ] {
        let ended = other.run(words);
        assert_eq!(ended.code, Some(0), "{words:?}: {ended:?}");
    }
}

#[test]
fn a_runtime_that_is_killed_goes_on_where_its_database_is() {
    let provider = Provider::start(replies());
    let Some((_database, daemon)) = daemon(&provider) else {
        println!("{NOT_TRIED}");
        return;
    };
    daemon.start();
    daemon.ok(&["daemon", "stop"]);
    let acknowledged = under_prompts(&daemon, || {
        for kill in 0..12_u64 {
            let mut life = Life::begin(&daemon, &[]);
            assert_eq!(life.ready(&daemon), None, "it starts after kill {kill}");
            std::thread::sleep(Duration::from_millis(20 + kill * 37 % 200));
            life.kill();
        }
        daemon.start();
    });
    settled(&daemon, &acknowledged);
}

#[test]
fn connections_that_are_cut_lose_and_double_nothing() {
    let provider = Provider::start(replies());
    let Some((database, daemon)) = daemon(&provider) else {
        println!("{NOT_TRIED}");
        return;
    };
    daemon.start();
    let acknowledged = under_prompts(&daemon, || {
        for cut in 0..40_u64 {
            std::thread::sleep(Duration::from_millis(10 + cut * 17 % 90));
            database.cut();
        }
    });
    settled(&daemon, &acknowledged);
}

#[test]
fn a_database_that_is_away_is_said_and_waited_for() {
    let provider = Provider::start(replies());
    let Some((database, daemon)) = daemon(&provider) else {
        println!("{NOT_TRIED}");
        return;
    };
    daemon.start();
    daemon.ok(&["prompt", "--wait", "hello"]);
    database.lets_in(false);
    let body = json!({ "text": "while it is away" });
    wait_for("a refusal", || {
        let answered = ask(&daemon.run_file("holon.sock"), "POST", PROMPT, &[], Some(&body));
        answered.is_ok_and(|answered| answered.body["code"] == "database_away")
    });
    let status = daemon.0.run(&["daemon", "status"]);
    assert!(status.stdout.contains("no answer"), "{status:?}");
    database.lets_in(true);
    wait_for("a prompt that is admitted", || daemon.0.run(&["prompt", "--wait", "again"]).code == Some(0));
    wait_until_quiet(&daemon, &["main"]);
    nothing_is_open(&records(&daemon));
    daemon.ok(&["daemon", "stop"]);
    in_order(&daemon);
}

#[test]
fn a_database_that_went_back_is_not_written() {
    let provider = Provider::start(replies());
    let Some((database, daemon)) = daemon(&provider) else {
        println!("{NOT_TRIED}");
        return;
    };
    daemon.start();
    daemon.ok(&["prompt", "--wait", "hello"]);
    daemon.ok(&["daemon", "stop"]);
    database.vandal(
        "CREATE TABLE kept AS SELECT * FROM cells; CREATE TABLE kept_batches AS SELECT * FROM batches",
    );
    daemon.start();
    daemon.ok(&["prompt", "--wait", "hello again"]);
    daemon.ok(&["daemon", "stop"]);
    // As after a restore of a backup that is older.
    database.vandal(
        "UPDATE cells c SET batch = k.batch, through_step = k.through_step, link = k.link FROM kept k;
        DELETE FROM batches b WHERE NOT EXISTS (SELECT 1 FROM kept_batches k WHERE k.batch = b.batch);
        DELETE FROM records r WHERE NOT EXISTS (SELECT 1 FROM kept_batches k WHERE k.batch = r.batch);
        DELETE FROM recorder r WHERE NOT EXISTS (SELECT 1 FROM kept_batches k WHERE k.batch = r.batch);
        DELETE FROM content c WHERE position > (SELECT max(through_content) FROM kept_batches)",
    );
    let refused = daemon.0.run(&["daemon", "start"]);
    assert!(refused.stderr.contains("database.head"), "{refused:?}");
    assert!(refused.stderr.contains("has lost something that was acknowledged"), "{refused:?}");
    let verified = daemon.0.run(&["ledger", "verify"]);
    assert!(verified.stderr.contains("has lost something that was acknowledged"), "{verified:?}");
}

/// The file and the database each know what they have acknowledged.
#[test]
fn a_ledger_in_a_file_stays_where_it_is() {
    let provider = Provider::start(replies());
    let Some((_database, daemon)) = daemon(&provider) else {
        println!("{NOT_TRIED}");
        return;
    };
    let in_file = |arguments: &[&str]| {
        let mut command = daemon.0.command(arguments);
        let ended = command.env_remove("HOLON_STORE_URL").output().expect("the binary starts");
        assert!(ended.status.success(), "{arguments:?}: {ended:?}");
    };
    in_file(&["daemon", "start"]);
    in_file(&["prompt", "--wait", "hello"]);
    in_file(&["daemon", "stop"]);
    daemon.start();
    daemon.ok(&["prompt", "--wait", "hello"]);
    daemon.ok(&["daemon", "stop"]);
    in_order(&daemon);
    in_file(&["ledger", "verify"]);
    in_file(&["daemon", "start"]);
    in_file(&["daemon", "stop"]);
}

#[test]
fn a_connection_is_encrypted_and_the_certificate_is_checked() {
    let provider = Provider::start(replies());
    let place = Holon::new();
    let folder = place.home().join("database");
    std::fs::create_dir_all(&folder).expect("a folder");
    let Some(server) = LocalServer::find(&folder) else {
        println!("{NOT_TRIED}");
        return;
    };
    server.make().expect("its files");
    let Some(authority) = certificates(&folder) else {
        println!("not tried: no openssl");
        return;
    };
    let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a port").port();
    let file = |name: &str| format!("{}/{name}", folder.display());
    let (certificate, key) = (file("server.crt"), file("server.key"));
    let options = format!(
        "-c listen_addresses=127.0.0.1 -c port={port} -c ssl=on -c ssl_cert_file={certificate} -c ssl_key_file={key}"
    );
    server.start(&[&options]).expect("a server");
    let url = format!("postgres://holon@localhost:{port}/postgres?sslmode=require");
    let daemon = Daemon::asking(Holon::new().with("HOLON_STORE_URL", &url), &provider);
    let refused = daemon.0.run(&["daemon", "start"]);
    assert!(refused.code != Some(0) && refused.stderr.contains("certificate"), "{refused:?}");
    let trusting =
        Holon::new().with("HOLON_STORE_URL", &url).with("SSL_CERT_FILE", &authority.display().to_string());
    let daemon = Daemon::asking(trusting, &provider);
    daemon.start();
    daemon.ok(&["prompt", "--wait", "hello"]);
    daemon.ok(&["daemon", "stop"]);
    in_order(&daemon);
    server.stop().expect("it ends");
}

#[test]
fn an_address_that_names_no_database_is_refused() {
    let refused = |url: &str| beside(url).run(&["daemon", "start"]);
    let nonsense = refused("sqlite:///x");
    assert!(nonsense.stderr.contains("store.url"), "{nonsense:?}");
    let nobody = refused("postgres://me:canary@127.0.0.1:9/db");
    assert!(
        nobody.stderr.contains("postgres://127.0.0.1:9/db") || nobody.stderr.contains("gave no answer"),
        "{nobody:?}"
    );
    assert!(!format!("{nobody:?}").contains("canary"), "{nobody:?}");
}
