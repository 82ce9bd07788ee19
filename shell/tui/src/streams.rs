//! What is followed while the console is open: events of an agent, and the output of a task. What breaks is resumed by
//! the client; each piece comes as a message.

use std::time::Duration;

use holon_api::{ClientError, Control as Runtime, Events, Followed, Output, Written};
use holon_facts::ids::TaskId;
use holon_facts::{AgentId, EventSeq};
use holon_text::time::duration;
use tokio::sync::mpsc;
use tokio::time::sleep;

use crate::message::Msg;
use crate::output::Piece;
use crate::perform;
use crate::row::Row;

/// Before what failed is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// Follows an agent's events behind one of them; what breaks is resumed by the client, from the last event that came.
pub(crate) async fn follow<C: Runtime>(
    client: C,
    agent: AgentId,
    after: EventSeq,
    serial: u64,
    sender: mpsc::Sender<Msg>,
) {
    let mut events = client.follow(&agent, Some(after), true);
    let mut connected = events.connected();
    loop {
        let msg = tokio::select! {
            biased;
            Ok(()) = connected.changed() => Msg::Connected(serial, *connected.borrow_and_update()),
            next = events.next() => match next {
                Ok(Followed::Event(event)) => Msg::Event(serial, Row::of(&event)),
                Ok(Followed::Live { kind, data }) => match live(serial, &kind, &data) {
                    Some(msg) => msg,
                    None => continue,
                },
                Err(error) => {
                    let failed = failed(serial, &error);
                    if sender.send(failed).await.is_err() {
                        return;
                    }
                    sleep(AGAIN).await;
                    continue;
                }
            },
        };
        if sender.send(msg).await.is_err() {
            return;
        }
    }
}

fn live(serial: u64, kind: &str, data: &serde_json::Value) -> Option<Msg> {
    match kind {
        "live_attempt" => Some(Msg::LiveAttempt(serial)),
        "live_text" => Some(Msg::LiveText(serial, data.get("text")?.as_str()?.to_owned())),
        "live_output" => Some(Msg::LiveOutput(serial, data.get("text")?.as_str()?.to_owned())),
        _ => None,
    }
}

fn failed(serial: u64, error: &ClientError) -> Msg {
    Msg::FollowFailed(serial, error.code().map(ToOwned::to_owned), perform::worded(error))
}

/// Follows what a task writes from its first byte on, until it ends.
pub(crate) async fn output<C: Runtime>(
    client: C,
    (agent, task): (AgentId, TaskId),
    serial: u64,
    sender: mpsc::Sender<Msg>,
) {
    let mut output = client.follow_output((&agent, task), 0);
    loop {
        let piece = match output.next().await {
            Ok(Written::Piece(piece)) => Piece::Text {
                offset: piece.offset,
                next_offset: piece.next_offset,
                text: piece.text,
                lost_bytes: piece.lost_bytes,
            },
            Ok(Written::End(end)) => {
                let (ended, problem) = (&end.task, end.problem.as_ref());
                let exit = ended.exit_status.map(|status| format!(", exit status {status}"));
                let took = ended.duration_ms.map(|took| format!(" after {}", duration(took)));
                let problem = problem.map(|problem| format!("; {problem}"));
                let parts: String = [took, exit, problem].into_iter().flatten().collect();
                Piece::End(format!("{task} is {}{parts}", ended.status))
            }
            Err(error) => {
                let piece = Piece::Problem(perform::worded(&error));
                if sender.send(Msg::Output(serial, piece)).await.is_err() || !error.may_pass() {
                    return;
                }
                sleep(AGAIN).await;
                continue;
            }
        };
        let last = matches!(piece, Piece::End(_));
        if sender.send(Msg::Output(serial, piece)).await.is_err() || last {
            return;
        }
    }
}
