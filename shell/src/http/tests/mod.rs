//! A real server on a real socket and a real port, with a scripted model behind it.

mod all_events;
mod auth;
mod bad_input;
mod control;
mod cors;
mod described;
mod disk;
mod in_process;
mod ingress;
mod ledger_checks;
mod limits;
pub(super) mod openapi;
mod page_routes;
mod past;
mod prompt_wait;
mod reads;
mod signed;
mod stream;
mod tasks;
mod triggers;
mod why;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use axum::http::{HeaderMap, Method, Request, Response, StatusCode};
use bytes::Bytes;
use holon_api::{Access, AuthMode};
use holon_facts::model_ref::ModelRef;
use holon_facts::{AgentId, Config, Millis};
use holon_ledger::read::Reader;
use holon_ledger::write::Writer;
use holon_ledger::{Durability, Store};
use holon_models::{Providers, Tools, built_in};
use holon_platform::{clock, spawn};
use holon_text::Secrets;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio::sync::Semaphore;

use super::auth::Policy;
use super::{About, App, Metrics, Parts, Peers, Process, Shutdown, WAITS, router, serve};
use crate::driver::{Driver, Gate, Start};
use crate::events::Hub;
use crate::home::Home;
use crate::http::Console;
use crate::http::signature::Signatures;
use crate::ledger_check::LedgerChecks;
use crate::names::Names;
use crate::perform;
use crate::perform::tool::CommandEnvironment;
use crate::runtime::{Ended, Runtime};
use crate::settings::PageOrigin;
use crate::shared_roots::SharedRoots;
use crate::trigger_address::{TriggerAddresses, TriggerKey};

pub(super) const TOKEN: &str = "a-control-token";

/// One server, in a home of its own.
pub(super) struct Scene {
    pub(super) home: Home,
    pub(super) address: SocketAddr,
    pub(super) runtime: Runtime,
    pub(super) hub: Hub,
    pub(super) shutdown: Shutdown,
    pub(super) app: App,
    pub(super) ended: Ended,
    folder: TempDir,
}

/// How a server is started.
pub(crate) struct Setup {
    pub(crate) mode: AuthMode,
    pub(crate) token: Option<&'static str>,
    pub(crate) allowed_origins: &'static [&'static str],
    /// With which webhooks have to be signed.
    pub(crate) webhook_key: Option<&'static str>,
    /// Rounds of the scripted model, as JSON.
    pub(crate) rounds: Value,
    pub(crate) change: fn(&mut Config),
    /// Says whether the disk is full; none for a disk that never is.
    pub(crate) full: Option<Arc<AtomicBool>>,
}

impl Default for Setup {
    fn default() -> Self {
        let rounds = json!([{ "text": "done" }]);
        Self {
            mode: AuthMode::Auto,
            token: None,
            allowed_origins: &[],
            webhook_key: None,
            rounds,
            change: |_| {},
            full: None,
        }
    }
}

/// A runtime that is not served yet.
pub(crate) struct Started {
    pub(crate) app: App,
    pub(crate) ended: Ended,
}

/// Starts the runtime of a home with a scripted model, to be served at an address.
pub(crate) async fn start(home: &Home, setup: &Setup, address: SocketAddr) -> Started {
    let scenario = home.root().join("scenario.json");
    let document = json!({ "version": 1, "name": "test", "rounds": setup.rounds });
    std::fs::write(&scenario, document.to_string()).unwrap();
    let model = ModelRef::new(&format!("scripted/{}", scenario.display())).unwrap();
    let mut config = Config::new(vec![model.clone()]);
    (setup.change)(&mut config);
    let (hub, metrics) = (Hub::default(), Metrics::default());
    let providers = Providers::new(vec![built_in::scripted()], Tools::default());
    let (seen, counted) = (hub.clone(), metrics.clone());
    let start = Start {
        ledger: home.ledger(),
        durability: Durability::Process,
        config,
        secrets: Secrets::default(),
        providers: providers.clone(),
        reserve: None,
        performing: perform::Settings::new(home.clone(), CommandEnvironment::new([])),
        live: hub.live(),
        tools_from: Gate::open(),
        turns: None,
        observer: Box::new(move |record| {
            counted.see(record);
            seen.publish(record);
        }),
    };
    let driver = match setup.full.clone() {
        Some(full) => {
            let write = move |store, _: Option<&_>, texts| match store {
                Store::File(ledger) => Writer::on_a_full_disk(*ledger, full, texts),
                Store::Cell(_) | Store::Lot(_) => unreachable!("it is a file"),
            };
            Driver::start_with(start, write).await
        }
        None => Driver::start(start).await,
    };
    let (runtime, ended) = Runtime::spawn(driver.unwrap(), |_| {});
    let reader = Arc::new(Reader::open(&home.ledger_file()).unwrap());
    let app = App::new(Parts {
        runtime,
        hub,
        overview: reader.clone(),
        reader,
        names: Names::default(),
        roots: SharedRoots::default(),
        process: Process::default(),
        home: home.clone(),
        templates: crate::templates::Templates::in_home(home),
        about: about(home, address),
        signatures: Signatures::new(setup.webhook_key),
        triggers: TriggerAddresses::new("http://holon.example", TriggerKey::of(home).unwrap()),
        policy: Policy::new(setup.mode, setup.token, Some(address)).unwrap(),
        peers: Peers::default(),
        metrics,
        shutdown: Shutdown::default(),
        models: vec![model],
        providers,
        idle_limit: Millis::seconds(60),
        allowed_origins: setup.allowed_origins.iter().filter_map(|origin| PageOrigin::new(origin)).collect(),
        stream_tokens: Arc::default(),
        console: Console::of(home, true).unwrap(),
        ledger_checks: LedgerChecks::default(),
        waits: Semaphore::new(WAITS),
    });
    Started { app, ended }
}

