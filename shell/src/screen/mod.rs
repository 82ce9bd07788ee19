//! What a person watches on stderr: lines that stay, and below them, on a terminal, one line that says what
//! is being waited for. It leaves nothing behind: the line is wiped before anything else is written.

mod wrap;

use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use holon_platform::Environment;

pub use holon_present::{Look, harmless, within};
pub use wrap::{wrapped, wrapped_by};

/// Between two repaints of the line below: often enough to look alive, and hardly any work.
const FRAME: Duration = Duration::from_millis(125);
/// Without a terminal a line tells so often that the run is alive.
const HEARTBEAT: Duration = Duration::from_secs(60);
const FRAMES: [&str; 8] = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠇", "⠏", "⠟"];
/// The width of a terminal that doesn't tell it.
const COLUMNS: usize = 80;

/// Where activity is shown. Cheap to clone; a screen that is broken takes everything silently.
#[derive(Clone)]
pub struct Screen(Arc<Mutex<Inner>>);

struct Inner {
    out: Box<dyn Write + Send>,
    /// Whether activity is wanted at all; warnings always are.
    quiet: bool,
    /// Whether somebody reads it on a terminal.
    terminal: bool,
    /// Whether there is a line below, which needs a terminal that can wipe it.
    live: bool,
    colour: bool,
    columns: Box<dyn Fn() -> usize + Send>,
    /// What the line below says; made anew for each repaint, since it counts seconds.
    below: Option<Box<dyn Fn() -> String + Send>>,
    /// What stands there now.
    painted: String,
    frame: usize,
}

impl Screen {
    /// The process's stderr: live on a terminal, coloured where that is wanted (`NO_COLOR`, `TERM=dumb`).
    pub fn stderr(environment: &Environment) -> Self {
        let stderr = io::stderr();
        let dumb = environment.get("TERM").is_none_or(|term| term == "dumb");
        let live = stderr.is_terminal() && !dumb;
        let colour = anstream::AutoStream::choice(&stderr) != anstream::ColorChoice::Never;
        let terminal = stderr.is_terminal();
        let screen = Self::new(Box::new(stderr), live, colour, Box::new(|| columns(io::stderr())));
        screen.lock().terminal = terminal;
        screen
    }

    /// The process's stdout, for what is shown to people alone.
    pub fn stdout() -> Self {
        let stdout = io::stdout();
        let (terminal, colour) =
            (stdout.is_terminal(), anstream::AutoStream::choice(&stdout) != anstream::ColorChoice::Never);
        let screen = Self::new(Box::new(stdout), false, colour, Box::new(|| columns(io::stdout())));
        screen.lock().terminal = terminal;
        screen
    }

    /// Stderr for warnings alone.
    pub fn quiet() -> Self {
        let screen = Self::new(Box::new(io::stderr()), false, false, Box::new(|| COLUMNS));
        screen.lock().quiet = true;
        screen
    }

    fn new(
        out: Box<dyn Write + Send>,
        live: bool,
        colour: bool,
        columns: Box<dyn Fn() -> usize + Send>,
    ) -> Self {
        let (below, painted) = (None, String::new());
        Self(Arc::new(Mutex::new(Inner {
            out,
            quiet: false,
            terminal: live,
            live,
            colour,
            columns,
            below,
            painted,
            frame: 0,
        })))
    }

    /// Writes prose that stays, in lines of the terminal's width.
    pub fn prose(&self, look: Look, text: &str) {
        let columns = self.lock().prose_columns();
        self.line(look, &columns.map_or_else(|| text.to_owned(), |columns| wrapped(text, columns)));
    }

    /// Writes lines that stay.
    pub fn line(&self, look: Look, text: &str) {
        if !self.lock().quiet {
            self.warn(look, text);
        }
    }

    /// The same for what must not be missed.
    pub fn warn(&self, look: Look, text: &str) {
        let mut inner = self.lock();
        inner.wipe();
        let text = harmless(text);
        let shown = painted(look, &text, inner.colour);
        inner.write(&format!("{shown}\n"));
        inner.paint();
    }

    /// How wide what the agent says may be, where it is shown while it is made: both streams are a terminal's.
    pub fn speaks(&self) -> Option<usize> {
        let inner = self.lock();
        (inner.terminal && !inner.quiet && io::stdout().is_terminal()).then(|| columns(io::stdout()))
    }

    /// Whether colours are wanted.
    pub fn colour(&self) -> bool {
        self.lock().colour
    }

