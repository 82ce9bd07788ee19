//! The one loop: it reads keys, events and answers, and draws what changed, at most 30 times a second.

use std::future::Future;
use std::io;
use std::process::Stdio;
use std::time::Duration;

use crossterm::event::{Event, MouseEventKind};
use holon_api::Control as Runtime;
use holon_facts::{AgentId, EventSeq, Millis};
use holon_platform::{clock, entropy, spawn};
use holon_present::Level;
use ratatui::widgets::Widget;
use tokio::process::Command;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, sleep_until};

use crate::keyboard::{Typed, typed};
use crate::message::{Answer, Msg, Request};
use crate::model::{Link, Look, Model};
use crate::terminal::{Mode, Taken};
use crate::update::{begin, update};
use crate::{layout, lists, perform, streams, view};

/// Between two frames.
const FRAME: Duration = Duration::from_millis(33);
/// Between a frame and one that shows what was typed since.
const TYPED: Duration = Duration::from_millis(8);
/// Messages that wait for the loop; whoever brings more waits.
const WAITING: usize = 1_024;
/// Lines that one notch of the wheel scrolls.
const WHEEL: isize = 3;
/// Messages that are taken at once.
const TAKEN: usize = 256;
/// Before what failed is tried again.
const AGAIN: Duration = Duration::from_secs(1);
/// Events so close to each other share one look at the agent's status.
const SETTLED: Duration = Duration::from_millis(150);

/// How the console begins.
#[derive(Debug, Clone)]
pub struct Options {
    pub agent: AgentId,
    pub level: Level,
    /// Finished rows go to the scrollback of the terminal; otherwise the alternate screen is used.
    pub inline: bool,
    /// The wheel scrolls; the terminal selects no text meanwhile.
    pub mouse: bool,
    pub colour: bool,
    /// The command that starts the runtime, where the console may do that.
    pub start: Option<Vec<String>>,
}

struct Console<C> {
    client: C,
    start: Option<Vec<String>>,
    model: Model,
    sender: mpsc::Sender<Msg>,
    follower: Option<JoinHandle<()>>,
    /// Follows the output of a task.
    watcher: Option<JoinHandle<()>>,
    /// Prompts on their way with their keys, one of each agent at most.
    prompts: Vec<(String, JoinHandle<()>)>,
    /// The last row that went to the scrollback, and whose it is.
    printed: (AgentId, EventSeq),
}

/// Shows an agent until the operator leaves, or `ending` comes. Nothing in the runtime changes by that.
///
/// # Errors
/// A terminal that can't be read or written.
pub async fn run<C>(client: C, options: Options, ending: impl Future<Output = ()>) -> io::Result<()>
where
    C: Runtime + Clone + Send + Sync + 'static,
{
    let mut taken = Taken::take(Mode { inline: options.inline, mouse: options.mouse })?;
    let (width, height) = taken.size()?;
    let (inline, colour) = (options.inline, options.colour);
    let look = Look { width, height, colour, inline, now: clock::now().wall };
    let name = format!("tui-{}", entropy::key()?);
    let printed = (options.agent.clone(), EventSeq(0));
    let model = Model::new(options.agent, options.level, look, name, options.start.is_some());
    let (sender, mut incoming) = mpsc::channel(WAITING);
    let mut keys = typed(options.inline)?;
    let (follower, watcher, prompts) = (None, None, Vec::new());
    let mut console =
        Console { client, start: options.start, model, sender, follower, watcher, prompts, printed };
    for request in begin(&console.model) {
        console.perform(request);
    }
    let mut second = interval(Duration::from_secs(1));
    second.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut ending = std::pin::pin!(ending);
    let (mut changed, mut drawn, mut messages) = (true, Instant::now() - FRAME, Vec::new());
    let mut pause = FRAME;
    while !console.model.session.leaving {
        tokio::select! {
            biased;
            () = &mut ending => break,
            () = sleep_until(drawn + pause), if changed => {
                console.draw(&mut taken)?;
                (changed, drawn, pause) = (false, Instant::now(), FRAME);
                continue;
            }
            key = keys.recv() => match key {
                Some(Typed::Event(Event::Key(key))) => {
                    let now = clock::now();
                    messages.push(Msg::Key(key, Millis(now.mono.since(holon_facts::Mono(0)).0)));
                }
                Some(Typed::Event(Event::Paste(text))) => messages.push(Msg::Paste(text)),
                Some(Typed::Resized(size, cursor)) => {
                    taken.resized(size, cursor)?;
                    let (width, height) = taken.size()?;
                    messages.push(Msg::Resize(width, height));
                }
                Some(Typed::Event(Event::Mouse(mouse))) => messages.extend(wheel(mouse.kind)),
                Some(Typed::Event(Event::FocusGained | Event::FocusLost | Event::Resize(..))) => continue,
                None => break,
            },
            _ = incoming.recv_many(&mut messages, TAKEN) => {}
            _ = second.tick(), if console.model.ticks() => messages.push(Msg::Tick(clock::now().wall)),
        }
        for message in messages.drain(..) {
            if matches!(message, Msg::Key(..) | Msg::Paste(_) | Msg::Wheel(_)) {
                pause = TYPED;
            }
            for request in update(&mut console.model, message) {
                console.perform(request);
            }
        }
        if console.model.followed().is_none() {
            stop(&mut console.watcher);
        }
        changed = true;
    }
    stop(&mut console.follower);
    stop(&mut console.watcher);
    Ok(())
}

