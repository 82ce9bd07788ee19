//! The body of a request: its fields, and what is said of its tools, which is JSON already. Tools are most of a body, and the
//! same in each one.

use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Body {
    pub(crate) fields: Value,
    /// A list.
    tools: Option<String>,
}

impl Body {
    /// `fields` is an object that has some.
    pub(crate) fn new(fields: Value, tools: Option<String>) -> Self {
        Self { fields, tools }
    }

    /// As it is sent.
    pub(crate) fn text(&self) -> String {
        let mut text = self.fields.to_string();
        if let Some(tools) = &self.tools {
            text.pop();
            text.reserve_exact(tools.len() + 16);
            text.extend([",\"tools\":", tools, "}"]);
        }
        text
    }

    /// As one document.
    pub(crate) fn document(self) -> Value {
        let mut fields = self.fields;
        if let Some(tools) = self.tools {
            fields["tools"] = serde_json::from_str(&tools).unwrap_or(Value::Null);
        }
        fields
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn its_text_is_its_document() {
        let tools = json!([{"name": "a", "parameters": {"type": "object"}}]);
        for tools in [None, Some(tools)] {
            let body = Body::new(json!({"model": "m", "z": [1]}), tools.as_ref().map(Value::to_string));
            let sent: Value = serde_json::from_str(&body.text()).unwrap();
            assert_eq!(sent["tools"], tools.unwrap_or(Value::Null));
            assert_eq!(sent, body.document());
        }
    }
}
