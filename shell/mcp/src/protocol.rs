//! The protocol, by the library for it: over the pipes of a program, or over HTTP.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex as Plain, OnceLock, PoisonError};
use std::time::Duration;

use holon_platform::spawn;
use reqwest::header::{HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam,
    ClientCapabilities, ClientConfig, ClientRequest, ContentBlock, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationCapability, ErrorData, Implementation, InputRequest,
    PaginatedRequestParams, ProtocolVersion, RequestId, ResourceContents, ServerResult,
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
use tokio::sync::Mutex;

use crate::bounded::{BoundedLines, MESSAGE_BYTES};
use crate::connection::{Answering, CallError, CallResult, Connection, Part, Tool};
use crate::definition::Revision;
use crate::log::Log;
use crate::logins::Login;
use crate::process::{Process, ProcessHandle};
use crate::unreached::unreached;

/// Most tools of a list: a server that always has one more page is not followed for ever.
const MOST_LISTED: usize = 1_000;
/// A connection over HTTP that can't be made is given up after so long, within the time for the start.
const CONNECT: Duration = Duration::from_secs(10);
/// What is known of a server that has gone without a word.
const CLOSED: &str = "the server has closed the connection";
/// It lets nobody in who has not said who it is.
const WANTS_LOGIN: &str = "the server wants a login (`holon mcp login`) or a credential";
/// Questions that are kept until the next result, and characters of one.
const QUESTIONS: usize = 8;
const QUESTION_CHARS: usize = 1_000;
/// A good-bye takes no longer.
const CLOSE: Duration = Duration::from_secs(2);

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

/// What a server has said of its own accord.
#[derive(Clone, Default)]
struct Heard {
    changed: Arc<AtomicBool>,
    /// What it has asked its user since the last result.
    questions: Arc<Plain<Vec<String>>>,
}

impl Heard {
    fn asks(&self, question: String) {
        let mut questions = self.questions.lock().unwrap_or_else(PoisonError::into_inner);
        if questions.len() < QUESTIONS {
            questions.push(question.chars().take(QUESTION_CHARS).collect());
        }
    }

    /// A result with what was asked meanwhile.
    fn with_questions(&self, mut result: CallResult) -> CallResult {
        let questions = std::mem::take(&mut *self.questions.lock().unwrap_or_else(PoisonError::into_inner));
        result.parts.extend(questions.into_iter().map(|question| Part::Text {
            text: format!(
                "[the server asked its user, and nobody answered: {question}. Ask your operator where it matters, and \
                 call it again with the answer.]"
            ),
        }));
        result
    }
}

/// What a request of a server wants to know, in words.
fn question(request: &ElicitRequestParams) -> String {
    match request {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            let fields: Vec<&str> = requested_schema.properties.keys().map(String::as_str).collect();
            format!("{message} ({})", fields.join(", "))
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => format!("{message} ({url})"),
        _ => "something that this version does not know".to_owned(),
    }
}

impl ClientHandler for Handler {
    fn on_tool_list_changed(
        &self,
        _: NotificationContext<RoleClient>,
    ) -> impl Future<Output = ()> + Send + '_ {
        self.heard.changed.store(true, Ordering::Relaxed);
        std::future::ready(())
    }

    fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> impl Future<Output = Result<ElicitResult, ErrorData>> + Send + '_ {
        if self.terms.passes_on {
            self.heard.asks(question(&request));
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
    /// Of a program.
    own: Option<Own>,
}

/// What is known of a program beside what it says.
struct Own {
    process: ProcessHandle,
    log: Log,
    exceeded: Arc<AtomicBool>,
}

impl Own {
    /// Why it says nothing more: as it looks from outside, where that explains it.
    async fn why(&self, said: String) -> String {
        if self.exceeded.load(Ordering::Relaxed) {
            return format!("the server has sent a message of more than {} MiB", MESSAGE_BYTES >> 20);
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
    let own = Own { process: handle, log, exceeded: lines.exceeded() };
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
        // A request is sent once: what a session that has ended did with it is not known.
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
        Self { peer: service.peer().clone(), service: Mutex::new(Some(service)), heard, own }
    }

    async fn failed(&self, error: ServiceError) -> CallError {
        if let ServiceError::McpError(error) = error {
            return CallError::Refused { code: error.code.0, message: error.message.into_owned() };
        }
        if let Some(challenge) = error.auth_challenge() {
            return CallError::NotSent(wants_login(challenge));
        }
        if let (ServiceError::TransportSend(error), None) = (&error, &self.own) {
            return CallError::Lost(unreached(error));
        }
        if let ServiceError::UnexpectedResponse = error {
            return CallError::Unusable("the server answered with something that is no result".to_owned());
        }
        CallError::Lost(match &self.own {
            Some(own) => own.why(CLOSED.to_owned()).await,
            None => with_causes(&error),
        })
    }

    async fn all_tools(&self) -> Result<Vec<Tool>, CallError> {
        let (mut tools, mut cursor) = (Vec::new(), None);
        loop {
            let asked = cursor.map(|cursor| PaginatedRequestParams::default().with_cursor(Some(cursor)));
            let page = match self.peer.list_tools(asked).await {
                Ok(page) => page,
                Err(error) => return Err(self.failed(error).await),
            };
            tools.extend(page.tools.into_iter().map(|tool| Tool {
                name: tool.name.into_owned(),
                description: tool.description.unwrap_or_default().into_owned(),
                schema: Value::Object((*tool.input_schema).clone()),
            }));
            cursor = page.next_cursor;
            if cursor.is_none() || tools.len() > MOST_LISTED {
                tools.truncate(MOST_LISTED);
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
        let asked = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(asked));
        let mut options = PeerRequestOptions::no_options();
        options.timeout = Some(patience);
        let sent = match self.peer.send_cancellable_request(request, options).await {
            Ok(sent) => sent,
            Err(error) => return Err(self.failed(error).await),
        };
        let mut asked = Asked { peer: Some(self.peer.clone()), id: sent.id.clone() };
        let answer = sent.await_response().await;
        asked.peer = None;
        match answer {
            Ok(answer) => result(answer).map(|result| self.heard.with_questions(result)),
            Err(ServiceError::Timeout { timeout }) => Err(CallError::Lost(format!(
                "no answer within {} ms: the call was cancelled",
                timeout.as_millis()
            ))),
            Err(error) => Err(self.failed(error).await),
        }
    }
}

/// A request that somebody waits for. When nobody does any more, its server is notified.
struct Asked {
    peer: Option<Peer<RoleClient>>,
    id: RequestId,
}

impl Drop for Asked {
    fn drop(&mut self) {
        let Some(peer) = self.peer.take() else { return };
        let params =
            CancelledNotificationParam::new(Some(self.id.clone()), Some("nobody waits any more".to_owned()));
        drop(spawn::task(async move {
            // A server that is gone needs no notice.
            peer.send_notification(CancelledNotification::new(params).into()).await.ok();
        }));
    }
}

/// What an answer brought.
fn result(answer: ServerResult) -> Result<CallResult, CallError> {
    if let ServerResult::CallToolResult(result) = answer {
        return Ok(CallResult {
            parts: result.content.into_iter().map(part).collect(),
            structured: result.structured_content,
            is_error: result.is_error.unwrap_or(false),
        });
    }
    if let ServerResult::EmptyResult(_) = answer {
        return Ok(CallResult::default());
    }
    let what = if let ServerResult::InputRequiredResult(asked) = &answer {
        let questions: Vec<String> =
            asked.input_requests.iter().flat_map(|asked| asked.values()).filter_map(asks).collect();
        let more = if questions.is_empty() { String::new() } else { format!(": {}", questions.join("; ")) };
        let text = format!("the server asks for more input before it answers, which nobody gives here{more}");
        return Err(CallError::Unusable(text.chars().take(QUESTION_CHARS).collect()));
    } else if let ServerResult::CreateTaskResult(_) = answer {
        "answers with a task instead of a result, which is not supported"
    } else {
        "answered with something that is no result"
    };
    Err(CallError::Unusable(format!("the server {what}")))
}

/// What of its user a server asks.
fn asks(request: &InputRequest) -> Option<String> {
    if let InputRequest::Elicitation(request) = request { Some(question(&request.params)) } else { None }
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
        self.heard.changed.swap(false, Ordering::Relaxed)
    }

    fn is_open(&self) -> bool {
        let runs = self.own.as_ref().is_none_or(|own| own.process.ended().is_none());
        runs && !self.peer.is_transport_closed()
    }

    fn close(&self) -> Answering<'_, ()> {
        Box::pin(async {
            if let Some(mut service) = self.service.lock().await.take() {
                // What is left of it ends when it is dropped.
                service.close_with_timeout(CLOSE).await.ok();
            }
            if let Some(own) = &self.own {
                own.process.over().await;
            }
        })
    }
}

/// A part of a result as it is passed on.
fn part(block: ContentBlock) -> Part {
    match block {
        ContentBlock::Text(text) => Part::Text { text: text.text },
        ContentBlock::Image(image) => Part::Blob { media_type: image.mime_type, base64: image.data },
        ContentBlock::Audio(audio) => Part::Blob { media_type: audio.mime_type, base64: audio.data },
        ContentBlock::Resource(embedded) => match embedded.resource {
            ResourceContents::TextResourceContents { text, .. } => Part::Text { text },
            ResourceContents::BlobResourceContents { blob, mime_type, .. } => Part::Blob {
                media_type: mime_type.unwrap_or_else(|| "application/octet-stream".to_owned()),
                base64: blob,
            },
            _ => unknown(),
        },
        ContentBlock::ResourceLink(link) => Part::Link { uri: link.uri, name: link.name },
        _ => unknown(),
    }
}

/// A part of a kind that came later than this build.
fn unknown() -> Part {
    Part::Text { text: "[a part of a kind that this version does not know]".to_owned() }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::*;
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
}