impl<C: Runtime + Clone + Send + Sync + 'static> Console<C> {
    fn draw(&mut self, taken: &mut Taken) -> io::Result<()> {
        if self.model.look.inline {
            if taken.has_moved()? {
                return Ok(());
            }
            self.print(taken)?;
        }
        taken.draw(|frame| view::view(&self.model, frame))
    }

    /// Writes finished rows to the scrollback, each once.
    fn print(&mut self, taken: &mut Taken) -> io::Result<()> {
        let columns = usize::from(self.model.look.width);
        let rows = self.model.conversation.finished(self.printed.1);
        let mut last = self.printed.1;
        let mut lines = Vec::new();
        for row in rows {
            last = row.seq;
            if row.is_shown(self.model.level) {
                lines.extend(layout::lines(row, columns, self.model.look.colour));
            }
        }
        self.printed.1 = last;
        for some in lines.chunks(usize::from(u8::MAX)) {
            let height = u16::try_from(some.len()).unwrap_or(u16::MAX);
            taken.insert_before(height, |buffer| {
                for (y, line) in (0..height).zip(some) {
                    line.render(ratatui::layout::Rect { y, height: 1, ..buffer.area }, buffer);
                }
            })?;
        }
        Ok(())
    }

    fn perform(&mut self, request: Request) {
        let (client, sender) = (self.client.clone(), self.sender.clone());
        let again = matches!(self.model.link, Link::Missing(_));
        match request {
            Request::Leave => {}
            Request::Follow(agent, after, serial) => {
                stop(&mut self.follower);
                if self.printed.0 != agent {
                    self.printed = (agent.clone(), EventSeq(0));
                }
                self.follower = Some(spawn::task(streams::follow(client, agent, after, serial, sender)));
            }
            Request::StartRuntime => {
                let start = self.start.clone().unwrap_or_default();
                self.answer(async move { started(&start).await });
            }
            Request::Load(agent) => {
                stop(&mut self.follower);
                self.answer(async move {
                    if again {
                        sleep(AGAIN).await;
                    }
                    perform::load(&client, agent).await
                });
            }
            Request::Older(agent, before) => {
                self.answer(async move { perform::older(&client, agent, before).await });
            }
            Request::Texts(agent, first, last) => {
                self.answer(async move { perform::texts(&client, agent, first, last).await });
            }
            Request::Status(agent) => {
                self.answer(async move {
                    sleep(SETTLED).await;
                    perform::status(&client, agent).await
                });
            }
            Request::Send(prompt) => {
                let key = prompt.key.clone();
                let sent = self.answer(async move { perform::send(&client, prompt).await });
                self.prompts.retain(|(_, prompt)| !prompt.is_finished());
                self.prompts.push((key, sent));
            }
            Request::Withdraw(key) => {
                self.prompts.extract_if(.., |(of, _)| *of == key).for_each(|(_, prompt)| prompt.abort());
            }
            Request::Open(agent, kind) => {
                self.answer(async move {
                    let entries = lists::entries(&client, &agent, &kind).await;
                    Answer::Opened(agent, kind, entries.map_err(|error| perform::worded(&error)))
                });
            }
            Request::FollowOutput(agent, task, serial) => {
                stop(&mut self.watcher);
                self.watcher = Some(spawn::task(streams::output(client, (agent, task), serial, sender)));
            }
            Request::Control(agent, control) => {
                self.answer(async move { perform::control(&client, agent, control).await });
            }
        }
    }

    /// Makes a request beside the loop. Its answer comes as a message.
    fn answer(&self, work: impl Future<Output = Answer> + Send + 'static) -> JoinHandle<()> {
        let sender = self.sender.clone();
        spawn::task(async move {
            let answer = work.await;
            // A console that was left needs no answer.
            drop(sender.send(Msg::Answer(answer)).await);
        })
    }
}

/// What the mouse does besides scrolling is the terminal's business.
fn wheel(kind: MouseEventKind) -> Option<Msg> {
    match kind {
        MouseEventKind::ScrollUp => Some(Msg::Wheel(-WHEEL)),
        MouseEventKind::ScrollDown => Some(Msg::Wheel(WHEEL)),
        MouseEventKind::Down(_)
        | MouseEventKind::Up(_)
        | MouseEventKind::Drag(_)
        | MouseEventKind::Moved
        | MouseEventKind::ScrollLeft
        | MouseEventKind::ScrollRight => None,
    }
}

async fn started(command: &[String]) -> Answer {
    let Some((program, arguments)) = command.split_first() else {
        return Answer::Done(Err("this console can't start the runtime".to_owned()));
    };
    let run = Command::new(program).args(arguments).stdin(Stdio::null()).output().await;
    Answer::Done(match run {
        Ok(output) if output.status.success() => Ok("the runtime is started".to_owned()),
        Ok(output) => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
        Err(error) => Err(format!("{program} can't be run: {error}")),
    })
}

fn stop(task: &mut Option<JoinHandle<()>>) {
    if let Some(task) = task.take() {
        task.abort();
    }
}
