//! Sends the request of an attempt: once, and where it is repeated in another form, within the same time.

use holon_facts::delivery::{AppliedEdit, Delivery, Incremental, QuotaUse, StoredResponse, WholeReason};
use holon_facts::model::FailureKind;
use holon_facts::{Millis, Now};
use holon_platform::clock;
use http::StatusCode;
use http::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderValue};
use url::Url;

use super::endpoint::Endpoint;
use super::refused_images::{RefusedImages, images};
use super::turn_state::stated;
use super::{Lowering, Protocol, ReportedError, advice, classify};
use crate::answer::{Failure, Reply};
use crate::http::{Ask, HttpClient, Received, post};
use crate::provider::{Attempt, Credential, ProviderSpec};

pub(super) struct Sender<'a> {
    client: &'a dyn HttpClient,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    lowering: Lowering<'a>,
    /// How it was shortened when it was sent last, and what its answer will be kept for.
    incremental: Option<Incremental>,
    kept: Option<StoredResponse>,
    /// What the server wants to see again in this turn, and what it gives for the next request.
    state: Option<HeaderValue>,
    pub(super) given: Option<HeaderValue>,
    /// What the server reports of the login's quotas.
    quotas: Vec<QuotaUse>,
    refused_images: &'a RefusedImages,
    started: Now,
}

impl<'a> Sender<'a> {
    pub(super) fn new<P: Protocol>(
        attempt: Attempt<'a>,
        state: Option<HeaderValue>,
        refused_images: &'a RefusedImages,
    ) -> Result<Self, Failure> {
        let Attempt { client, texts, spec, tools, request, .. } = attempt;
        let Endpoint { url, headers: signed, .. } = Endpoint::new::<P>(spec, &request.model)?;
        let refused = refused_images.of(request);
        let lowering = Lowering { refused, ..Lowering::new(texts, request, spec, tools) };
        let headers = headers(spec, signed);
        Ok(Self {
            client,
            url,
            headers,
            lowering,
            incremental: None,
            kept: None,
            state,
            given: None,
            quotas: Vec::new(),
            refused_images,
            started: clock::now(),
        })
    }

    /// What is left of the attempt's time.
    pub(super) fn left(&self) -> Millis {
        Millis(self.lowering.request.timeout.0.saturating_sub(self.passed().0))
    }

    fn passed(&self) -> Millis {
        clock::since(self.started)
    }

    /// The answer, or what refuses the request; what is refused for its form is repeated in another one.
    pub(super) async fn send<P: Protocol>(&mut self) -> Result<(Received, Option<Vec<u8>>), Failure> {
        let answered = self.send_in_turn::<P>().await;
        self.remember(matches!(answered, Ok((_, None))));
        answered
    }

    async fn send_in_turn<P: Protocol>(&mut self) -> Result<(Received, Option<Vec<u8>>), Failure> {
        let mut received = self.post::<P>().await?;
        let mut refusal = received.refused().await;
        if let Some(said) = &refusal
            && is_client_error(received.status, said)
            && self.forget_response()
        {
            received = self.post::<P>().await?;
            refusal = received.refused().await;
        }
        if let Some(said) = &refusal
            && self.lowering.has_thoughts()
            && classify::refuses_thoughts(received.status.as_u16(), &ReportedError::body(said))
        {
            self.lowering.thoughts = false;
            received = self.post::<P>().await?;
            refusal = received.refused().await;
        }
        if let Some(said) = &refusal
            && self.lowering.shows_images()
            && refuses_images(received.status, said)
        {
            self.lowering.refused = images(self.lowering.request).collect();
            received = self.post::<P>().await?;
            refusal = received.refused().await;
        }
        // A login may have been renewed since its file was read.
        let spec = self.lowering.spec;
        if received.status == StatusCode::UNAUTHORIZED && matches!(spec.credential, Credential::Login { .. })
        {
            let again = headers(spec, Endpoint::new::<P>(spec, &self.lowering.request.model)?.headers);
            if again != self.headers {
                self.headers = again;
                received = self.post::<P>().await?;
                refusal = received.refused().await;
            }
        }
        Ok((received, refusal))
    }

    /// What was left out of a request counts as refused once the request is taken without it.
    fn remember(&mut self, taken: bool) {
        let request = self.lowering.request;
        if taken {
            self.refused_images.keep(&request.model, &self.lowering.refused);
        } else {
            self.lowering.thoughts = true;
            self.lowering.refused = self.refused_images.of(request);
        }
    }

    /// From now on the request goes on from no response. False where it went on from none.
    pub(super) fn forget_response(&mut self) -> bool {
        let went_on = self.incremental.as_ref().is_some_and(|sent| sent.response_id.is_some());
        if went_on {
            self.lowering.whole = Some(WholeReason::Refused);
        }
        went_on
    }

    /// What is on record of how the request went over the wire.
    pub(super) fn delivery(&self, edits: Vec<AppliedEdit>) -> Option<Box<Delivery>> {
        let delivery = Delivery {
            incremental: self.incremental.clone(),
            edits,
            thoughts_refused: !self.lowering.thoughts,
            thoughts_left_out: self.lowering.thoughts_left_out(),
            images_refused: !self.lowering.refused.is_empty(),
            quotas: self.quotas.clone(),
        };
        (delivery != Delivery::default()).then(|| Box::new(delivery))
    }

    /// The answer as its provider keeps it.
    pub(super) fn stored(&self, reply: &Reply) -> Option<Box<StoredResponse>> {
        let (id, kept) = reply.response_id.as_ref().zip(self.kept.as_ref())?;
        Some(Box::new(StoredResponse { id: id.clone(), ..kept.clone() }))
    }

    async fn post<P: Protocol>(&mut self) -> Result<Received, Failure> {
        let lowered = P::lower(&self.lowering).and_then(|body| P::shortened(&self.lowering, body));
        let lowered = lowered.map_err(|problem| {
            Failure::new(FailureKind::Client, format!("the request can't be built: {problem}"))
        })?;
        let body = lowered.body.bytes();
        (self.incremental, self.kept) = (lowered.incremental, lowered.kept);
        let spec = self.lowering.spec;
        let headers = stated(self.headers.clone(), P::TURN_STATE.zip(self.state.clone()));
        let timeout = self.lowering.request.timeout;
        let ask =
            Ask { url: &self.url, headers, body, options: &spec.options, timeout, passed: self.passed() };
        let received = post(self.client, ask).await;
        let received = received.map_err(|failure| advice::unreachable(failure, &self.url, spec))?;
        self.given = P::TURN_STATE.and_then(|name| received.headers.get(name).cloned());
        self.quotas = P::quotas(&received.headers);
        Ok(received)
    }
}

fn is_client_error(status: StatusCode, said: &[u8]) -> bool {
    classify::status(status.as_u16(), &ReportedError::body(said), None) == FailureKind::Client
}

/// Whether a refusal is about images. The name of a model that isn't there may have one of their words.
fn refuses_images(status: StatusCode, said: &[u8]) -> bool {
    let said = ReportedError::body(said);
    classify::refuses_images(status.as_u16(), &said) && !advice::lacks_model(status, &said)
}

fn headers(spec: &ProviderSpec, mut headers: HeaderMap) -> HeaderMap {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let stream = spec.options.stream;
    let accepted = if stream { "text/event-stream, application/json" } else { "application/json" };
    headers.insert(ACCEPT, HeaderValue::from_static(accepted));
    headers
}
