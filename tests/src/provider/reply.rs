use std::time::Duration;

use serde_json::Value;

/// What the server does with one request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// An answer in the protocol and the form that were asked for.
    Answer(Answer),
    /// The same, going wrong on its way.
    Faulty(Answer, Fault),
    /// This document with status 200, whatever was asked.
    Json(Value),
    Status {
        code: u16,
        headers: Vec<(&'static str, String)>,
        body: String,
    },
    /// These bytes instead of any HTTP, then the connection is closed.
    Raw(Vec<u8>),
    /// A body with this type and status 200.
    Body {
        content_type: &'static str,
        bytes: Vec<u8>,
    },
    /// Waits so long before anything else.
    Late(Duration, Box<Self>),
    /// Never a byte, until the client hangs up.
    Hang,
    /// Reads the request and closes the connection.
    Close,
    /// Closes the connection before it reads anything.
    CloseAtAccept,
}

/// What a model says.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    pub text: String,
    pub calls: Vec<Call>,
    /// Why the model stopped.
    pub stop: Stop,
    /// What is reported as tokens of input and of output, instead of 100 and 20.
    pub tokens: Option<[Value; 2]>,
    /// What the server reports to have left out of the request. Messages only.
    pub edits: Option<Value>,
}

/// Why a model stops, in the words of its protocol.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Stop {
    /// It is done, or calls tools.
    #[default]
    Done,
    /// The bound on the output was reached.
    CutShort,
    Filtered,
    Refused,
    /// Chat completions and messages only.
    Paused,
    /// For a call, which is not there. Chat completions and messages only.
    NoCall,
    /// A reason that nobody knows.
    Other,
}

/// A call of a tool.
#[derive(Debug, Clone)]
pub struct Call {
    /// Null sends none; without one of its own the server counts.
    pub id: Option<Value>,
    pub name: String,
    /// The text of the arguments, which is JSON unless the test wants it otherwise.
    pub arguments: String,
}

/// How an answer goes wrong, or what is unusual about it. Without streaming, the body stops at its half.
#[derive(Debug, Clone)]
pub enum Fault {
    /// The connection closes there, without the end that HTTP demands.
    Cut(Place),
    /// The body ends there, as if that were all.
    End(Place),
    /// Nothing comes from there on, until the client hangs up.
    Stall(Place),
    /// An error of the protocol comes there: type and message.
    Error(Place, &'static str, &'static str),
    /// So long between one piece of 16 bytes and the next.
    Dribble(Duration),
    /// It comes with this type.
    Typed(&'static str),
    /// It comes with `content-encoding: gzip`, and is encoded so.
    Gzip,
    /// It comes in HTTP/1.0, which ends a body by closing the connection.
    Old,
    /// The whole response comes twice, although it was asked for once.
    Twice,
    /// All of it comes a second time in the same response.
    Echo,
}

/// A place in a streamed answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// After the head, before the first event.
    Start,
    InText,
    /// Inside the arguments of a call.
    InCall,
    /// After everything but the event that ends the answer.
    BeforeEnd,
}

/// An answer that ends the turn.
pub fn says(text: &str) -> Reply {
    Reply::Answer(Answer { text: text.to_owned(), ..Answer::default() })
}

/// An answer that calls tools: name and arguments of each.
pub fn calls(calls: &[(&str, Value)]) -> Reply {
    raw_calls(calls.iter().map(|(name, arguments)| Call::new(name, &arguments.to_string())))
}

/// The same with calls that no model should make.
pub fn raw_calls(calls: impl IntoIterator<Item = Call>) -> Reply {
    Reply::Answer(Answer { calls: calls.into_iter().collect(), ..Answer::default() })
}

/// A command, as a call.
pub fn command(cmd: &str) -> (&'static str, Value) {
    ("ExecCommand", serde_json::json!({ "cmd": cmd }))
}

/// A failure with a status.
pub fn fails(code: u16, body: &str) -> Reply {
    Reply::Status { code, headers: vec![], body: body.to_owned() }
}

