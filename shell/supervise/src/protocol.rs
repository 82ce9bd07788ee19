//! The protocol between a runtime and a supervisor: frames of JSON behind their length, over a socket.

use std::fmt;
use std::io::{self, Read, Write};
use std::path::PathBuf;

use holon_facts::call::ToolName;
use holon_facts::receipt::ToolErrorKind;
use holon_platform::process::Identity;
use holon_text::Secrets;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::confine::Policy;

/// Longest frame in bytes; a plan with the longest commands is far shorter.
pub const FRAME_BYTES: usize = 4 << 20;

/// Bytes of a log, where a plan does not say.
pub const LOG_BYTES: u64 = 256 << 20;

/// Longest text of one input in bytes.
pub const INPUT_BYTES: usize = 64 << 10;

/// From a runtime to a supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum Request {
    /// Execute this: the identity of the supervisor is durable.
    Go {
        plan: Plan,
        #[serde(default)]
        hidden: Hidden,
    },
    /// End the command and what it left; at once with `force`, otherwise with time to clean up.
    Stop { force: bool },
    /// Proves that the sender is a runtime: first on each connection but the one that the supervisor was started with. A
    /// supervisor of an earlier version is not sent it: it has no key.
    Prove { key: String },
    /// Who are you? Asked by a runtime that was started later.
    Hello,
    /// Write this to the command's input: its pipe, or its terminal. Sent on a connection of its own: a
    /// supervisor of an earlier version ends a connection on which it gets an unknown request.
    Input {
        /// Returned with the answer.
        id: u64,
        /// At most [`INPUT_BYTES`].
        text: String,
    },
}

/// From a supervisor to a runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "tell", rename_all = "snake_case")]
pub enum Reply {
    Ready {
        identity: Identity,
        /// After so long everything is over, whatever the command does; none where only the command knows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remaining_ms: Option<u64>,
    },
    /// What became of an input.
    Input {
        id: u64,
        /// How much of it the command's pipe or terminal has taken.
        bytes_written: u64,
        /// Why that is not all of it, in words.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<String>,
    },
    /// The exit record is durable.
    Ended,
}

/// What a supervisor keeps out of logs and records. It is in no record itself.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hidden {
    /// Values with the names that stand for them.
    pub named: Vec<(String, String)>,
    /// Whether tokens are known by their shape as well.
    pub shapes: bool,
}

/// Bytes of values that a supervisor is given: a frame has space for them and a plan. Whoever reads a log knows all.
const HIDDEN_BYTES: usize = 1 << 20;

impl Hidden {
    /// What is known as secret here.
    pub fn of(secrets: &Secrets) -> Self {
        let mut bytes = 0;
        let within = |(name, value): &&(String, String)| {
            bytes += name.len() + value.len();
            bytes <= HIDDEN_BYTES
        };
        Self { named: secrets.named().iter().take_while(within).cloned().collect(), shapes: secrets.shapes() }
    }

    pub(super) fn secrets(self) -> Secrets {
        Secrets::new(self.named).with_shapes(self.shapes)
    }
}

impl fmt::Debug for Hidden {
    /// Without the values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hidden({} values)", self.named.len())
    }
}

/// What is to be executed: one command, or several in a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    pub tool: ToolName,
    pub items: Vec<Item>,
    /// Whether a command that fails is the last one.
    pub stop_on_error: bool,
    /// Time for all items together: past it no further one begins. None: as long as they take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_ms: Option<u64>,
    /// Time between the request to end and the end.
    pub grace_ms: u64,
    /// Whether the command ends with the runtime that gave the word, because nobody would ever ask for it again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tied: bool,
    /// The file that says until when its commands may run; none: as long as they take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<PathBuf>,
    /// How many files its processes may have open; none leaves it as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_files: Option<u64>,
    /// What its processes are held back from; none: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confine: Option<Policy>,
}

/// One command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Item {
    pub cmd: String,
    pub shell: PathBuf,
    pub login: bool,
    pub tty: bool,
    pub folder: PathBuf,
    /// Time that the command has; none: it runs until it ends or is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_ms: Option<u64>,
    /// Time that was asked for, of a command with a window: may be more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_ms: Option<u64>,
    /// Whether it can be given input.
    #[serde(default)]
    pub input: Input,
    /// Characters of output that will be shown.
    pub budget: usize,
    /// Where the whole of its output goes.
    pub log: PathBuf,
    /// How much of it is kept there: past it the head and the tail.
    #[serde(default = "log_bytes")]
    pub log_bytes: u64,
    /// Why this one is not executed; only within a batch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Refused>,
}

/// What the standard input of a command is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// Nothing, or a terminal at which nobody types.
    #[default]
    None,
    /// A pipe that stays open until the command ends, or a terminal: both take what [`Request::Input`] brings.
    Pipe,
}

fn log_bytes() -> u64 {
    LOG_BYTES
}

/// A command that is not executed, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    pub kind: ToolErrorKind,
    pub message: String,
}

/// A message as it goes over the socket.
///
/// # Errors
/// When it is longer than a frame may be.
pub fn frame(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let json = serde_json::to_vec(message)?;
    let length = u32::try_from(json.len()).ok().filter(|_| json.len() <= FRAME_BYTES).ok_or_else(too_long)?;
    let mut frame = Vec::with_capacity(4 + json.len());
    frame.extend(length.to_be_bytes());
    frame.extend(json);
    Ok(frame)
}

