//! Images that agents look at: their bytes arrive whole, once, and again after a restart; a model that reads none is told
//! of them; and whatever is no image is refused in words.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use end_to_end::confined::{Scene, text};
use end_to_end::daemon::Daemon;
use end_to_end::pictures::{gif, png, shown};
use end_to_end::provider::{Provider, Reply, calls, command, fails, says};
use end_to_end::{Holon, payloads, wait_for};
use serde_json::{Value, json};

/// A model of each protocol.
const SEEING: [&str; 3] = ["openai/gpt-5.1", "openai-chat/gpt-4o", "anthropic/claude-sonnet-4-5"];

fn with(holon: Holon, provider: &Provider, model: &str) -> Holon {
    let holon = holon
        .with("HOLON_MODEL", model)
        .with("OPENAI_BASE_URL", &provider.url)
        .with("ANTHROPIC_BASE_URL", provider.url.trim_end_matches("/v1"))
        .with("HOLON_LOCAL_BASE_URL", &provider.url)
        .with("OPENAI_API_KEY", "canary-4f1c77aa")
        .with("ANTHROPIC_API_KEY", "canary-4f1c77aa");
    configure(&holon, "");
    holon
}

fn configure(holon: &Holon, settings: &str) {
    fs::create_dir_all(holon.home()).expect("a home");
    let settings = format!("[runtime]\nretries = 0\n[run]\npatience_ms = 0\n{settings}");
    fs::write(holon.home().join("config.toml"), settings).expect("settings");
}

fn view(path: &str) -> (&'static str, Value) {
    ("ViewImage", json!({ "path": path }))
}

fn put(holon: &Holon, name: &str, bytes: &[u8]) {
    fs::write(holon.work().join(name), bytes).expect("a file");
}

fn names(request: &Value) -> String {
    request["tools"].to_string()
}

