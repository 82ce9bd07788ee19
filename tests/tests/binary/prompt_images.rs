//! Images that come with a prompt: over the command line and over HTTP, in every protocol, through a kill, and in words
//! where something is wrong with one.

use std::fs;
use std::process::Command;

use end_to_end::confined::text;
use end_to_end::daemon::Daemon;
use end_to_end::http::{Answered, ask};
use end_to_end::pictures::{base64, gif, png, shown};
use end_to_end::provider::{Provider, Reply, says};
use end_to_end::{Holon, payloads, wait_for};
use serde_json::{Value, json};

/// A model of each protocol.
const SEEING: [&str; 3] = ["openai/gpt-5.1", "openai-chat/gpt-4o", "anthropic/claude-sonnet-4-5"];

fn with(provider: &Provider, model: &str) -> Holon {
    Holon::new()
        .with("HOLON_MODEL", model)
        .with("OPENAI_BASE_URL", &provider.url)
        .with("ANTHROPIC_BASE_URL", provider.url.trim_end_matches("/v1"))
        .with("HOLON_LOCAL_BASE_URL", &provider.url)
        .with("OPENAI_API_KEY", "canary-4f1c77aa")
        .with("ANTHROPIC_API_KEY", "canary-4f1c77aa")
}

fn daemon(provider: &Provider, model: &str) -> Daemon {
    let daemon = Daemon(with(provider, model).with("HOLON_HTTP_ADDR", "127.0.0.1:0"));
    daemon.start();
    daemon.ok(&["agent", "create", "a", "--workspace-root", text(&daemon.0.work())]);
    daemon
}

fn put(holon: &Holon, name: &str, bytes: &[u8]) {
    fs::write(holon.work().join(name), bytes).expect("a file");
}

fn times(provider: &Provider, bytes: &[u8]) -> Vec<usize> {
    provider.requests().iter().map(|request| shown(request, bytes)).collect()
}

#[test]
fn a_run_shows_its_images_in_each_protocol() {
    for model in SEEING {
        let provider = Provider::start([says("Two."), says("Still two.")]);
        let holon = with(&provider, model);
        let (first, second) = (png(640, 480, &[7; 30_000]), gif(3, 4));
        put(&holon, "a.png", &first);
        put(&holon, "b.gif", &second);
        let ended = holon.run(&["run", "--json", "--image", "a.png", "--image=b.gif", "how many?"]);
        assert_eq!(ended.code, Some(0), "{model}: {ended:?}");
        assert_eq!((times(&provider, &first), times(&provider, &second)), (vec![1], vec![1]), "{model}");
        let ledger = ended.json()["ledger"].as_str().expect("a ledger").to_owned();
        holon.check_ledger(ledger.as_ref());
        let records = holon.records(ledger.as_ref());
        let images = &payloads(&records, "message_admitted")[0]["message"]["images"];
        assert_eq!((&images[0]["name"], &images[1]["format"]), (&json!("a.png"), &json!("gif")));
        // Another prompt of the same conversation shows them again, and once.
        let ended = holon.run(&["run", "--continue", "and now?"]);
        assert_eq!(ended.code, Some(0), "{model}: {ended:?}");
        assert_eq!(times(&provider, &first), [1, 1], "{model}");
    }
}

#[test]
fn a_prompt_with_an_image_survives_a_kill() {
    for model in SEEING {
        let provider = Provider::start([Reply::Hang, says("Done."), says("Done, too.")]);
        let daemon = daemon(&provider, model);
        let bytes = png(300, 200, &[9; 5_000]);
        put(&daemon.0, "a.png", &bytes);
        daemon.ok(&["prompt", "--agent", "a", "--image", "a.png", "look at it"]);
        wait_for("a request", || provider.requests().len() == 1);
        fs::remove_file(daemon.0.work().join("a.png")).expect("the file");
        daemon.kill();
        daemon.start();
        wait_for("another request", || provider.requests().len() == 2);
        daemon.ok(&["prompt", "--wait", "--agent", "a", "again"]);
        assert_eq!(times(&provider, &bytes), [1, 1, 1], "{model}");
        let said = daemon.ok(&["transcript", "a"]).stdout;
        assert!(said.contains("look at it\n[image \"a.png\" (png, 300 x 200 pixels)]"), "{said}");
        let next = daemon.ok(&["debug", "prompt", "--agent", "a"]).stdout;
        assert!(next.contains("[image \"a.png\" (png, 300 x 200 pixels, 5029 bytes)]"), "{next}");
        assert_eq!(shown(&next.into(), &bytes), 0, "people are shown no base64");
        daemon.ok(&["daemon", "stop"]);
        daemon.0.check_ledger(&daemon.ledger());
    }
}

#[test]
fn an_interjection_brings_its_image_into_the_turn() {
    use end_to_end::provider::{calls, command};
    let slow = calls(&[command("sleep 2")]);
    let provider = Provider::start([slow, says("Done.")]);
    let daemon = daemon(&provider, SEEING[0]);
    let bytes = png(20, 20, b"interjected");
    put(&daemon.0, "a.png", &bytes);
    daemon.ok(&["prompt", "--agent", "a", "work"]);
    wait_for("a request", || provider.requests().len() == 1);
    daemon.ok(&["prompt", "--agent", "a", "--interject", "--image", "a.png", "like this"]);
    wait_for("another request", || provider.requests().len() == 2);
    assert_eq!(times(&provider, &bytes), [0, 1]);
}

