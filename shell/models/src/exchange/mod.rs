//! One attempt over HTTP, the same for every protocol: lower, send, and read the answer as one document or as
//! a stream of events. A protocol says what the request looks like, how events add up to a document, and what
//! a document means; so a streamed answer and a whole one are read by the same code, and nothing partial is
//! ever returned.

mod advice;
mod body;
pub(super) mod classify;
mod endpoint;
mod excerpt;
mod failure;
mod json;
mod near;
mod refused_images;
mod reported;
mod sender;
mod sniff;
#[cfg(test)]
mod split_tests;
mod stream;
#[cfg(test)]
mod tests;
mod turn_state;
pub(super) mod usage;
mod wait;

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::Arc;

use endpoint::Endpoint;
use holon_facts::Millis;
use holon_facts::content::ContentId;
use holon_facts::delivery::{Incremental, QuotaUse, StoredResponse, WholeReason};
use holon_facts::model::{Block, FailureKind, Item, ModelRequest};
use holon_facts::model_ref::ModelRef;
use holon_facts::usage::TokenUsage;
use holon_text::{TextError, Texts};
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use refused_images::RefusedImages;
use sender::Sender;
use serde_json::Value;
use sniff::Form;
use turn_state::TurnStates;

use super::answer::{Failure, Reply};
use super::http::{BODY_BYTES, HttpClient, Received, check};
use super::model_options::ModelOptions;
use super::options::ProviderOptions;
use super::provider::{Attempt, Attempting, Listing, Provider, ProviderError, ProviderSpec, Transport};
use super::tools::Tools;

pub(super) use body::{Body, List};
pub(super) use reported::ReportedError;
pub(super) use stream::Shown;

/// A wire protocol over HTTP.
pub(crate) trait Protocol: Send + Sync {
    /// What its answers are called in errors.
    const NAME: &'static str;
    /// The settings of a model that its requests carry (`models.<ref>.<setting>`).
    const SETTINGS: &'static [&'static str];
    /// The options of a provider that no other protocol has (`providers.<id>.<option>`).
    const OPTIONS: &'static [&'static str] = &[];
    /// The header that an answer may have, and that the next request of the same turn has to have then.
    const TURN_STATE: Option<&'static str> = None;
    type Fold: Fold + Send;

    /// The path of its method, below this path of a base.
    fn path(base: &str) -> &'static str;

    /// The path of the list of models, from that of its method.
    fn models(method: &str) -> String {
        let (base, _) = method.rsplit_once('/').unwrap_or_default();
        format!("{base}/models")
    }

    /// A key as its header carries it.
    fn credential(key: &str) -> String {
        format!("Bearer {key}")
    }

    /// The body of a request: equal requests are equal bytes.
    fn lower(lowering: &Lowering<'_>) -> Result<Body, TextError>;

    /// The request as it is sent, where that is not all of it.
    fn shortened(_: &Lowering<'_>, body: Body) -> Result<Lowered, TextError> {
        Ok(Lowered::whole(body))
    }

    /// Adds the key, and whatever else the protocol wants in the head.
    fn sign(headers: &mut HeaderMap, key: Option<HeaderValue>) {
        if let Some(key) = key {
            headers.insert(AUTHORIZATION, key);
        }
    }

    /// What of the provider's options stands in the head, too.
    fn features(_: &ProviderOptions) -> Option<(HeaderName, HeaderValue)> {
        None
    }

    /// What an answer's head reports of a login's quotas.
    fn quotas(_: &HeaderMap) -> Vec<QuotaUse> {
        Vec::new()
    }

    /// Whether it is spoken with these options.
    ///
    /// # Errors
    /// Why not.
    fn usable(_: &ProviderSpec) -> Result<(), String> {
        Ok(())
    }

    /// What a whole answer means.
    fn read(texts: &Texts, root: &Value) -> Result<Reply, Malformed>;

    /// What the usage object of an answer, or of a part of one, counts.
    fn usage(reported: Option<&Value>) -> TokenUsage;
}

/// Adds the events of a stream up to the document that a server would have sent without streaming.
pub(super) trait Fold: Default {
    /// Takes an event in; `shown` gets what of it is text for people.
    fn push(&mut self, name: &str, event: Value, shown: &mut Shown<'_>) -> Result<Flow, Malformed>;

    /// Whether what may still come is usage at most.
    fn is_complete(&self) -> bool {
        false
    }

    /// The usage that was reported so far.
    fn usage(&self) -> &Value;

    /// The document; none before the event that ends an answer was seen.
    fn finish(self) -> Option<Value>;
}

/// Whether a stream goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Flow {
    More,
    Last,
}

