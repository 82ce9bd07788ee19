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
    /// Name and arguments.
    pub calls: Vec<(String, Value)>,
    /// The bound on the output was reached.
    pub cut_short: bool,
}

/// How an answer goes wrong. Without streaming, the body stops at its half.
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
    let calls = calls.iter().map(|(name, arguments)| ((*name).to_owned(), arguments.clone())).collect();
    Reply::Answer(Answer { calls, ..Answer::default() })
}

/// A failure with a status.
pub fn fails(code: u16, body: &str) -> Reply {
    Reply::Status { code, headers: vec![], body: body.to_owned() }
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
        let Self::Answer(answer) = self else { panic!("only an answer is cut short") };
        Self::Answer(Answer { cut_short: true, ..answer })
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
