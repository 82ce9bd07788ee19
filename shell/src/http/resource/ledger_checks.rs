//! Checks of the whole ledger: begun here, performed elsewhere, one at a time.

use std::time::Duration;

use holon_api::rows::{CheckTheLedger, ShowLedgerChecks};
use holon_api::{CheckLedger, Code, Json, LedgerCheckReply, LedgerChecks, LedgerChecksQuery};

use super::super::App;
use super::super::failure::Failure;
use super::super::route::{Call, Handled};
use super::agents::bounded;

pub(in super::super) async fn begin(app: App, call: Call<CheckTheLedger>) -> Handled<LedgerCheckReply> {
    let Json(CheckLedger { check }) = call.body;
    match app.ledger_checks.begin(app.home.ledger(), check) {
        Ok(check) => Ok(LedgerCheckReply { ok: true, check }),
        Err(running) => {
            let text = format!("a check of the ledger runs since {}", running.started_at);
            Err(Failure::new(Code::CheckRunning, text)
                .hint("GET /control/ledger/checks?wait_ms=30000 waits for its end")
                .detail("started_at", running.started_at.to_string()))
        }
    }
}

pub(in super::super) async fn show(app: App, call: Call<ShowLedgerChecks>) -> Handled<LedgerChecks> {
    let wait = bounded("wait_ms", call.query.wait_ms, (0, LedgerChecksQuery::WAIT_MS), 0)?;
    tokio::select! {
        biased;
        () = app.ledger_checks.settled() => {}
        () = app.shutdown.asked() => {}
        () = tokio::time::sleep(Duration::from_millis(wait as u64)) => {}
    }
    Ok(LedgerChecks { ok: true, checks: app.ledger_checks.newest() })
}