impl Call {
    pub fn new(name: &str, arguments: &str) -> Self {
        Self { id: None, name: name.to_owned(), arguments: arguments.to_owned() }
    }

    #[must_use]
    pub fn id(self, id: Value) -> Self {
        Self { id: Some(id), ..self }
    }

    /// Its id, where the server counts with this prefix.
    pub(super) fn id_or(&self, prefix: &str, at: usize) -> Value {
        self.id.clone().unwrap_or_else(|| format!("{prefix}_{at}").into())
    }
}

impl Answer {
    pub(super) fn input_tokens(&self) -> Value {
        self.tokens.as_ref().map_or_else(|| 100.into(), |[input, _]| input.clone())
    }

    pub(super) fn output_tokens(&self) -> Value {
        self.tokens.as_ref().map_or_else(|| 20.into(), |[_, output]| output.clone())
    }
}

impl Reply {
    /// With text before the calls.
    #[must_use]
    pub fn saying(self, text: &str) -> Self {
        let Self::Answer(answer) = self else { panic!("only an answer says something") };
        Self::Answer(Answer { text: text.to_owned(), ..answer })
    }

    /// Reaching the bound on its output.
    #[must_use]
    pub fn cut_short(self) -> Self {
        self.stopped(Stop::CutShort)
    }

    #[must_use]
    pub fn stopped(self, stop: Stop) -> Self {
        let Self::Answer(answer) = self else { panic!("only an answer stops for a reason") };
        Self::Answer(Answer { stop, ..answer })
    }

    /// Reporting these tokens of input and output.
    #[must_use]
    pub fn counting(self, input: Value, output: Value) -> Self {
        let Self::Answer(answer) = self else { panic!("only an answer counts tokens") };
        Self::Answer(Answer { tokens: Some([input, output]), ..answer })
    }

    /// Reporting these edits of the request.
    #[must_use]
    pub fn editing(self, edits: Value) -> Self {
        let Self::Answer(answer) = self else { panic!("only an answer reports edits") };
        Self::Answer(Answer { edits: Some(edits), ..answer })
    }

    #[must_use]
    pub fn late(self, wait: Duration) -> Self {
        Self::Late(wait, Box::new(self))
    }

    #[must_use]
    pub fn faulty(self, fault: Fault) -> Self {
        let Self::Answer(answer) = self else { panic!("only an answer can go wrong on its way") };
        Self::Faulty(answer, fault)
    }

    #[must_use]
    pub fn cut_in_text(self) -> Self {
        self.faulty(Fault::Cut(Place::InText))
    }

    #[must_use]
    pub fn cut_in_call(self) -> Self {
        self.faulty(Fault::Cut(Place::InCall))
    }

    #[must_use]
    pub fn stall_in_text(self) -> Self {
        self.faulty(Fault::Stall(Place::InText))
    }

    #[must_use]
    pub fn dribble(self, pause: Duration) -> Self {
        self.faulty(Fault::Dribble(pause))
    }

    /// A refusal with a header.
    #[must_use]
    pub fn header(self, name: &'static str, value: &str) -> Self {
        let Self::Status { code, mut headers, body } = self else { panic!("only a status has headers") };
        headers.push((name, value.to_owned()));
        Self::Status { code, headers, body }
    }

    /// A page instead of an answer.
    pub fn html(code: u16) -> Self {
        let body = "<!doctype html><html><body><h1>Bad gateway</h1></body></html>".to_owned();
        Self::Status { code, headers: vec![("content-type", "text/html".to_owned())], body }
    }

    /// Status 200 and nothing else.
    pub fn empty() -> Self {
        Self::Body { content_type: "application/json", bytes: Vec::new() }
    }

    /// JSON that is no UTF-8.
    pub fn invalid_utf8() -> Self {
        Self::Body { content_type: "application/json", bytes: b"{\"choices\":[\"\xff\xfe\"]}".to_vec() }
    }

    /// One line of so many bytes that never becomes an event.
    pub fn long_line(bytes: usize) -> Self {
        let bytes = [&b"data: "[..], &vec![b'x'; bytes]].concat();
        Self::Body { content_type: "text/event-stream", bytes }
    }
}