/// What is wrong with an answer that came with a status of success.
#[derive(Debug)]
pub(super) enum Malformed {
    /// The server reports an error although it answered.
    Reported(ReportedError),
    Shape(String),
    /// It ends where the model's context window does, and took so much.
    TooLong(TokenUsage),
}

impl Malformed {
    pub(super) fn shape(problem: &str) -> Self {
        Self::Shape(problem.to_owned())
    }
}

/// What a request is made of.
pub(super) struct Lowering<'a> {
    pub(super) texts: &'a Texts,
    pub(super) request: &'a ModelRequest,
    pub(super) spec: &'a ProviderSpec,
    pub(super) tools: &'a Tools,
    /// Whether the model is shown again what it has thought; not where its provider has refused that.
    pub(super) thoughts: bool,
    /// Images that its provider has refused: lines stand for them.
    pub(super) refused: BTreeSet<ContentId>,
    /// Why it goes on from no response, whatever the request says.
    pub(super) whole: Option<WholeReason>,
}

impl<'a> Lowering<'a> {
    /// Of everything that the request has: nothing of it was refused.
    pub(super) fn new(
        texts: &'a Texts,
        request: &'a ModelRequest,
        spec: &'a ProviderSpec,
        tools: &'a Tools,
    ) -> Self {
        Self { texts, request, spec, tools, thoughts: true, refused: BTreeSet::new(), whole: None }
    }
}

/// A request on its way.
pub(super) struct Lowered {
    pub(super) body: Body,
    pub(super) incremental: Option<Incremental>,
    /// What its answer will be kept for, without its id, where the provider keeps it.
    pub(super) kept: Option<StoredResponse>,
}

impl Lowered {
    pub(super) fn whole(body: Body) -> Self {
        Self { body, incremental: None, kept: None }
    }
}

impl<'a> Lowering<'a> {
    /// What is configured of the model.
    pub(super) fn model(&self) -> Option<&'a ModelOptions> {
        self.spec.models.get(self.request.model.model())
    }

    /// Whether images are in what is sent.
    fn shows_images(&self) -> bool {
        let request = self.request;
        self.spec.takes_images(&request.model)
            && request.conversation.iter().flat_map(Item::images).any(|it| !self.refused.contains(&it.sha256))
    }

    /// Thoughts of the conversation that are not sent.
    fn thoughts_left_out(&self) -> u32 {
        let request = self.request;
        let left_out = |block: &&Block| matches!(block, Block::Reasoning { model, .. } if !self.thoughts || *model != request.model);
        let blocks = request.conversation.iter().flat_map(|item| match item {
            Item::Assistant { blocks } => &blocks[..],
            Item::User { .. } | Item::ToolResults { .. } => &[],
        });
        u32::try_from(blocks.filter(left_out).count()).unwrap_or(u32::MAX)
    }

    /// Whether thoughts of the model that is asked are in the conversation.
    fn has_thoughts(&self) -> bool {
        let request = self.request;
        let own = |block: &Block| matches!(block, Block::Reasoning { model, .. } if *model == request.model);
        request.conversation.iter().any(|item| match item {
            Item::Assistant { blocks } => blocks.iter().any(own),
            Item::User { .. } | Item::ToolResults { .. } => false,
        })
    }
}

/// The transport of a protocol.
pub(crate) const fn transport<P: Protocol + 'static>(name: &'static str) -> Transport {
    Transport::remote(name, P::SETTINGS, P::OPTIONS, || Arc::new(OverHttp::<P>::default()))
}

/// A provider that speaks this protocol.
struct OverHttp<P> {
    turns: TurnStates,
    refused_images: RefusedImages,
    protocol: PhantomData<P>,
}

impl<P> Default for OverHttp<P> {
    fn default() -> Self {
        Self { turns: TurnStates::default(), refused_images: RefusedImages::default(), protocol: PhantomData }
    }
}

impl<P: Protocol> Provider for OverHttp<P> {
    fn check(&self, spec: &ProviderSpec, model: &ModelRef) -> Result<(), ProviderError> {
        usable::<P>(spec)?;
        Endpoint::new::<P>(spec, model)?;
        check(&spec.options).map_err(|problem| {
            let provider = spec.id.clone();
            ProviderError::BadOption { provider, problem: problem.to_string() }
        })
    }