/// What the runtime reports itself.
fn about(home: &Home, address: SocketAddr) -> About {
    About {
        default_agent: AgentId::new("main").unwrap(),
        home: home.clone(),
        socket_path: "holon.sock".to_owned(),
        listen: Some(address.to_string()),
        advertise_url: None,
        access: Access::Local,
        config_fingerprint: Some("fingerprint".to_owned()),
        started_at: clock::now().wall,
        confinement: None,
    }
}

/// What came back.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) json: Value,
    pub(super) text: String,
}

impl Scene {
    pub(super) async fn start() -> Self {
        Self::with(Setup::default()).await
    }

    /// A server with the agent `main`.
    pub(super) async fn with_main() -> Self {
        let scene = Self::start().await;
        scene.create("main").await;
        scene
    }

    pub(super) fn main(&self) -> AgentId {
        AgentId::new("main").unwrap()
    }

    pub(super) async fn with(setup: Setup) -> Self {
        Self::of(tempfile::tempdir().unwrap(), setup).await
    }

    /// The same home under another runtime.
    pub(super) async fn again(self, setup: Setup) -> Self {
        self.runtime.leave().await;
        self.ended.await.unwrap().unwrap();
        std::fs::remove_file(self.home.socket()).unwrap();
        Self::of(self.folder, setup).await
    }

    async fn of(folder: TempDir, setup: Setup) -> Self {
        let home = Home::at(folder.path().join("home"));
        home.create().unwrap();
        let (unix, tcp) =
            (UnixListener::bind(home.socket()).unwrap(), TcpListener::bind("127.0.0.1:0").await.unwrap());
        let address = tcp.local_addr().unwrap();
        let Started { app, ended } = Box::pin(start(&home, &setup, address)).await;
        let (runtime, hub, shutdown) = (app.runtime.clone(), app.hub.clone(), app.shutdown.clone());
        spawn::task(serve(unix, router(app.clone()), shutdown.asked()));
        spawn::task(serve(tcp, router(app.clone()), shutdown.asked()));
        Self { app, home, address, runtime, hub, shutdown, ended, folder }
    }

    pub(super) async fn create(&self, agent: &str) -> Reply {
        let reply = self.post(&format!("/control/agents/{agent}/create"), json!({})).await;
        assert_eq!(reply.status, StatusCode::CREATED, "{}", reply.text);
        reply
    }

    pub(super) async fn prompt(&self, agent: &str, text: &str) -> Reply {
        self.post(&format!("/control/agents/{agent}/prompt"), json!({ "text": text })).await
    }

    /// Waits until nothing is left to do for an agent.
    pub(super) async fn at_rest(&self, agent: &str) {
        for _ in 0..5_000 {
            let status = self.get(&format!("/agents/{agent}/status")).await;
            if status.json["status"] == "asleep" && status.json["queue"]["entries"] == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        panic!("{agent} does not come to rest");
    }

    pub(super) async fn get(&self, path: &str) -> Reply {
        self.send(request(Method::GET, path, &[], "")).await
    }

    pub(super) async fn post(&self, path: &str, body: Value) -> Reply {
        let headers = [("content-type", "application/json")];
        self.send(request(Method::POST, path, &headers, &body.to_string())).await
    }

    /// Through the home's socket.
    pub(super) async fn send(&self, request: Request<Full<Bytes>>) -> Reply {
        let stream = UnixStream::connect(self.home.socket()).await.unwrap();
        reply(answer(stream, request).await).await
    }

    /// Through the port.
    pub(super) async fn send_tcp(&self, request: Request<Full<Bytes>>) -> Reply {
        reply(answer(self.tcp().await, request).await).await
    }

    pub(super) async fn tcp(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    pub(super) async fn unix(&self) -> UnixStream {
        UnixStream::connect(self.home.socket()).await.unwrap()
    }

    pub(super) fn agent_home(&self, agent: &str) -> PathBuf {
        self.home.agent(&AgentId::new(agent).unwrap())
    }
}

pub(super) fn request(
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri(path);
    if !headers.iter().any(|(name, _)| *name == "host") {
        request = request.header("host", "localhost");
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::from(body.to_owned())).unwrap()
}

/// The head of an answer; its body is still to come.
pub(super) async fn answer<T: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    stream: T,
    request: Request<Full<Bytes>>,
) -> Response<Incoming> {
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    spawn::task(connection);
    sender.send_request(request).await.unwrap()
}

async fn reply(response: Response<Incoming>) -> Reply {
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    let json = serde_json::from_str(&text).unwrap_or(Value::Null);
    Reply { status: parts.status, headers: parts.headers, json, text }
}

impl Reply {
    /// Checks the one shape of errors.
    #[track_caller]
    pub(super) fn fails(&self, status: u16, code: &str) -> &Self {
        assert_eq!((self.status.as_u16(), self.json["code"].as_str()), (status, Some(code)), "{}", self.text);
        assert_eq!(self.json["ok"], false);
        assert!(self.json["error"].as_str().is_some_and(|error| !error.is_empty()), "{}", self.text);
        self
    }

    #[track_caller]
    pub(super) fn created(&self) -> &Self {
        assert_eq!(self.status, StatusCode::CREATED, "{}", self.text);
        self
    }

    #[track_caller]
    pub(super) fn ok(&self) -> &Self {
        assert_eq!(self.status, StatusCode::OK, "{}", self.text);
        self
    }
}
