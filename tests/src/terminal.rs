//! A program on a real terminal, and what a person sees there.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

const ROWS: NonZero<u16> = NonZero::new(40).expect("not zero");
const COLUMNS: NonZero<u16> = NonZero::new(80).expect("not zero");

/// What asks a terminal where its cursor stands.
const ASKS: &[u8] = b"\x1b[6n";

/// A program that runs on a terminal of its own, which controls it.
pub struct OnTerminal {
    pub child: Child,
    keyboard: File,
    written: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
    size: (u16, u16),
}

impl OnTerminal {
    /// Starts a program with all three streams on the terminal, or with another stdout.
    pub fn start(command: &Command, stdout: Option<File>) -> Self {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
        grantpt(&master).expect("it is ours");
        unlockpt(&master).expect("it opens");
        let size = (ROWS.get(), COLUMNS.get());
        tcsetwinsize(&master, sized(size)).expect("it has a size");
        let name = ptsname(&master, Vec::new()).expect("it has a name");
        let open = || -> OwnedFd {
            rustix::fs::open(&name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())
                .expect("its other side")
        };
        let mut session = Command::new("setsid");
        session.arg("--ctty").arg(command.get_program()).args(command.get_args());
        if let Some(folder) = command.get_current_dir() {
            session.current_dir(folder);
        }
        session.env_clear().env("TERM", "xterm-256color");
        session.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        session.stdin(open()).stderr(open());
        match stdout {
            Some(file) => session.stdout(file),
            None => session.stdout(open()),
        };
        let child = session.spawn().expect("it starts");
        drop(session);
        let keyboard = File::from(master);
        let mut screen = keyboard.try_clone().expect("a second handle");
        let written: Arc<Mutex<Vec<u8>>> = Arc::default();
        let kept = written.clone();
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4_096];
            // The last one to leave the other side ends this with an error.
            while let Ok(count @ 1..) = screen.read(&mut buffer) {
                let mut written = kept.lock().expect("no test panics here");
                written.extend_from_slice(&buffer[..count]);
                // A program that asks where the cursor stands is answered, as terminals do.
                if buffer[..count].windows(ASKS.len()).any(|asked| asked == ASKS) {
                    let mut shown = vt100::Parser::new(ROWS, COLUMNS, 0);
                    shown.process(&written);
                    let (row, column) = shown.screen().cursor_position();
                    let answer = format!("\x1b[{};{}R", row + 1, column + 1);
                    screen.write_all(answer.as_bytes()).expect("the terminal is there");
                }
            }
        });
        Self { child, keyboard, written, reader, size }
    }

    /// Presses keys.
    pub fn press(&mut self, keys: &[u8]) {
        self.keyboard.write_all(keys).expect("the terminal is there");
    }

    /// Makes it another size: what is written from now on is for that, and what was written before is forgotten.
    pub fn resize(&mut self, rows: u16, columns: u16) {
        self.written.lock().expect("no test panics here").clear();
        self.size = (rows, columns);
        tcsetwinsize(&self.keyboard, sized(self.size)).expect("it has a size");
    }

    fn parser(&self) -> vt100::Parser {
        let (rows, columns) = self.size;
        let size = |number| NonZero::new(number).expect("not zero");
        vt100::Parser::new(size(rows), size(columns), 0)
    }

    /// Everything that was written so far.
    pub fn written(&self) -> String {
        String::from_utf8_lossy(&self.written.lock().expect("no test panics here")).into_owned()
    }

    /// How many bytes were written so far.
    pub fn written_bytes(&self) -> usize {
        self.written.lock().expect("no test panics here").len()
    }

    /// Whether a byte was written behind so many; cheap however much was written before.
    pub fn has_written(&self, byte: u8, after: usize) -> bool {
        self.written.lock().expect("no test panics here")[after..].contains(&byte)
    }

    /// What stands on the screen now.
    pub fn screen(&self) -> String {
        let mut screen = self.parser();
        screen.process(&self.written.lock().expect("no test panics here"));
        screen.screen().contents()
    }

    /// Waits for its end: the status, the screen as it was left, and everything that was written.
    pub fn end(mut self) -> (ExitStatus, String, String) {
        let status = self.child.wait().expect("it ends");
        let mut screen = self.parser();
        self.reader.join().expect("the reader ends");
        let written = self.written.lock().expect("no test panics here").clone();
        screen.process(&written);
        (status, screen.screen().contents(), String::from_utf8_lossy(&written).into_owned())
    }
}

fn sized((rows, columns): (u16, u16)) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}