    fn attempt<'a>(&'a self, attempt: Attempt<'a>) -> Attempting<'a> {
        Box::pin(exchange::<P>(attempt, &self.turns, &self.refused_images))
    }

    fn lower(
        &self,
        spec: &ProviderSpec,
        (texts, tools): (&Texts, &Tools),
        request: &ModelRequest,
    ) -> Option<Result<Value, TextError>> {
        Some(P::lower(&Lowering::new(texts, request, spec, tools)).map(|body| body.document()))
    }

    fn models<'a>(
        &'a self,
        client: &'a dyn HttpClient,
        spec: &'a ProviderSpec,
        within: Millis,
    ) -> Listing<'a> {
        Box::pin(async move {
            let Ok(any) = ModelRef::new(&format!("{}/any", spec.id)) else { return Vec::new() };
            let Ok(Endpoint { url, headers, spec }) = Endpoint::new::<P>(spec, &any) else {
                return Vec::new();
            };
            near::listed::<P>(client, (&url, headers), spec, within).await
        })
    }
}

/// One attempt.
async fn exchange<P: Protocol>(
    attempt: Attempt<'_>,
    turns: &TurnStates,
    refused_images: &RefusedImages,
) -> Result<Reply, Failure> {
    usable::<P>(attempt.spec)?;
    let state = P::TURN_STATE.and_then(|_| turns.of(attempt.request));
    let mut sender = Sender::new::<P>(attempt, state, refused_images)?;
    let mut answered = answer::<P>(&mut sender, attempt).await;
    // Some servers look for a response only once they have begun to answer.
    if answered.as_ref().is_err_and(|failure| failure.kind == FailureKind::Client) && sender.forget_response()
    {
        answered = answer::<P>(&mut sender, attempt).await;
    }
    match answered {
        Ok(mut reply) => {
            if P::TURN_STATE.is_some() {
                turns.answered(attempt.request, sender.given.take());
            }
            let delivery = sender.delivery(std::mem::take(&mut reply.edits));
            Ok(Reply { delivery, stored: sender.stored(&reply), ..reply })
        }
        Err(failure) => Err(Failure { delivery: sender.delivery(Vec::new()), ..failure }),
    }
}

async fn answer<P: Protocol>(sender: &mut Sender<'_>, attempt: Attempt<'_>) -> Result<Reply, Failure> {
    let Attempt { client, texts, spec, models, request, show, .. } = attempt;
    let (mut received, refusal) = sender.send::<P>().await?;
    let url = &sender.url;
    let context = failure::AttemptContext { texts, url, protocol: P::NAME, spec, model: &request.model };
    if let Some(body) = refusal {
        let near = if advice::lacks_model(received.status, &ReportedError::body(&body)) {
            let (signed, left) = (sender.headers.clone(), sender.left());
            near::models::<P>(client, (url, signed), spec, (&request.model, models), left).await
        } else {
            Vec::new()
        };
        return Err(context.of_status(&received, &body, &near));
    }
    let (form, head) = sniff::form(&mut received).await?;
    match form {
        Form::Document => document::<P>(&context, received, head).await,
        Form::Events => stream::read::<P>(&context, received, &head, show).await,
    }
}

fn usable<P: Protocol>(spec: &ProviderSpec) -> Result<(), ProviderError> {
    let provider = || spec.id.clone();
    P::usable(spec).map_err(|problem| ProviderError::Unusable { provider: provider(), problem })
}

/// A whole answer.
async fn document<P: Protocol>(
    context: &failure::AttemptContext<'_>,
    mut received: Received,
    mut body: Vec<u8>,
) -> Result<Reply, Failure> {
    while let Some(chunk) = received.chunk().await? {
        body.extend_from_slice(&chunk);
    }
    debug_assert!(body.len() <= BODY_BYTES);
    let text = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&body);
    let mut counted = TokenUsage::default();
    let read = match json::parse(text) {
        Ok(root) => {
            counted = P::usage(root.get("usage"));
            match ReportedError::reported(&root) {
                Some(said) => Err(Malformed::Reported(said)),
                None => P::read(context.texts, &root),
            }
        }
        Err(_) if text.is_empty() => Err(Malformed::shape("it is empty")),
        Err(_) => Err(Malformed::shape("it is not JSON")),
    };
    read.map_err(|problem| context.of_document(&problem, &received, &body).after(counted))
}
