//! One message, and the errors of the protocol.

use serde_json::{Map, Value, json};

/// An error as it is answered.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message} ({code})")]
pub struct Error {
    pub code: i64,
    pub message: String,
    pub data: Option<Value>,
}

/// What came.
#[derive(Debug, PartialEq)]
pub enum Message {
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// To a request that nobody here sends.
    Response,
    /// No message: how it is answered.
    Invalid(Value),
}

impl Error {
    pub fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// What came is no JSON.
    pub fn parse(message: impl Into<String>) -> Self {
        Self::new(-32_700, message)
    }

    /// What came is no message.
    pub fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(-32_600, message)
    }

    pub fn unknown_method(method: &str) -> Self {
        Self::new(-32_601, format!("there is no method {method}"))
    }

    /// Parameters that can't be meant.
    pub fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(-32_602, message)
    }

    /// What was asked for failed.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(-32_603, message)
    }

    #[must_use]
    pub fn with(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }

    fn object(self) -> Value {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let Some(data) = self.data {
            error["data"] = data;
        }
        error
    }
}

impl Message {
    /// Reads a message.
    pub fn read(text: &[u8]) -> Self {
        let invalid = |id, error| Self::Invalid(answer(id, Err(error)));
        let mut message = match serde_json::from_slice(text) {
            Ok(Value::Object(message)) => message,
            Ok(_) => {
                return invalid(Value::Null, Error::invalid_request("a message is one JSON object"));
            }
            Err(error) => return invalid(Value::Null, Error::parse(format!("this is no JSON: {error}"))),
        };
        let has = |member| message.contains_key(member);
        // Also one that is broken, or to a request whose id nobody could read: an answer to it would be answered again.
        if !has("method") && (has("result") || has("error")) {
            return Self::Response;
        }
        let id = match message.remove("id") {
            Some(id @ (Value::String(_) | Value::Number(_))) => Some(id),
            None => None,
            Some(_) => {
                let error = Error::invalid_request("id: expected a string or a number");
                return invalid(Value::Null, error);
            }
        };
        let params = message.remove("params").unwrap_or_else(|| Value::Object(Map::new()));
        if message.get("jsonrpc").is_none_or(|version| version != "2.0") {
            let error = Error::invalid_request("jsonrpc: expected \"2.0\"");
            return invalid(id.unwrap_or_default(), error);
        }
        match (message.remove("method"), id) {
            (Some(Value::String(method)), Some(id)) => Self::Request { id, method, params },
            (Some(Value::String(method)), None) => Self::Notification { method, params },
            (_, id) => {
                let error = Error::invalid_request("method: expected the name of one");
                invalid(id.unwrap_or_default(), error)
            }
        }
    }
}

/// The response to a request.
pub fn answer(id: Value, answer: Result<Value, Error>) -> Value {
    match answer {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err(error) => json!({ "jsonrpc": "2.0", "id": id, "error": error.object() }),
    }
}

/// A message that expects no response.
pub(crate) fn notification(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_what_their_members_say() {
        let read = |text: &str| Message::read(text.as_bytes());
        let (id, method) = (json!(7), "ping".to_owned());
        let request = Message::Request { id, method: method.clone(), params: json!({ "a": 1 }) };
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":7,"method":"ping","params":{"a":1}}"#), request);
        let notification = Message::Notification { method, params: json!({}) };
        assert_eq!(read(r#"{"jsonrpc":"2.0","method":"ping"}"#), notification);
        for response in [
            r#"{"jsonrpc":"2.0","id":"x","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#,
            r#"{"error":{"code":-32600}}"#,
        ] {
            assert_eq!(read(response), Message::Response, "{response}");
        }
        for (text, code, id) in [
            ("{", -32_700, Value::Null),
            ("[]", -32_600, Value::Null),
            (r#"{"id":1,"method":"ping"}"#, -32_600, json!(1)),
            (r#"{"jsonrpc":"2.0","id":1}"#, -32_600, json!(1)),
            (r#"{"jsonrpc":"2.0","id":[],"method":"ping"}"#, -32_600, Value::Null),
            (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32_600, json!(1)),
        ] {
            let Message::Invalid(answer) = read(text) else { panic!("{text}") };
            assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{text}");
        }
    }
}