    /// Writes what the agent says to stdout, above the line below.
    pub fn say(&self, text: &str) {
        let mut inner = self.lock();
        inner.wipe();
        let mut stdout = io::stdout().lock();
        // Where stdout is closed there is nobody to show it to; the outcome says so.
        match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            Ok(()) | Err(_) => {}
        }
        drop(stdout);
        inner.paint();
    }

    /// Whether activity is shown at all.
    pub fn shows(&self) -> bool {
        !self.lock().quiet
    }

    /// Says what the line below tells from now on; none takes it away.
    pub fn below(&self, text: Option<Box<dyn Fn() -> String + Send>>) {
        let mut inner = self.lock();
        inner.below = text;
        if inner.below.is_none() {
            inner.wipe();
        }
    }

    /// Takes the line below away for good.
    pub fn finish(&self) {
        self.below(None);
    }

    /// Keeps the line below alive; never ends.
    pub async fn animate(&self) -> std::convert::Infallible {
        let live = self.lock().live;
        let mut frames = tokio::time::interval(if live { FRAME } else { HEARTBEAT });
        frames.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        frames.tick().await;
        loop {
            frames.tick().await;
            if live {
                let mut inner = self.lock();
                inner.frame += 1;
                inner.paint();
            } else if let Some(text) = self.waiting() {
                self.line(Look::Aside, &format!("… {text}"));
            }
        }
    }

    fn waiting(&self) -> Option<String> {
        self.lock().below.as_ref().map(|below| below())
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn paint(&mut self) {
        let Some(below) = self.below.as_ref().filter(|_| self.live) else { return };
        let text = harmless(&below()).replace(['\n', '\t'], " ");
        let frame = FRAMES[self.frame % FRAMES.len()];
        // The last column stays free: some terminals go to the next line when it is taken.
        let line = within(&format!("{frame} {text}"), (self.columns)().saturating_sub(1));
        if line != self.painted {
            let style = if self.colour { Style::new().dimmed() } else { Style::new() };
            self.write(&format!("\r{style}{line}{style:#}\x1b[K"));
            self.painted = line;
        }
    }

    /// How wide prose may be; without a terminal it stays in its line.
    fn prose_columns(&self) -> Option<usize> {
        self.terminal.then(|| (self.columns)())
    }

    fn wipe(&mut self) {
        if !self.painted.is_empty() {
            self.painted.clear();
            self.write("\r\x1b[K");
        }
    }

    /// Where stderr is closed or full there is nobody to tell.
    fn write(&mut self, text: &str) {
        match self.out.write_all(text.as_bytes()).and_then(|()| self.out.flush()) {
            Ok(()) | Err(_) => {}
        }
    }
}

/// Whatever ends the program in good order leaves a clean line.
impl Drop for Inner {
    fn drop(&mut self) {
        self.wipe();
    }
}

/// A text in the colour of its look, ended on each line.
pub fn painted(look: Look, text: &str, colour: bool) -> String {
    match style(look).filter(|_| colour) {
        Some(style) => {
            let lines: Vec<String> = text.lines().map(|line| format!("{style}{line}{style:#}")).collect();
            lines.join("\n")
        }
        None => text.to_owned(),
    }
}

fn style(look: Look) -> Option<Style> {
    let colour = |colour: AnsiColor| Some(Style::new().fg_color(Some(colour.into())));
    match look {
        Look::Plain => None,
        Look::Good => colour(AnsiColor::Green),
        Look::Bad => colour(AnsiColor::Red),
        Look::Aside => Some(Style::new().dimmed()),
    }
}

/// How wide a terminal is.
pub fn columns(terminal: impl AsFd) -> usize {
    let size = rustix::termios::tcgetwinsize(terminal);
    size.ok().map(|size| usize::from(size.ws_col)).filter(|columns| *columns > 0).unwrap_or(COLUMNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<u8>>>);

    impl Write for Paper {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn screen(live: bool, colour: bool) -> (Screen, impl Fn() -> String) {
        let paper = Paper::default();
        let screen = Screen::new(Box::new(paper.clone()), live, colour, Box::new(|| 20));
        (screen, move || String::from_utf8(std::mem::take(&mut *paper.0.lock().unwrap())).unwrap())
    }

    #[test]
    fn the_line_below_is_wiped_before_a_line_that_stays() {
        let (screen, written) = screen(true, false);
        screen.below(Some(Box::new(|| "waiting for a model that takes long".to_owned())));
        screen.line(Look::Plain, "one");
        assert_eq!(written(), "one\n\r⠋ waiting for a mo…\x1b[K");
        screen.line(Look::Bad, "two");
        assert_eq!(written(), "\r\x1b[Ktwo\n\r⠋ waiting for a mo…\x1b[K");
        screen.finish();
        assert_eq!(written(), "\r\x1b[K");
        screen.finish();
        assert_eq!(written(), "");
    }

    #[test]
    fn without_a_terminal_there_are_only_lines() {
        let (screen, written) = screen(false, false);
        screen.below(Some(Box::new(|| "waiting".to_owned())));
        screen.line(Look::Good, "a \x1b[31mred\x1b[0m line\nand another");
        screen.finish();
        assert_eq!(written(), "a �[31mred�[0m line\nand another\n");
    }

    #[tokio::test(start_paused = true)]
    async fn without_a_terminal_a_long_wait_is_told_once_a_minute() {
        let (screen, written) = screen(false, false);
        screen.below(Some(Box::new(|| "1:00 make".to_owned())));
        assert!(tokio::time::timeout(Duration::from_secs(150), screen.animate()).await.is_err());
        assert_eq!(written(), "… 1:00 make\n… 1:00 make\n");
    }

    #[test]
    fn colour_is_ended_on_each_line() {
        let (screen, written) = screen(false, true);
        screen.line(Look::Bad, "a\nb");
        assert_eq!(written(), "\x1b[31ma\x1b[0m\n\x1b[31mb\x1b[0m\n");
    }
}
