//! Requests of those who do not ask again, while nobody owns the cell that they are about: they are kept in the database, and
//! the next owner judges them. Only whoever would be let in can leave one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::header::{AUTHORIZATION, COOKIE};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use holon_api::{Code, DepositDisposition, Deposited, WEBHOOK_BYTES};
use holon_facts::ids::DepositId;
use holon_ledger::error::LedgerError;
use holon_ledger::postgres::node::{CellId, Deposits, Epoch, Routes, Waiting};
use holon_platform::spawn;
use holon_supervise::confine::peer::Standing;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::super::peer::{OtherEnd, Peer};
use super::super::reply::json;
use super::target::{Sender, Target, sender};
use super::{AboutFront, Front, served};

/// Between two looks at what waits.
const LOOK: Duration = Duration::from_millis(250);
/// How long the runtime may take to answer one.
const ANSWERS: Duration = Duration::from_secs(30);
/// Bytes of an answer that are kept.
const ANSWER: usize = 4_096;

/// A request as it is kept.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    uri: String,
    headers: Vec<(String, String)>,
    /// In base64.
    body: String,
    /// Whether the node that kept it had let its sender in.
    admitted: bool,
}

/// Judges what was deposited for a cell for as long as this node owns it.
pub(super) struct Judge(JoinHandle<()>);

impl Drop for Judge {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// What came of one that waits.
enum Judged {
    Verdict(StatusCode, String),
    /// The runtime may have taken it in, and has not said so yet.
    Open,
    /// The agent is in another cell now.
    Elsewhere(CellId),
    /// Later.
    No,
}

impl Front {
    /// Keeps a request that nobody takes at this moment; none where it is no such request, or can't be kept.
    pub(super) async fn keep(
        &self,
        cell: CellId,
        parts: &Parts,
        body: &Bytes,
        end: &OtherEnd,
    ) -> Option<Response> {
        let whose = sender(&parts.method, &parts.uri)?;
        // A database that is away keeps nothing.
        if body.len() > WEBHOOK_BYTES || self.0.routes.borrow().problem.is_some() {
            return None;
        }
        let AboutFront { triggers, signatures, .. } = &self.0.about;
        let admitted = match whose {
            Sender::Address => {
                let Target::Address(token) = Target::of(&parts.uri) else { return None };
                triggers.read(&token)?;
                false
            }
            Sender::Signed if signatures.are_required() => {
                if let Err(refused) = signatures.check(&parts.headers, body) {
                    return Some(refused.into_response());
                }
                false
            }
            Sender::Signed | Sender::Known => match self.refuses(parts, end).await {
                None => true,
                refused => return refused,
            },
        };
        let request = serde_json::to_string(&Kept::of(parts, body, admitted)).ok()?;
        let deposits = self.0.deposits.clone();
        let kept = spawn::blocking(move || deposits.make(cell, &request)).await.ok()?;
        Some(match kept {
            Ok(Some(deposit)) => {
                let disposition = DepositDisposition::WillBeJudged;
                json(StatusCode::ACCEPTED, &Deposited { ok: true, disposition, deposit })
            }
            Ok(None) => return None,
            Err(error) => super::lost(&error.to_string()),
        })
    }

    /// What a sender is told whom this node does not let in.
    async fn refuses(&self, parts: &Parts, end: &OtherEnd) -> Option<Response> {
        let peer = end.peer(&self.0.about.peers, self.0.policy.care(&parts.headers)).await;
        self.0.policy.admit(peer, &parts.headers).err().map(IntoResponse::into_response)
    }

    /// Begins to judge what was deposited for a cell, and what will be.
    pub(super) fn judge(&self, cell: CellId, epoch: Epoch, router: Router) -> Judge {
        let judging = Judging {
            front: self.clone(),
            deposits: self.0.deposits.clone(),
            own: (cell, epoch),
            router,
            bearer: self.0.bearer.clone(),
            open: BTreeSet::new(),
        };
        Judge(spawn::task(judging.run(self.0.routes.clone())))
    }
}

impl Kept {
    /// Without what proves who has sent it: the node that keeps it has looked.
    fn of(parts: &Parts, body: &Bytes, admitted: bool) -> Self {
        let secret = [AUTHORIZATION, COOKIE];
        let headers = parts.headers.iter().filter(|(name, _)| !secret.contains(name));
        let headers =
            headers.filter_map(|(name, value)| Some((name.to_string(), value.to_str().ok()?.to_owned())));
        Self {
            uri: parts.uri.path_and_query().map_or_else(String::new, ToString::to_string),
            headers: headers.collect(),
            body: BASE64.encode(body),
            admitted,
        }
    }