#[test]
fn a_model_that_reads_none_is_told_of_the_image_of_a_prompt() {
    let provider = Provider::start([says("I can't see it.")]);
    let holon = with(&provider, "local/test");
    let bytes = png(5, 5, b"");
    put(&holon, "a.png", &bytes);
    assert_eq!(holon.run(&["run", "--image", "a.png", "look"]).code, Some(0));
    let request = provider.requests()[0].to_string();
    assert_eq!(times(&provider, &bytes), [0]);
    assert!(request.contains("local/test reads no images") && request.contains("5 x 5 pixels"), "{request}");
}

#[test]
fn what_is_no_image_is_refused_before_anything_is_asked() {
    let provider = Provider::start([]);
    let holon = with(&provider, SEEING[0]);
    put(&holon, "text.png", b"this is a text, whatever it is called");
    put(&holon, "large.png", &png(10, 10, &vec![0; 5_000_000]));
    put(&holon, "half.png", &png(10, 10, &vec![0; 4_000_000]));
    put(&holon, "secret.png", &png(10, 10, b"canary-4f1c77aa"));
    put(&holon, "a.gif", &gif(5, 5));
    let made = Command::new("mkfifo").arg(holon.work().join("pipe")).status().expect("mkfifo");
    assert!(made.success());
    let cases: [(&[&str], &[&str]); 7] = [
        (&["nothing.png"], &["--image nothing.png: there is no such file"]),
        (&["text.png"], &["--image text.png: it is no image"]),
        (&["large.png"], &["--image large.png: it has 5000029 bytes", "smaller copy"]),
        (&["pipe"], &["--image pipe: it is no regular file"]),
        (
            &["half.png", "half.png", "half.png"],
            &["12000087 bytes together are more than the limit of 10000000"],
        ),
        (&["a.gif"; 11], &["--image: 11 are more than the limit of 10"]),
        (&["secret.png"], &["secret.png: it contains the value of ", "-strip"]),
    ];
    for (paths, says) in cases {
        let mut arguments = vec!["run"];
        arguments.extend(paths.iter().flat_map(|path| ["--image", path]));
        arguments.push("look");
        holon.run(&arguments).refused(2, says);
    }
    holon.run(&["run", "--image", "a.gif", "--resume", "run-1"]).refused(3, &["run-1"]);
    assert!(provider.requests().is_empty());
}

#[test]
fn over_http_an_image_stands_in_the_body() {
    let provider = Provider::answering(|_| says("Seen."));
    let daemon = daemon(&provider, SEEING[2]);
    let socket = daemon.run_file("holon.sock");
    let prompt = |images: Value| -> Answered {
        let body = json!({ "text": "look", "images": images });
        ask(&socket, "POST", "/control/agents/a/prompt?wait=turn", &[], Some(&body)).expect("an answer")
    };
    let bytes = png(64, 64, &[3; 100_000]);
    let taken = prompt(json!([{ "data": base64(&bytes), "name": "shot" }, { "data": base64(&gif(2, 2)) }]));
    assert_eq!(taken.status, 200, "{taken:?}");
    assert_eq!((times(&provider, &bytes), times(&provider, &gif(2, 2))), (vec![1], vec![1]));
    assert!(provider.requests()[0].to_string().contains("image 2"), "it has a name");
    let most = png(10, 10, &vec![1; 5_000_000 - 29]);
    let cases = [
        (json!([{ "data": "no base64!" }]), 400, "images[0].data is no base64"),
        (json!([{ "data": base64(b"a text and no image") }]), 400, "images[0] (\"image 1\"): it is no image"),
        (json!([{ "data": base64(&[&most[..], b"x"].concat()) }]), 413, "5000001 bytes"),
        (
            json!([{ "data": base64(&most) }, { "data": base64(&most) }, { "data": base64(&gif(2, 2)) }]),
            413,
            "together",
        ),
        (json!(vec![json!({ "data": base64(&gif(2, 2)) }); 11]), 413, "11 are more than the limit of 10"),
        (
            json!([{ "data": base64(&png(9_000, 9, b"")), "name": "x" }]),
            400,
            "images[0] (\"x\"): it has 9000 x 9",
        ),
        (json!([{ "data": base64(&gif(2, 2)), "path": "/x" }]), 400, "path"),
        (json!("x"), 400, "images"),
    ];
    for (images, status, says) in cases {
        let refused = prompt(images);
        assert_eq!(refused.status, status, "{says}: {refused:?}");
        assert!(refused.body.to_string().contains(&says.replace('"', "\\\"")), "{says}: {refused:?}");
    }
    let two = prompt(json!([{ "data": base64(&most) }, { "data": base64(&most) }]));
    assert_eq!(two.status, 200, "{two:?}");
}
