//! The last lines of a command in the foreground, for those who follow its agent while it runs. Nobody's result depends
//! on them: what the command has printed is in its result.

use std::path::PathBuf;
use std::time::Duration;

use holon_facts::{AgentId, OpId};
use holon_platform::spawn;
use holon_present::last_lines;
use holon_supervise::output_log;
use holon_text::Texts;
use tokio::time::Instant;

use super::{Commands, lock};
use crate::live::{Live, LiveSink};

/// Between two looks at the log: at most so often lines are shown.
const LOOK: Duration = Duration::from_millis(250);
/// What stays as it is comes again so often, for who has just begun to follow.
const AGAIN: Duration = Duration::from_secs(2);
/// Characters of the log's end in which lines are looked for.
const CHARACTERS: usize = 4_096;

/// Where the lines of one command go. Whoever showed some shows none at the end, however it comes.
struct Shown<'a> {
    live: &'a LiveSink,
    agent: &'a AgentId,
    op: OpId,
    lines: String,
    at: Instant,
}

impl Shown<'_> {
    fn show(&mut self, lines: String) {
        if lines.is_empty() || (lines == self.lines && self.at.elapsed() < AGAIN) {
            return;
        }
        self.send(lines.clone());
        (self.lines, self.at) = (lines, Instant::now());
    }

    fn send(&self, lines: String) {
        self.live.send(Live::Output { agent: self.agent.clone(), op: self.op, lines });
    }
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if !self.lines.is_empty() {
            self.send(String::new());
        }
    }
}

impl Commands {
    /// Shows the lines of a command until it goes on as a task, or until this is dropped; never ends by itself before.
    pub(in crate::perform) async fn show_lines(
        &self,
        texts: &Texts,
        live: &LiveSink,
        agent: &AgentId,
        op: OpId,
    ) {
        let mut shown = Shown { live, agent, op, lines: String::new(), at: Instant::now() };
        loop {
            tokio::time::sleep(LOOK).await;
            let Some(logs) = self.foreground_logs(agent, op) else { return };
            if !live.is_followed(agent) {
                continue;
            }
            let texts = texts.clone();
            // A log that can't be read now is looked at again; the result reports what is wrong with it.
            if let Ok(lines) = spawn::blocking(move || newest(&texts, &logs)).await {
                shown.show(lines);
            }
        }
    }

    /// The logs of a command that is executed in the foreground: one for each of a batch.
    fn foreground_logs(&self, agent: &AgentId, op: OpId) -> Option<Vec<PathBuf>> {
        let executing = lock(&self.executing);
        let place = &executing.get(&(agent.clone(), op))?.place;
        (!place.kept).then(|| place.logs.clone())
    }
}

/// The last lines of the newest log that has any.
fn newest(texts: &Texts, logs: &[PathBuf]) -> String {
    let ends = logs.iter().rev().filter_map(|log| output_log::newest(texts, log, CHARACTERS).ok());
    ends.map(|end| last_lines(&end)).find(|lines| !lines.is_empty()).unwrap_or_default()
}
