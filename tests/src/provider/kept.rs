//! Responses that a server keeps, and the requests that go on from them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::reply::{Reply, fails};

/// What was said before and with a response, by its id.
#[derive(Debug, Default)]
pub(super) struct Kept(BTreeMap<String, Vec<Value>>);

impl Kept {
    /// The whole input of a request: with what was said before.
    pub(super) fn whole(&self, request: &Value) -> Result<Vec<Value>, Box<Reply>> {
        let new = request["input"].as_array().cloned().unwrap_or_default();
        let Some(id) = request["previous_response_id"].as_str() else { return Ok(new) };
        match self.0.get(id) {
            Some(before) => Ok([before.clone(), new].concat()),
            None => Err(Box::new(fails(
                400,
                &json!({ "error": {
                    "message": format!("Previous response with id '{id}' not found."),
                    "type": "invalid_request_error",
                    "param": "previous_response_id",
                    "code": "previous_response_not_found",
                }})
                .to_string(),
            ))),
        }
    }

    /// Keeps a response where the request wants that.
    pub(super) fn keep(&mut self, request: &Value, whole: &[Value], response: &Value) {
        let (Some(id), Some(output)) = (response["id"].as_str(), response["output"].as_array()) else {
            return;
        };
        if request["store"] == true {
            self.0.insert(id.to_owned(), [whole, output].concat());
        }
    }

    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}