/// Takes the first whole message out of what has arrived; none when more is to come.
///
/// # Errors
/// When the other side does not speak this protocol.
pub fn take<T: DeserializeOwned>(arrived: &mut Vec<u8>) -> io::Result<Option<T>> {
    let Some(head) = arrived.first_chunk::<4>() else { return Ok(None) };
    let length = u32::from_be_bytes(*head) as usize;
    if length > FRAME_BYTES {
        return Err(too_long());
    }
    let Some(json) = arrived.get(4..4 + length) else { return Ok(None) };
    let message = holon_facts::json::read(json)?;
    arrived.drain(..4 + length);
    Ok(Some(message))
}

pub(super) fn send(stream: &mut impl Write, message: &Reply) -> io::Result<()> {
    stream.write_all(&frame(message)?)
}

/// Waits for a whole message.
pub(super) fn receive(stream: &mut impl Read) -> io::Result<Request> {
    let mut head = [0; 4];
    stream.read_exact(&mut head)?;
    let length = u32::from_be_bytes(head) as usize;
    if length > FRAME_BYTES {
        return Err(too_long());
    }
    let mut json = vec![0; length];
    stream.read_exact(&mut json)?;
    Ok(holon_facts::json::read(&json)?)
}

fn too_long() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("a frame has at most {FRAME_BYTES} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_taken_one_by_one_however_they_arrive() {
        let said = [Request::Stop { force: true }, Request::Hello];
        let bytes: Vec<u8> = said.iter().flat_map(|say| frame(say).unwrap()).collect();
        let (mut arrived, mut taken) = (Vec::new(), Vec::new());
        for byte in bytes {
            arrived.push(byte);
            taken.extend(take::<Request>(&mut arrived).unwrap());
        }
        assert_eq!(taken, said);
        assert!(arrived.is_empty());
    }

    /// Before there were tasks every command had a window, and none had input.
    #[test]
    fn what_an_earlier_runtime_or_supervisor_says_is_understood() {
        let item = r#"{"cmd":"true","shell":"/bin/sh","login":false,"tty":true,"folder":"/","window_ms":5000,
            "asked_ms":6000,"budget":400,"log":"/op.log"}"#;
        let plan = format!(
            r#"{{"tool":"ExecCommand","items":[{item}],"stop_on_error":false,"total_ms":5000,"grace_ms":1}}"#
        );
        let say: Request = serde_json::from_str(&format!(r#"{{"say":"go","plan":{plan}}}"#)).unwrap();
        let Request::Go { plan, hidden } = say else { panic!("{say:?}") };
        assert_eq!(hidden, Hidden::default());
        assert_eq!((plan.total_ms, plan.items[0].window_ms), (Some(5_000), Some(5_000)));
        assert_eq!((plan.items[0].asked_ms, plan.items[0].input), (Some(6_000), Input::None));
        assert_eq!(plan.items[0].log_bytes, LOG_BYTES);

        let identity = r#"{"pid":1,"started":2,"boot_id":"b"}"#;
        let ready = |rest: &str| -> Reply {
            serde_json::from_str(&format!(r#"{{"tell":"ready","identity":{identity}{rest}}}"#)).unwrap()
        };
        assert!(matches!(ready(r#","remaining_ms":7"#), Reply::Ready { remaining_ms: Some(7), .. }));
        assert!(matches!(ready(""), Reply::Ready { remaining_ms: None, .. }));
    }

    /// What an earlier version would read: where there is a window, nothing has changed.
    #[test]
    fn an_earlier_runtime_understands_a_supervisor_of_a_command_with_a_window() {
        let identity = Identity { pid: 1, started: 2, boot_id: "b".into() };
        let ready = Reply::Ready { identity, remaining_ms: Some(7) };
        assert_eq!(
            serde_json::to_string(&ready).unwrap(),
            r#"{"tell":"ready","identity":{"pid":1,"started":2,"boot_id":"b"},"remaining_ms":7}"#
        );
        let bytes = serde_json::to_string(&Request::Input { id: 3, text: "a".into() }).unwrap();
        assert_eq!(bytes, r#"{"say":"input","id":3,"text":"a"}"#);
    }

    #[test]
    fn a_stranger_is_not_waited_for() {
        assert!(take::<Request>(&mut b"GET / HTTP/1.1".to_vec()).is_err());
        assert!(take::<Request>(&mut [0, 0, 0, 2, b'{', b'}'].to_vec()).is_err());
    }

    #[test]
    fn what_is_hidden_fits_into_a_frame_and_is_not_printed() {
        let value = |number: usize| format!("{number:05}{}", "\u{1}".repeat(10_000));
        let secrets = Secrets::new((0..200).map(|number| ("NAME".to_owned(), value(number))));
        let hidden = Hidden::of(&secrets);
        assert!((90..110).contains(&hidden.named.len()), "{hidden:?}");
        let few = Hidden::of(&Secrets::new([("A".to_owned(), "canary-1234".to_owned())]));
        assert!(few.shapes && !format!("{few:?}").contains("canary"));
    }
}
