//! The protocol, by the library for it: over the pipes of a program, or over HTTP.

mod answer;
mod heard;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use holon_platform::spawn;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam,
    ClientCapabilities, ClientConfig, ClientRequest, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ErrorData, Implementation, ListToolsRequest, PaginatedRequestParams,
    ProtocolVersion, RequestId, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, NotificationContext, Peer, PeerRequestOptions, RequestContext, RunningService,
    ServiceError,
};
use rmcp::transport::StreamableHttpClientTransport;
#[cfg(feature = "login")]
use rmcp::transport::auth::AuthClient;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, RoleClient};
use serde_json::{Map, Value};
use tokio::sync::{Mutex, RwLock};
use tokio::time::timeout;

use self::answer::{page, question, result};
use self::heard::Heard;
use crate::bounded::{BoundedLines, MESSAGE_BYTES};
use crate::connection::{Answering, CallError, CallResult, Connection, Tool};
use crate::definition::Revision;
use crate::log::Log;
use crate::logins::Login;
use crate::process::{Process, ProcessHandle};
use crate::unreached::{has_expired, unreached, was_not_sent};

/// Most tools of a list: a server that always has one more page is not followed for ever.
const MOST_LISTED: usize = 1_000;
/// A connection over HTTP that can't be made is given up after so long, within the time for the start.
const CONNECT: Duration = Duration::from_secs(10);
/// What is known of a server that has gone without a word.
const CLOSED: &str = "the server has closed the connection";
/// It lets nobody in who has not said who it is.
const WANTS_LOGIN: &str = "the server wants a login (`holon mcp login`) or a credential";
/// A good-bye takes no longer.
const CLOSE: Duration = Duration::from_secs(2);
/// Nor does a notice. A program that does not take one by then reads nothing any more.
const NOTICE: Duration = Duration::from_secs(2);

/// What is agreed on with a server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Terms {
    pub(crate) revision: Revision,
    /// It may ask its user something.
    pub(crate) passes_on: bool,
}

/// What servers may ask of us: nothing, or only what is passed on. Whatever they ask is declined: nobody waits here.
struct Handler {
    heard: Heard,
    terms: Terms,
}

impl ClientHandler for Handler {
    fn on_tool_list_changed(
        &self,
        _: NotificationContext<RoleClient>,
    ) -> impl Future<Output = ()> + Send + '_ {
        self.heard.changes();
        std::future::ready(())
    }

    fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> impl Future<Output = Result<ElicitResult, ErrorData>> + Send + '_ {
        if self.terms.passes_on {
            self.heard.asks(&question(&request));
        }
        std::future::ready(Ok(ElicitResult::new(ElicitationAction::Decline)))
    }

    fn get_info(&self) -> ClientConfig {
        let about = Implementation::new("holon", env!("CARGO_PKG_VERSION"));
        let mut capabilities = ClientCapabilities::default();
        if self.terms.passes_on {
            let asked = ElicitationCapability::default();
            capabilities.elicitation = Some(asked.with_form(Default::default()).with_url(Default::default()));
        }
        let mut info = ClientConfig::new(capabilities, about);
        info.protocol_version = handshake(self.terms.revision);
        info
    }
}

/// The revision that a server is offered that knows of handshakes.
fn handshake(revision: Revision) -> ProtocolVersion {
    match revision {
        Revision::Newest | Revision::V20260728 | Revision::V20251125 => ProtocolVersion::V_2025_11_25,
        Revision::V20250618 => ProtocolVersion::V_2025_06_18,
    }
}

/// How a conversation begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opening {
    /// With a question that needs no handshake; a server that does not know it is offered one.
    Discovery,
    /// With a handshake alone.
    Handshake,
}

fn lifecycle(revision: Revision, opening: Opening) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match (revision, opening) {
        (Revision::Newest, Opening::Discovery) => {
            ClientLifecycleMode::Auto { preferred_versions, legacy_version: Some(handshake(revision)) }
        }
        (Revision::V20260728, _) => ClientLifecycleMode::Discover { preferred_versions },
        (Revision::Newest, Opening::Handshake) | (Revision::V20251125 | Revision::V20250618, _) => {
            ClientLifecycleMode::Initialize
        }
    }
}

/// A server that has agreed on a revision.
pub(crate) struct Client {
    service: Mutex<Option<RunningService<RoleClient, Handler>>>,
    peer: Peer<RoleClient>,
    heard: Heard,
    /// Where questions are passed on, calls come one after the other: nothing else shows whose question one is.
    turn: Option<Mutex<()>>,
    /// It knows nothing of the session any more.
    expired: AtomicBool,
    /// Shared by notices on their way: the end of the connection waits for them.
    notices: Arc<RwLock<()>>,
    /// Of a program.
    own: Option<Own>,
}