    /// The request again, from elsewhere, whatever machine it came from.
    fn request(self, deposit: DepositId, bearer: &HeaderValue) -> Option<Request> {
        let mut request = Request::new(Body::from(BASE64.decode(self.body).ok()?));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.parse::<Uri>().ok()?;
        for (name, value) in self.headers {
            let (name, value) = (HeaderName::try_from(name).ok()?, HeaderValue::try_from(value).ok()?);
            request.headers_mut().append(name, value);
        }
        if self.admitted {
            request.headers_mut().insert(AUTHORIZATION, bearer.clone());
        }
        request.extensions_mut().insert(OtherEnd::known(Peer::Tcp(Standing::Remote)));
        request.extensions_mut().insert(deposit);
        Some(request)
    }
}

/// Deposits of one cell, judged one after the other.
struct Judging {
    front: Front,
    deposits: Arc<Deposits>,
    own: (CellId, Epoch),
    router: Router,
    bearer: HeaderValue,
    /// Those of which it is not known whether the runtime has them: it is not asked again.
    open: BTreeSet<DepositId>,
}

impl Judging {
    async fn run(mut self, mut routes: watch::Receiver<Routes>) {
        loop {
            let cell = self.own.0;
            if routes.wait_for(|routes| routes.deposits.contains(&cell)).await.is_err() {
                return;
            }
            if let Err(error) = self.round().await {
                tracing::warn!("what was deposited for cell {} waits: {error}", cell.0);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Judges all that wait now, or those before one that can't be judged yet.
    async fn round(&mut self) -> Result<(), LedgerError> {
        let (cell, mut after) = (self.own.0, DepositId(0));
        loop {
            let page = self.ask(move |deposits| deposits.waiting(cell, after)).await?;
            let Some(last) = page.last() else { break };
            after = last.deposit;
            for waiting in page {
                let deposit = waiting.deposit;
                if self.open.contains(&deposit) {
                    continue;
                }
                match self.judged(waiting).await {
                    Judged::Verdict(status, answer) => {
                        let (own, status) = (self.own, status.as_u16());
                        self.ask(move |deposits| deposits.judge(own, deposit, status, &answer)).await?;
                    }
                    Judged::Elsewhere(to) => {
                        let own = self.own;
                        self.ask(move |deposits| deposits.pass_on(own, deposit, to)).await?;
                    }
                    Judged::Open => drop(self.open.insert(deposit)),
                    Judged::No => return Ok(()),
                }
            }
        }
        self.ask(Deposits::forget).await
    }

    async fn judged(&self, waiting: Waiting) -> Judged {
        let deposit = waiting.deposit;
        let kept = serde_json::from_str::<Kept>(&waiting.request).ok();
        let Some(request) = kept.and_then(|kept| kept.request(deposit, &self.bearer)) else {
            return Judged::Verdict(StatusCode::BAD_REQUEST, "this build can't read it".to_owned());
        };
        match self.front.goes_to(self.own.0, request.uri()).await {
            Ok(cell) if cell != self.own.0 => return Judged::Elsewhere(cell),
            Ok(_) => {}
            Err(_) => return Judged::No,
        }
        let answered = tokio::time::timeout(ANSWERS, served(self.router.clone(), request)).await;
        let Ok(response) = answered else { return Judged::Open };
        let status = response.status();
        match response.extensions().get::<Code>() {
            Some(Code::NotStoredYet | Code::NotAnswered) => return Judged::Open,
            _ if status == StatusCode::SERVICE_UNAVAILABLE => return Judged::No,
            Some(_) | None => {}
        }
        let body = to_bytes(response.into_body(), 1 << 20).await.unwrap_or_default();
        let answer: String = String::from_utf8_lossy(&body).chars().take(ANSWER).collect();
        Judged::Verdict(status, answer)
    }

    async fn ask<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&Deposits) -> Result<T, LedgerError> + Send + 'static,
    ) -> Result<T, LedgerError> {
        let deposits = self.deposits.clone();
        let asked = spawn::blocking(move || ask(&deposits)).await;
        asked.unwrap_or_else(|error| {
            Err(LedgerError::Refused { doing: "judging what was deposited", problem: error.to_string() })
        })
    }
}
