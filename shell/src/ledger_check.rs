//! The ledger as a whole, checked: by a command, and by a runtime on demand. A runtime's check has a thread, which yields to
//! others, and a connection of its own: agents write meanwhile, and nobody waits for it.

use std::sync::Arc;
use std::time::Duration;

use holon_api::{LedgerCheck, LedgerCheckKind, LedgerCheckState};
use holon_law::Laws;
use holon_law::replay::{Again, AuditReport};
use holon_ledger::LedgerPlace;
use holon_ledger::read::{self, NewestReport, Reader, VerifyError, VerifyReport};
use holon_platform::{build, clock, spawn};
use tokio::sync::{oneshot, watch};
use tokio::time::{sleep, timeout};

/// A check that takes longer is stopped: while it reads, what is written stays in the write-ahead log.
const LONGEST: Duration = Duration::from_mins(30);
/// A runtime that was started checks its ledger after so long.
const SOON: Duration = Duration::from_mins(10);
/// A check that is to stop is interrupted so often until it does.
const AGAIN: Duration = Duration::from_millis(200);

/// Agents that a check has in memory at once, each with some ten kilobytes. Those beyond are read once more, one after the other.
const AGENTS: usize = 5_000;

/// Everything that can be checked about a ledger, the laws among it.
///
/// # Errors
/// The first problem, with its position.
pub fn verify(reader: &Reader) -> Result<VerifyReport, VerifyError> {
    read::verify_some_at_once(reader, AGENTS, &mut Laws::new())
}

/// What is in order, for people.
pub fn verified(report: &VerifyReport) -> String {
    format!(
        "in order: {} records of {} agents in {} batches, {} calls, {} texts ({} bytes), {} snapshots; hash \
         links, folds and {} laws hold",
        report.records,
        report.agents,
        report.batches,
        report.calls,
        report.contents,
        report.content_bytes,
        report.snapshots,
        Laws::table().len()
    )
}

/// What is in order of the newest part, for people.
pub fn newest_verified(report: &NewestReport) -> String {
    format!(
        "in order: the newest {} of {} batches with {} records and {} calls, and the ends of the logs of {} agents; \
         holon ledger verify checks everything",
        report.batches, report.all_batches, report.records, report.calls, report.agents
    )
}

/// What was decided the same, for people.
pub fn replayed(report: &AuditReport) -> String {
    let skipped = match report.skipped_segments {
        0 => String::new(),
        skipped => format!(
            "; {skipped} segments were left out: of other builds (--all-builds), or removed by ledger gc"
        ),
    };
    format!(
        "the same: {} calls in {} segments decided the same {} records, byte for byte; {} laws hold{skipped}",
        report.calls,
        report.segments,
        report.records,
        Laws::table().len()
    )
}

/// The newest check of each kind, at most one of which runs. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LedgerChecks(Arc<watch::Sender<Checks>>);

#[derive(Debug, Default)]
struct Checks {
    newest: Vec<LedgerCheck>,
    /// What the last check of the whole ledger that came to its end has found: it holds while the next one runs.
    fault: Option<String>,
}

impl Default for LedgerChecks {
    fn default() -> Self {
        Self(Arc::new(watch::channel(Checks::default()).0))
    }
}

impl LedgerChecks {
    /// Begins a check of this ledger.
    ///
    /// # Errors
    /// The check that runs.
    pub fn begin(&self, ledger: LedgerPlace, check: LedgerCheckKind) -> Result<LedgerCheck, LedgerCheck> {
        let (state, started_at) = (LedgerCheckState::Running, clock::now().wall);
        let begun = LedgerCheck { check, state, started_at, ended_at: None, result: None };
        let mut running = None;
        self.0.send_if_modified(|Checks { newest, .. }| {
            running = newest.iter().find(|one| runs(one)).cloned();
            if running.is_none() {
                newest.retain(|one| one.check != check);
                newest.insert(0, begun.clone());
            }
            running.is_none()
        });
        if let Some(running) = running {
            return Err(running);
        }
        let checks = self.clone();
        drop(spawn::task(async move {
            let (state, result) = ended(ledger, check).await;
            checks.0.send_modify(|checks| {
                if check == LedgerCheckKind::Verify {
                    let failed = state == LedgerCheckState::Failed;
                    checks.fault =
                        failed.then(|| format!("the check of the ledger at {started_at} failed: {result}"));
                }
                for one in checks.newest.iter_mut().filter(|one| runs(one)) {
                    one.state = state;
                    one.ended_at = Some(clock::now().wall);
                    one.result = Some(result.clone());
                }
            });
        }));
        Ok(begun)
    }

    /// The newest first.
    pub fn newest(&self) -> Vec<LedgerCheck> {
        self.0.borrow().newest.clone()
    }

    /// What the last check of the whole ledger that came to its end has found that is not in order.
    pub fn fault(&self) -> Option<String> {
        self.0.borrow().fault.clone()
    }

    /// Checks the whole ledger again and again, for the first time soon. Ends with whoever waits for it.
    pub async fn repeat(self, ledger: LedgerPlace, every: Duration) {
        let mut wait = every.min(SOON);
        loop {
            sleep(wait).await;
            wait = every;
            // Where one runs already, its end is as good.
            drop(self.begin(ledger.clone(), LedgerCheckKind::Verify));
            self.settled().await;
            if let Some(fault) = self.fault() {
                tracing::error!("{fault}");
            }
        }
    }

    /// Waits until none runs.
    pub async fn settled(&self) {
        let mut changes = self.0.subscribe();
        // The sender lives as long as this does.
        drop(changes.wait_for(|checks| !checks.newest.iter().any(runs)).await);
    }
}

