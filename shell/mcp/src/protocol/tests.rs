use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;

use super::*;
use crate::connection::Part;
use crate::definition::{Definition, Reach};
use crate::logins::Logins;

#[tokio::test]
async fn secret_headers_do_not_follow_a_redirect() {
    let bound = async || TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (server, elsewhere) = (bound().await, bound().await);
    let of = |listener: &TcpListener| format!("http://{}/mcp", listener.local_addr().unwrap());
    let (url, to) = (of(&server), of(&elsewhere));
    let answer = format!(
        "HTTP/1.1 307 Temporary Redirect\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
    );
    drop(spawn::task(async move {
        while let Ok((mut stream, _)) = server.accept().await {
            let read = stream.read(&mut [0; 16 << 10]).await.unwrap();
            assert!(read > 0);
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    }));
    let headers = BTreeMap::from([("x-api-key".to_owned(), "a secret".to_owned())]);
    let reach = Reach::Address { url: url.clone(), headers: headers.clone() };
    let folder = tempfile::tempdir().unwrap();
    let login = Logins::of(folder.path()).of_server(&Definition::example("moved", reach)).unwrap();
    let terms = Terms { revision: Revision::Newest, passes_on: false };
    let problem = tokio::select! {
        greeted = over_http(terms, &url, &headers, &login) => greeted.err().unwrap(),
        accepted = elsewhere.accept() => panic!("the redirect was followed: {accepted:?}"),
    };
    assert!(problem.contains(&format!("it leads to {to}; redirects are not followed")), "{problem}");
}

#[test]
fn the_scope_that_is_wanted_is_named() {
    assert_eq!(wants_login("Bearer resource_metadata=\"https://a.example\""), WANTS_LOGIN);
    let wider =
        wants_login("Bearer error=\"insufficient_scope\", scope=\"read write\", resource_metadata=\"x\"");
    assert_eq!(wider, format!("{WANTS_LOGIN}, with the scope \"read write\" (--scope)"));
}

/// A client of a server that answers each line with others. Where there is no answer at all it reads nothing any more.
async fn client(
    terms: Terms,
    mut answers: impl FnMut(&Value) -> Option<Vec<Value>> + Send + 'static,
) -> Client {
    let (ours, theirs) = tokio::io::duplex(16 << 10);
    drop(spawn::task(async move {
        let (read, mut write) = tokio::io::split(theirs);
        let mut lines = BufReader::new(read).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let asked: Value = serde_json::from_str(&line).unwrap();
            let answered = match greeting(&asked) {
                Some(result) => Some(vec![answer(&asked, &result)]),
                None => answers(&asked),
            };
            let Some(answered) = answered else { return std::future::pending().await };
            for line in answered {
                if write.write_all(format!("{line}\n").as_bytes()).await.is_err() {
                    return;
                }
            }
        }
    }));
    let heard = Heard::default();
    let handler = Handler { heard: heard.clone(), terms };
    let lifecycle = lifecycle(terms.revision, Opening::Handshake);
    let service = handler.serve_with_lifecycle(tokio::io::split(ours), lifecycle).await.unwrap();
    Client::new(service, heard, None)
}

fn answer(asked: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": asked["id"], "result": result})
}

fn greeting(asked: &Value) -> Option<Value> {
    let capabilities = json!({"tools": {"listChanged": true}});
    match asked["method"].as_str()? {
        "initialize" => Some(json!({
            "protocolVersion": asked["params"]["protocolVersion"], "capabilities": capabilities,
            "serverInfo": {"name": "test", "version": "1"},
        })),
        "server/discover" => Some(json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities,
            "ttlMs": 0, "cacheScope": "private",
        })),
        _ => None,
    }
}

fn text(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

#[tokio::test(start_paused = true)]
async fn a_call_of_a_server_that_reads_nothing_ends_in_time() {
    let terms = Terms { revision: Revision::V20251125, passes_on: false };
    let client = client(terms, |asked| (asked["method"] == "notifications/initialized").then(Vec::new)).await;
    for patience in [3, 5].map(Duration::from_secs) {
        let arguments = Map::from_iter([("a".to_owned(), "x".repeat(1 << 20).into())]);
        let called = timeout(2 * patience, client.call("echo", arguments, patience)).await.unwrap();
        assert!(
            matches!(&called, Err(CallError::Lost(why)) if why.contains("no answer within")),
            "{called:?}"
        );
    }
}

#[tokio::test]
async fn a_question_is_passed_on_with_the_call_that_it_is_of() {
    let terms = Terms { revision: Revision::V20251125, passes_on: true };
    let mut asks = Value::Null;
    let client = client(terms, move |asked| {
        if asked["params"]["name"] == "asks" {
            asks = asked.clone();
            let wanted = json!({"type": "object", "properties": {"sure": {"type": "boolean"}}});
            let params = json!({"mode": "form", "message": "Delete it?", "requestedSchema": wanted});
            let question =
                json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": params});
            return Some(vec![question]);
        }
        if asked["id"] == "q" {
            return Some(vec![answer(&asks, &text("asked"))]);
        }
        Some(if asked["method"] == "tools/call" { vec![answer(asked, &text("plain"))] } else { Vec::new() })
    })
    .await;
    let patience = Duration::from_secs(60);
    let call = |tool: &str| client.call(tool, Map::new(), patience);
    let (asks, plain) = tokio::join!(call("asks"), call("plain"));
    let (asks, plain) = (asks.unwrap().parts, plain.unwrap().parts);
    assert_eq!(plain, [Part::Text { text: "plain".to_owned() }]);
    assert_eq!(asks.len(), 2);
    assert!(matches!(&asks[1], Part::Text { text } if text.contains("Delete it? (sure)")), "{asks:?}");
}

#[tokio::test]
async fn a_change_is_heard_in_the_newest_revision() {
    let terms = Terms { revision: Revision::V20260728, passes_on: false };
    let client = client(terms, |asked| {
        if asked["method"] != "subscriptions/listen" {
            return Some(Vec::new());
        }
        let of = |params: Value| {
            let mut params = params;
            params["_meta"] = json!({"io.modelcontextprotocol/subscriptionId": asked["id"]});
            params
        };
        let acknowledged = json!({"jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
            "params": of(json!({"notifications": asked["params"]["notifications"]}))});
        let changed =
            json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed", "params": of(json!({}))});
        Some(vec![acknowledged, changed])
    })
    .await;
    let heard = async {
        while !client.has_changed() {
            tokio::task::yield_now().await;
        }
    };
    timeout(Duration::from_secs(60), heard).await.unwrap();
}