/// What is known of a program beside what it says.
struct Own {
    process: ProcessHandle,
    log: Log,
    exceeded: Arc<AtomicBool>,
    /// It reads nothing any more.
    deaf: Arc<AtomicBool>,
}

impl Own {
    /// Why it says nothing more: as it looks from outside, where that explains it.
    async fn why(&self, said: String) -> String {
        if self.exceeded.load(Ordering::Relaxed) {
            return format!("the server has sent a message of more than {} MiB", MESSAGE_BYTES >> 20);
        }
        if self.deaf.load(Ordering::Relaxed) {
            return "the server does not read what it is sent".to_owned();
        }
        // The end of its output comes a moment before its own.
        for _ in 0..10 {
            if let Some(ended) = self.process.ended() {
                let reason = if self.process.was_not_started() { self.not_started().await } else { None };
                return reason.unwrap_or(ended);
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        said
    }

    /// Why the program could not be started, as its helper has written it to the log.
    async fn not_started(&self) -> Option<String> {
        for _ in 0..10 {
            let text = self.log.read().ok().flatten().unwrap_or_default();
            let last = text.lines().last().and_then(|line| line.strip_prefix("holon: "));
            if let Some(reason) = last.filter(|line| line.contains(" can't be started: ")) {
                return Some(reason.to_owned());
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        None
    }
}

/// Agrees with a program on a revision.
///
/// # Errors
/// What it did instead.
pub(crate) async fn with_program(terms: Terms, opening: Opening, process: Process) -> Result<Client, String> {
    let (handle, log) = (process.handle(), process.log);
    let lines = BoundedLines::new(process.output, MESSAGE_BYTES);
    let own = Own { process: handle, log, exceeded: lines.exceeded(), deaf: Arc::default() };
    let heard = Heard::default();
    let handler = Handler { heard: heard.clone(), terms };
    match handler.serve_with_lifecycle((lines, process.input), lifecycle(terms.revision, opening)).await {
        Ok(service) => Ok(Client::new(service, heard, Some(own))),
        Err(error) => Err(own.why(why(&error)).await),
    }
}

/// What TLS is done with.
pub(crate) fn install_provider() {
    static PROVIDER: OnceLock<()> = OnceLock::new();
    // Whoever comes second finds one that is as good.
    PROVIDER.get_or_init(|| drop(rustls::crypto::ring::default_provider().install_default()));
}

/// The same over HTTP, with a login where somebody has logged in.
///
/// # Errors
/// What came instead, or that nobody is there.
pub(crate) async fn over_http(
    terms: Terms,
    url: &str,
    headers: &BTreeMap<String, String>,
    login: &Login,
) -> Result<Client, String> {
    install_provider();
    let builder = reqwest::Client::builder().connect_timeout(CONNECT).redirect(no_redirects());
    let client = builder.build().map_err(|error| error.to_string())?;
    let mut own = HashMap::new();
    for (name, value) in headers {
        let name = HeaderName::try_from(name).map_err(|_| format!("{name:?} is no name of a header"))?;
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| format!("the header {name} has a value that can't be sent"))?;
        value.set_sensitive(true);
        own.insert(name, value);
    }
    let config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(own)
        .max_sse_event_size(MESSAGE_BYTES)
        .max_json_response_size(MESSAGE_BYTES)
        // Another session begins with another connection.
        .reinit_on_expired_session(false);
    match greeted(terms, Opening::Discovery, (&client, &config), login).await? {
        // It knows nothing of the question, and does not say so.
        Err(
            ClientInitializeError::ExpectedInitResult(_) | ClientInitializeError::ExpectedInitResponse(_),
        ) if terms.revision == Revision::Newest => {
            greeted(terms, Opening::Handshake, (&client, &config), login).await?
        }
        served => served,
    }
    .map_err(|error| why(&error))
}

/// The headers of a server hold secrets that are for its own address alone.
fn no_redirects() -> Policy {
    Policy::custom(|attempt| {
        let to = attempt.url().clone();
        attempt.error(format!("it leads to {to}; redirects are not followed, set `url` to the new address"))
    })
}

/// What came of a greeting over HTTP.
#[cfg_attr(not(feature = "login"), expect(unused_variables, reason = "nobody can log in"))]
async fn greeted(
    terms: Terms,
    opening: Opening,
    (client, config): (&reqwest::Client, &StreamableHttpClientTransportConfig),
    login: &Login,
) -> Result<Result<Client, ClientInitializeError>, String> {
    let (client, config) = (client.clone(), config.clone());
    let heard = Heard::default();
    let handler = Handler { heard: heard.clone(), terms };
    let lifecycle = lifecycle(terms.revision, opening);
    #[cfg(feature = "login")]
    let renewing = crate::login::renewing(login).await;
    #[cfg(feature = "login")]
    if let Some(manager) =
        renewing.map_err(|error| format!("the login can't be used: {}", with_causes(&error)))?
    {
        let transport = StreamableHttpClientTransport::with_client(AuthClient::new(client, manager), config);
        let served = handler.serve_with_lifecycle(transport, lifecycle).await;
        return Ok(served.map(|service| Client::new(service, heard, None)));
    }
    let transport = StreamableHttpClientTransport::with_client(client, config);
    let served = handler.serve_with_lifecycle(transport, lifecycle).await;
    Ok(served.map(|service| Client::new(service, heard, None)))
}

/// Why nothing was agreed on.
fn why(error: &ClientInitializeError) -> String {
    if error.is_authorization_required() {
        return WANTS_LOGIN.to_owned();
    }
    if let ClientInitializeError::ConnectionClosed(_) = error {
        return CLOSED.to_owned();
    }
    if let ClientInitializeError::JsonRpcError(error) = error {
        return format!("the server refuses: {}", error.message);
    }
    if let ClientInitializeError::LegacyFallbackFailed { fallback, .. } = error {
        return why(fallback);
    }
    if let ClientInitializeError::TransportError { error, .. } = error {
        return unreached(error);
    }
    with_causes(error)
}

/// What lets nobody in, with the scope that a login has to have.
fn wants_login(challenge: &str) -> String {
    let scope = challenge.split_once("scope=\"").and_then(|(_, rest)| rest.split_once('"'));
    match scope {
        Some((scope, _)) => format!("{WANTS_LOGIN}, with the scope {scope:?} (--scope)"),
        None => WANTS_LOGIN.to_owned(),
    }
}

/// An error with what it comes from: of one over HTTP the last cause says what happened.
pub(crate) fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}

impl Client {
    fn new(service: RunningService<RoleClient, Handler>, heard: Heard, own: Option<Own>) -> Self {
        let peer = service.peer().clone();
        let turn = service.service().terms.passes_on.then(Mutex::default);
        let reports = peer.peer_info().is_some_and(|about| {
            let tools = about.capabilities.tools.as_ref();
            about.protocol_version == ProtocolVersion::V_2026_07_28
                && tools.is_some_and(|tools| tools.list_changed == Some(true))
        });
        if reports {
            drop(spawn::task(heard.clone().listen(peer.clone())));
        }
        let (service, expired) = (Mutex::new(Some(service)), AtomicBool::new(false));
        Self { service, peer, heard, turn, expired, notices: Arc::default(), own }
    }

    async fn failed(&self, error: ServiceError) -> CallError {
        if let ServiceError::McpError(error) = error {
            return CallError::Refused { code: error.code.0, message: error.message.into_owned() };
        }
        if let Some(challenge) = error.auth_challenge() {
            return CallError::NotSent(wants_login(challenge));
        }
        if let (ServiceError::TransportSend(error), None) = (&error, &self.own) {
            if has_expired(error) {
                self.expired.store(true, Ordering::Relaxed);
                return CallError::NotSent("the server has ended the session".to_owned());
            }
            let why = unreached(error);
            return if was_not_sent(error) { CallError::NotSent(why) } else { CallError::Lost(why) };
        }
        if let ServiceError::UnexpectedResponse = error {
            return CallError::Unusable("the server answered with something that is no result".to_owned());
        }
        CallError::Lost(match &self.own {
            Some(own) => own.why(CLOSED.to_owned()).await,
            None => with_causes(&error),
        })
    }

    /// Sends a request, once, and waits for what is answered. Dropping the future cancels it.
    async fn ask(&self, request: ClientRequest) -> Result<ServerResult, CallError> {
        // How long is waited is decided outside: the library would wait until a notice of that is written.
        let sent = match self.peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await {
            Ok(sent) => sent,
            Err(error) => return Err(self.failed(error).await),
        };
        let own = self.own.as_ref().map(|own| (own.process.clone(), own.deaf.clone()));
        let notices = self.notices.clone();
        let mut asked = Asked { peer: Some(self.peer.clone()), id: sent.id.clone(), notices, own };
        let answer = sent.await_response().await;
        asked.peer = None;
        match answer {
            Ok(answer) => Ok(answer),
            Err(error) => Err(self.failed(error).await),
        }
    }

    async fn all_tools(&self) -> Result<Vec<Tool>, CallError> {
        let change = self.heard.change();
        let (mut tools, mut cursor) = (Vec::new(), None);
        loop {
            let params = cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
            let request = ListToolsRequest { params, ..ListToolsRequest::default() };
            let (more, next) = page(self.ask(ClientRequest::ListToolsRequest(request)).await?)?;
            tools.extend(more);
            cursor = next;
            if cursor.is_none() || tools.len() > MOST_LISTED {
                tools.truncate(MOST_LISTED);
                change.settled();
                return Ok(tools);
            }
        }
    }

    async fn call_once(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        patience: Duration,
    ) -> Result<CallResult, CallError> {
        if !self.is_open() {
            return Err(CallError::NotSent("the server is gone".to_owned()));
        }
        let turn = match &self.turn {
            None => None,
            Some(turn) => Some(timeout(patience, turn.lock()).await.map_err(|_| {
                let waited = patience.as_millis();
                CallError::NotSent(format!("other calls of the server have not ended within {waited} ms"))
            })?),
        };
        // Of a call that nobody waits for any more.
        drop(self.heard.questions());
        let asked = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(asked));
        let answer = timeout(patience, self.ask(request)).await;
        let questions = self.heard.questions();
        drop(turn);
        let Ok(answer) = answer else {
            let waited = patience.as_millis();
            return Err(CallError::Lost(format!("no answer within {waited} ms: the call was cancelled")));
        };
        let mut result = result(answer?)?;
        result.parts.extend(questions);
        Ok(result)
    }
}

/// A request that somebody waits for. When nobody does any more, its server is notified.
struct Asked {
    peer: Option<Peer<RoleClient>>,
    id: RequestId,
    notices: Arc<RwLock<()>>,
    /// Of a program.
    own: Option<(ProcessHandle, Arc<AtomicBool>)>,
}

impl Drop for Asked {
    fn drop(&mut self) {
        let Some(peer) = self.peer.take() else { return };
        let (own, id) = (self.own.take(), self.id.clone());
        // None where the connection ends already.
        let on_its_way = self.notices.clone().try_read_owned().ok();
        let params = CancelledNotificationParam::new(Some(id), Some("nobody waits any more".to_owned()));
        drop(spawn::task(async move {
            // A server that is gone needs no notice.
            let notice = peer.send_notification(CancelledNotification::new(params).into());
            let written = timeout(NOTICE, notice).await;
            // Whatever else it is sent would wait behind this, without end.
            if let (Err(_), Some((process, deaf))) = (written, own) {
                deaf.store(true, Ordering::Relaxed);
                process.cut_off();
            }
            drop(on_its_way);
        }));
    }
}

impl Connection for Client {
    fn revision(&self) -> String {
        self.peer.peer_info().map_or_else(String::new, |info| info.protocol_version.to_string())
    }