fn runs(check: &LedgerCheck) -> bool {
    check.state == LedgerCheckState::Running
}

/// How a check ends, and what is to be known of that.
async fn ended(ledger: LedgerPlace, kind: LedgerCheckKind) -> (LedgerCheckState, String) {
    let opened = spawn::blocking(move || open(&ledger)).await;
    let reader = match opened.map_err(|error| error.to_string()).flatten() {
        Ok(reader) => reader,
        Err(problem) => return (LedgerCheckState::Failed, problem),
    };
    let stopper = reader.stopper();
    let (tell, mut end) = oneshot::channel();
    let thread = spawn::yielding_thread("ledger-check", move || tell.send(checked(&reader, kind)));
    if let Err(error) = thread {
        return (LedgerCheckState::Failed, format!("there is no thread for it: {error}"));
    }
    let Ok(end) = timeout(LONGEST, &mut end).await else {
        while timeout(AGAIN, &mut end).await.is_err() {
            stopper.stop();
        }
        let minutes = LONGEST.as_secs() / 60;
        let command = match kind {
            LedgerCheckKind::Verify => "holon ledger verify",
            LedgerCheckKind::Replay => "holon ledger replay",
        };
        return (
            LedgerCheckState::Stopped,
            format!("it took longer than {minutes} minutes; {command} has no limit"),
        );
    };
    match end {
        Ok(Ok(found)) => (LedgerCheckState::Passed, found),
        Ok(Err(problem)) => (LedgerCheckState::Failed, problem),
        Err(_) => (LedgerCheckState::Failed, "the check broke off: the log of the runtime has more".into()),
    }
}

fn open(ledger: &LedgerPlace) -> Result<Reader, String> {
    let reader = ledger.check_end().and_then(|()| ledger.reader());
    // A check of a large ledger takes minutes, and each cell of a node may have one.
    reader.map(Reader::apart).map_err(|error| error.to_string())
}

fn checked(reader: &Reader, kind: LedgerCheckKind) -> Result<String, String> {
    match kind {
        LedgerCheckKind::Verify => {
            verify(reader).map(|report| verified(&report)).map_err(|error| error.to_string())
        }
        LedgerCheckKind::Replay => read::replay(reader, Again::Build(build::id().to_owned()))
            .map(|report| replayed(&report))
            .map_err(|error| error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use holon_ledger::sqlite::testing::Home;

    use super::*;

    async fn ended(checks: &LedgerChecks) -> Vec<(LedgerCheckKind, LedgerCheckState, String)> {
        checks.settled().await;
        let ended = checks.newest().into_iter();
        ended.map(|one| (one.check, one.state, one.result.unwrap_or_default())).collect()
    }

    #[tokio::test]
    async fn one_runs_at_a_time_and_the_newest_of_each_kind_is_kept() {
        let (home, checks) = (Home::with_turns(3), LedgerChecks::default());
        assert!(ended(&checks).await.is_empty());
        let begun = checks.begin(home.ledger().into(), LedgerCheckKind::Verify).unwrap();
        assert_eq!(checks.begin(home.ledger().into(), LedgerCheckKind::Replay), Err(begun.clone()));
        assert_eq!(checks.newest(), [begun]);
        for _ in 0..2 {
            ended(&checks).await;
            checks.begin(home.ledger().into(), LedgerCheckKind::Replay).unwrap();
        }
        let all = ended(&checks).await;
        let [(LedgerCheckKind::Replay, LedgerCheckState::Passed, replayed), (_, _, verified)] = &all[..]
        else {
            panic!("{all:?}")
        };
        assert!(replayed.starts_with("the same: "), "{replayed}");
        assert_eq!(*verified, super::verified(&verify(&home.reader()).unwrap()));
    }

    #[tokio::test]
    async fn a_ledger_is_checked_again_and_again_and_a_fault_stays_known_until_it_is_gone() {
        let (home, checks) = (Home::with_turns(2), LedgerChecks::default());
        let repeated = spawn::task(checks.clone().repeat(home.ledger().into(), Duration::from_millis(20)));
        let mut changes = checks.0.subscribe();
        let mut ends = async |fault: bool| {
            let ended = |all: &Vec<LedgerCheck>| all.iter().any(|one| !runs(one));
            while checks.fault().is_some() != fault || !ended(&checks.newest()) {
                changes.changed().await.unwrap();
            }
        };
        ends(false).await;
        home.vandal("UPDATE recorder SET sum = sum + 1 WHERE position = 2");
        ends(true).await;
        assert!(checks.fault().unwrap().contains("call 2"), "{:?}", checks.fault());
        home.vandal("UPDATE recorder SET sum = sum - 1 WHERE position = 2");
        ends(false).await;
        repeated.abort();
    }

    #[tokio::test]
    async fn what_is_not_in_order_is_named() {
        let (home, checks) = (Home::with_turns(1), LedgerChecks::default());
        home.vandal("UPDATE recorder SET call = '{' WHERE position = 2");
        checks.begin(home.ledger().into(), LedgerCheckKind::Verify).unwrap();
        let all = ended(&checks).await;
        assert!(
            matches!(&all[..], [(_, LedgerCheckState::Failed, problem)] if problem.contains("call 2")),
            "{all:?}"
        );
        checks.begin(home.ledger().with_file_name("nothing").into(), LedgerCheckKind::Verify).unwrap();
        let all = ended(&checks).await;
        assert!(
            matches!(&all[..], [(_, LedgerCheckState::Failed, problem)] if problem.contains("nothing")),
            "{all:?}"
        );
    }
}