#[test]
fn what_is_viewed_arrives_whole_and_once_in_each_protocol() {
    for model in SEEING {
        let provider =
            Provider::start([calls(&[view("a.png"), view("b.gif")]), calls(&[view("a.png")]), says("Done.")]);
        let holon = with(Holon::new(), &provider, model);
        let first = png(640, 480, &(0..=255).cycle().take(70_000).collect::<Vec<u8>>());
        let second = gif(32, 16);
        put(&holon, "a.png", &first);
        put(&holon, "b.gif", &second);
        let ended = holon.run(&["run", "--json", "look"]);
        assert_eq!(ended.code, Some(0), "{model}: {ended:?}");
        let requests = provider.requests();
        let times: Vec<_> =
            requests.iter().map(|request| (shown(request, &first), shown(request, &second))).collect();
        assert_eq!(times, [(0, 0), (1, 1), (2, 1)], "{model}");
        assert!(names(&requests[0]).contains("ViewImage"), "{model}");
        assert!(
            requests[1].to_string().contains(r#"\"format\":\"gif\",\"width\":32,\"height\":16"#),
            "{model}"
        );
        let ledger = ended.json()["ledger"].as_str().expect("a ledger").to_owned();
        holon.check_ledger(ledger.as_ref());
        let records = holon.records(ledger.as_ref());
        let receipts: Vec<&Value> = payloads(&records, "tool_executed");
        let image = &receipts[0]["receipt"]["images"][0];
        assert_eq!(
            (&image["format"], &image["width"], &image["bytes"]),
            (&json!("png"), &json!(640), &json!(first.len()))
        );
        // The same file twice is stored once, and no record has its bytes.
        assert_eq!(image["data"]["id"], receipts[2]["receipt"]["images"][0]["data"]["id"]);
        assert!(Value::from(records.clone()).to_string().len() < 200_000, "{model}");
        let asked = payloads(&records, "operation_opened");
        let mut shares = asked.iter().filter_map(|opened| opened["request"]["shared_bytes"].as_u64());
        assert!(
            shares.next_back().is_some_and(|bytes| bytes > 90_000),
            "the image is a part of what requests share"
        );
    }
}

#[test]
fn a_restart_in_the_middle_shows_the_same_bytes() {
    for model in SEEING {
        let provider = Provider::start([calls(&[view("a.png")]), Reply::Hang, says("Done.")]);
        let daemon = Daemon(with(Holon::new(), &provider, model).with("HOLON_HTTP_ADDR", "127.0.0.1:0"));
        let bytes = png(300, 200, &[9; 5_000]);
        put(&daemon.0, "a.png", &bytes);
        daemon.start();
        daemon.ok(&["agent", "create", "a", "--workspace-root", text(&daemon.0.work())]);
        daemon.ok(&["prompt", "--agent", "a", "look at it"]);
        wait_for("the second request", || provider.requests().len() == 2);
        // It is durable: nobody needs the file any more.
        fs::remove_file(daemon.0.work().join("a.png")).expect("the file");
        daemon.kill();
        daemon.start();
        wait_for("the third request", || provider.requests().len() == 3);
        wait_for("the end", || daemon.0.run(&["status", "a"]).stdout.contains("sleep"));
        let requests = provider.requests();
        assert_eq!(
            requests.iter().map(|request| shown(request, &bytes)).collect::<Vec<_>>(),
            [0, 1, 1],
            "{model}"
        );
        daemon.ok(&["daemon", "stop"]);
        daemon.0.check_ledger(&daemon.ledger());
    }
}

#[test]
fn a_model_that_reads_none_is_not_offered_the_tool_and_reads_of_what_others_saw() {
    let provider = Provider::start([calls(&[view("a.png")]), says("Done.")]);
    let holon = with(Holon::new(), &provider, "local/test");
    put(&holon, "a.png", &png(10, 10, b""));
    assert_eq!(holon.run(&["run", "look"]).code, Some(0));
    let requests = provider.requests();
    assert!(!names(&requests[0]).contains("ViewImage"));
    let refused = requests[1].to_string();
    assert!(
        refused.contains("tool_not_exposed") && refused.contains("local/test reads no images"),
        "{refused}"
    );

    // A fallback takes over after the image was seen.
    let away = fails(401, r#"{"error":{"type":"authentication_error","message":"no"}}"#);
    let provider = Provider::start([calls(&[view("a.png")]), away, says("Done.")]);
    let holon =
        with(holon, &provider, "anthropic/claude-sonnet-4-5").with("HOLON_MODEL_FALLBACKS", "local/test");
    let bytes = png(10, 10, b"the bytes");
    put(&holon, "a.png", &bytes);
    assert_eq!(holon.run(&["run", "look"]).code, Some(0));
    let requests = provider.requests();
    assert_eq!(requests.iter().map(|request| shown(request, &bytes)).collect::<Vec<_>>(), [0, 1, 0]);
    let line = format!(
        r#"[the image \\\"a.png\\\" (png, 10 x 10 pixels, {} bytes) is not shown: local/test reads"#,
        bytes.len()
    );
    let line = line.replace(r"\\\", r"\");
    assert!(requests[2].to_string().contains(&line), "{line}: {}", requests[2]);

    // Whoever knows better says so.
    let provider = Provider::start([calls(&[view("a.png")]), says("Done.")]);
    let holon = with(Holon::new(), &provider, "local/test");
    configure(&holon, "[models.\"local/test\"]\nimages = true\n");
    put(&holon, "a.png", &bytes);
    assert_eq!(holon.run(&["run", "look"]).code, Some(0));
    let requests = provider.requests();
    assert_eq!((names(&requests[0]).contains("ViewImage"), shown(&requests[1], &bytes)), (true, 1));
}

/// What is known of a model by its name holds for an agent that asks it, whatever the runtime's own models are.
#[test]
fn an_agent_whose_model_no_setting_names_is_offered_what_the_model_can() {
    let provider = Provider::start((0..6).map(|_| says("Done.")));
    let daemon = Daemon(with(Holon::new(), &provider, "local/test").with("HOLON_HTTP_ADDR", "127.0.0.1:0"));
    let settings =
        "[providers.local]\ncontext_window_tokens = 32768\n[models.\"openai-chat/gpt-4o\"]\nimages = false\n";
    configure(&daemon.0, settings);
    daemon.start();
    for (model, images, window) in [
        ("openai-chat/gpt-4.1-2025-04-14", true, 1_047_576),
        ("openai-chat/gpt-4.1-nobody-knows", false, 128_000),
        ("openai-chat/gpt-4o", false, 128_000),
        ("local/other", false, 32_768),
    ] {
        daemon.ok(&["agent", "model", "--set", model]);
        daemon.ok(&["prompt", "--wait", "go"]);
        let request = provider.requests().pop().expect("a request");
        assert_eq!(names(&request).contains("ViewImage"), images, "{model}");
        let shown = daemon.ok(&["debug", "prompt", "--json"]).json();
        assert_eq!(shown["room"]["window"], window, "{model}: {}", shown["room"]);
    }
}

#[test]
fn what_a_provider_refuses_is_left_out_in_the_same_attempt() {
    let refusal = r#"{"error":{"type":"invalid_request_error","message":"Could not process image"}}"#;
    for model in SEEING {
        let provider = Provider::start([
            calls(&[view("a.png")]),
            fails(400, refusal),
            calls(&[view("b.png")]),
            calls(&[command("true")]),
            says("Done."),
        ]);
        let holon = with(Holon::new(), &provider, model);
        let (bytes, good) = (png(10, 10, b"cut off behind its header"), png(11, 11, b"whole"));
        put(&holon, "a.png", &bytes);
        put(&holon, "b.png", &good);
        let ended = holon.run(&["run", "--json", "look"]);
        assert_eq!(ended.code, Some(0), "{model}: {ended:?}");
        let times = |bytes: &[u8]| -> Vec<usize> {
            provider.requests().iter().map(|request| shown(request, bytes)).collect()
        };
        assert_eq!(times(&bytes), [0, 1, 0, 0, 0], "{model}: what was refused once is not sent again");
        assert_eq!(times(&good), [0, 0, 0, 1, 1], "{model}");
        let attempts = ended.json()["provider_attempt_timeline"]["attempts"].clone();
        let refused: Vec<bool> = attempts
            .as_array()
            .expect("a list")
            .iter()
            .map(|attempt| attempt["delivery"]["images_refused"] == true)
            .collect();
        assert_eq!(refused, [false, true, true, true], "{model}");
    }
}

#[test]
fn whatever_is_no_image_is_refused_in_words() {
    let cases: [(&str, &[&str]); 12] = [
        ("nothing.png", &["nothing.png: there is no such file", "current folder"]),
        ("folder", &["folder: it is a folder"]),
        ("pipe.png", &["pipe.png: it is no regular file"]),
        ("/dev/zero", &["/dev/zero: it is no regular file"]),
        ("large.png", &["large.png: it has 5000001 bytes, an image has at most 5000000", "smaller copy"]),
        ("text.png", &["text.png: it is no image", "whatever its name says"]),
        ("empty.png", &["empty.png: it is empty"]),
        ("cut.png", &["cut.png: it begins like a png, and its header is cut off"]),
        ("wide.png", &["wide.png: it has 8001 x 3 pixels, each side has 1 to 8000"]),
        ("secret.png", &["secret.png: it contains the value of ", "-strip"]),
        ("", &["path is empty"]),
        ("loop.png", &["loop.png: it can't be read"]),
    ];
    let views: Vec<_> = cases.iter().map(|(path, _)| view(path)).collect();
    let provider = Provider::start([
        calls(&views),
        calls(&[view("large-enough.png"), view("gif.png"), view("link.png")]),
        says("Done."),
    ]);
    let holon = with(Holon::new(), &provider, SEEING[0]);
    let sized = |bytes: usize| png(10, 10, &vec![0; bytes - png(10, 10, b"").len()]);
    fs::create_dir(holon.work().join("folder")).expect("a folder");
    let made = Command::new("mkfifo").arg(holon.work().join("pipe.png")).status().expect("mkfifo");
    assert!(made.success());
    put(&holon, "large.png", &sized(5_000_001));
    put(&holon, "large-enough.png", &sized(5_000_000));
    put(&holon, "text.png", b"this is a text, whatever it is called");
    put(&holon, "empty.png", b"");
    put(&holon, "cut.png", &png(10, 10, b"")[..12]);
    put(&holon, "wide.png", &png(8_001, 3, b""));
    put(&holon, "secret.png", &png(10, 10, b"tEXt canary-4f1c77aa"));
    put(&holon, "gif.png", &gif(7, 7));
    symlink("gif.png", holon.work().join("link.png")).expect("a link");
    symlink("loop.png", holon.work().join("loop.png")).expect("a link");
    let ended = holon.run(&["run", "look"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let requests = provider.requests();
    let results: Vec<String> = results(&requests[1]);
    assert_eq!(results.len(), cases.len());
    for ((path, says), result) in cases.iter().zip(results) {
        assert!(says.iter().all(|text| result.contains(text)), "{path}: {result}");
        assert!(
            result.contains(r#""kind":"invalid_tool_input""#) && result.contains("hint"),
            "{path}: {result}"
        );
        assert!(!result.contains("canary"), "{result}");
    }
    assert_eq!(shown(&requests[2], &sized(5_000_000)), 1);
    assert_eq!(shown(&requests[2], &gif(7, 7)), 2, "a GIF is one by its bytes, and links are followed");
}

/// The outputs of the calls of a request for responses.
fn results(request: &Value) -> Vec<String> {
    let input = request["input"].as_array().expect("an input").iter();
    let outputs = input.filter(|item| item["type"] == "function_call_output");
    outputs.map(|item| item["output"].as_str().expect("a text").to_owned()).collect()
}

#[test]
fn more_images_than_a_request_may_have_close_the_episode() {
    let mut replies: Vec<Reply> = (0..23).map(|number| calls(&[view(&format!("{number}.gif"))])).collect();
    replies.push(says("Done."));
    let provider = Provider::start(replies);
    let holon = with(Holon::new(), &provider, SEEING[0]);
    for number in 0..23 {
        put(&holon, &format!("{number}.gif"), &gif(5, number + 1));
    }
    let ended = holon.run(&["run", "--json", "look at all of them"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let requests = provider.requests();
    let count = |request: &Value| request.to_string().matches("data:image/gif;base64,").count();
    let counts: Vec<usize> = requests.iter().map(count).collect();
    assert_eq!(counts[..21], (0..=20).collect::<Vec<_>>());
    assert_eq!(counts[21..], [2, 3, 4], "the last two rounds are whole");
    assert!(requests[21].to_string().contains("18.gif"), "a summary names the others");
    let ledger = ended.json()["ledger"].as_str().expect("a ledger").to_owned();
    holon.check_ledger(ledger.as_ref());
    let records = holon.records(ledger.as_ref());
    let closed = payloads(&records, "episode_closed");
    assert_eq!(closed.iter().map(|fact| &fact["boundary"]).collect::<Vec<_>>(), [&json!("images")]);
}

#[test]
fn a_digest_names_the_images_of_an_episode_that_is_over() {
    let provider = Provider::start([calls(&[view("a.gif")]), says("Done."), says("Nothing.")]);
    let daemon = Daemon(with(Holon::new(), &provider, SEEING[2]).with("HOLON_HTTP_ADDR", "127.0.0.1:0"));
    put(&daemon.0, "a.gif", &gif(5, 6));
    daemon.start();
    daemon.ok(&["agent", "create", "a", "--workspace-root", text(&daemon.0.work())]);
    daemon.ok(&["prompt", "--wait", "--agent", "a", "look"]);
    daemon.ok(&["agent", "compact", "a"]);
    daemon.ok(&["prompt", "--wait", "--agent", "a", "what was there?"]);
    let last = provider.requests().pop().expect("a request");
    assert_eq!(shown(&last, &gif(5, 6)), 0);
    assert!(last.to_string().contains("Images you saw: a.gif (gif, 5 x 6, sha256 "), "{last}");
}

#[test]
fn a_confined_agent_sees_what_it_may_work_with() {
    let scene = Scene::new("on");
    let models = "[models.\"local/test\"]\nimages = true\n";
    configure(&scene.daemon.0, models);
    scene.daemon.ok(&["daemon", "restart"]);
    fs::write(scene.outside.join("out.png"), png(5, 5, b"")).expect("a file");
    fs::write(scene.root.join("in.png"), png(5, 5, b"")).expect("a file");
    symlink(scene.outside.join("out.png"), scene.root.join("link.png")).expect("a link");
    symlink(&scene.outside, scene.root.join("up")).expect("a link");
    let ledger = scene.daemon.ledger();
    for path in [
        "../outside/out.png",
        "link.png",
        "up/out.png",
        text(&scene.outside.join("out.png")),
        "up",
        text(&ledger),
    ] {
        let said = scene.calls(&[view(path)]);
        assert!(said.contains("execution_root_violation") && said.contains("confined to"), "{path}: {said}");
    }
    for path in ["in.png", "./in.png", text(&scene.root.join("in.png"))] {
        let said = scene.calls(&[view(path)]);
        assert!(said.contains("sha256"), "{path}: {said}");
    }
    let said = scene.runs("cp in.png $HOLON_AGENT_HOME/own.png; cp in.png /tmp/holon-image-$$.png; echo /tmp/holon-image-$$.png");
    let temporary =
        said.split("/tmp/holon-image-").nth(1).and_then(|rest| rest.split(".png").next()).expect("a name");
    let temporary = format!("/tmp/holon-image-{temporary}.png");
    for path in [text(&scene.home().join("own.png")), &temporary] {
        let said = scene.calls(&[view(path)]);
        assert!(said.contains("sha256"), "{path}: {said}");
    }
    fs::remove_file(temporary).expect("the file");
}