    fn server(&self) -> Option<String> {
        let about = self.peer.peer_info()?.server_info.clone()?;
        Some(format!("{} {}", about.name, about.version))
    }

    fn list(&self) -> Answering<'_, Result<Vec<Tool>, CallError>> {
        Box::pin(self.all_tools())
    }

    fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        patience: Duration,
    ) -> Answering<'_, Result<CallResult, CallError>> {
        let tool = tool.to_owned();
        Box::pin(async move { self.call_once(&tool, arguments, patience).await })
    }

    fn has_changed(&self) -> bool {
        self.heard.has_changed()
    }

    fn is_open(&self) -> bool {
        let runs = |own: &Own| own.process.ended().is_none() && !own.deaf.load(Ordering::Relaxed);
        self.own.as_ref().is_none_or(runs) && !self.peer.is_transport_closed() && !self.has_expired()
    }

    fn has_expired(&self) -> bool {
        self.expired.load(Ordering::Relaxed)
    }

    fn close(&self) -> Answering<'_, ()> {
        Box::pin(async {
            drop(timeout(NOTICE, self.notices.write()).await);
            if let Some(mut service) = self.service.lock().await.take() {
                // What is left of it ends when it is dropped.
                service.close_with_timeout(CLOSE).await.ok();
            }
            if let Some(own) = &self.own {
                // Whoever waits to write to it would keep its input open.
                own.process.cut_off();
                own.process.over().await;
            }
        })
    }
}

#[cfg(test)]
mod tests;
