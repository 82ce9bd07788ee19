//! What servers answer, as it is passed on. What of it can't be read is left out, and the rest counts.

use rmcp::model::{
    ContentBlock, CustomResult, ElicitRequestParams, InputRequest, ResourceContents, ServerResult,
};
use serde::Deserialize as _;
use serde_json::Value;

use crate::connection::{CallError, CallResult, Part, Tool};

/// Characters of a question.
pub(super) const QUESTION_CHARS: usize = 1_000;
/// What stands for the name of a tool that has none. It is not offered.
const NAMELESS: &str = "(a tool without a name)";

/// Tools of a list, and where it goes on.
pub(super) type Page = (Vec<Tool>, Option<String>);

/// A page of the list of tools.
///
/// # Errors
/// It is none.
pub(super) fn page(answer: ServerResult) -> Result<Page, CallError> {
    if let ServerResult::ListToolsResult(page) = answer {
        let tools = page.tools.into_iter().map(|tool| Tool {
            name: tool.name.into_owned(),
            description: tool.description.unwrap_or_default().into_owned(),
            schema: Value::Object((*tool.input_schema).clone()),
        });
        return Ok((tools.collect(), page.next_cursor));
    }
    // One tool of it can't be read.
    if let ServerResult::CustomResult(CustomResult(page)) = &answer
        && let Some(tools) = page.get("tools").and_then(Value::as_array)
    {
        return Ok((tools.iter().map(tool).collect(), text(page, "nextCursor")));
    }
    Err(no_result())
}

/// A tool as far as it can be read. Without a schema it is in the list and is not offered.
fn tool(raw: &Value) -> Tool {
    let name = text(raw, "name");
    let schema = raw.get("inputSchema").filter(|_| name.is_some()).cloned().unwrap_or_default();
    let description = text(raw, "description").unwrap_or_default();
    Tool { name: name.unwrap_or_else(|| NAMELESS.to_owned()), description, schema }
}

fn text(raw: &Value, key: &str) -> Option<String> {
    raw.get(key)?.as_str().map(ToOwned::to_owned)
}

/// What a call brought.
///
/// # Errors
/// The answer is no result.
pub(super) fn result(answer: ServerResult) -> Result<CallResult, CallError> {
    if let ServerResult::CallToolResult(result) = answer {
        return Ok(CallResult {
            parts: result.content.into_iter().map(part).collect(),
            structured: result.structured_content,
            is_error: result.is_error.unwrap_or(false),
        });
    }
    if let ServerResult::EmptyResult(_) = answer {
        return Ok(CallResult::default());
    }
    if let ServerResult::CustomResult(CustomResult(raw)) = &answer {
        return readable(raw).ok_or_else(no_result);
    }
    if let ServerResult::InputRequiredResult(asked) = &answer {
        let questions: Vec<String> =
            asked.input_requests.iter().flat_map(|asked| asked.values()).filter_map(asks).collect();
        let more = if questions.is_empty() { String::new() } else { format!(": {}", questions.join("; ")) };
        let text = format!("the server asks for more input before it answers, which nobody gives here{more}");
        return Err(CallError::Unusable(text.chars().take(QUESTION_CHARS).collect()));
    }
    if let ServerResult::CreateTaskResult(_) = answer {
        let what = "the server answers with a task instead of a result, which is not supported";
        return Err(CallError::Unusable(what.to_owned()));
    }
    Err(no_result())
}

/// What of a result can be read of which something can't be.
fn readable(raw: &Value) -> Option<CallResult> {
    let content = raw.get("content")?.as_array()?;
    let is_complete = raw.get("resultType").is_none_or(|kind| kind == "complete");
    let one = |raw: &Value| ContentBlock::deserialize(raw).map_or_else(|_| left_out(raw), part);
    is_complete.then(|| CallResult {
        parts: content.iter().map(one).collect(),
        structured: raw.get("structuredContent").cloned(),
        is_error: raw.get("isError").and_then(Value::as_bool).unwrap_or(false),
    })
}

fn left_out(raw: &Value) -> Part {
    let kind: String = text(raw, "type").unwrap_or_default().chars().take(32).collect();
    Part::Text { text: format!("[a part of the type {kind:?} can't be read and is left out]") }
}

fn no_result() -> CallError {
    CallError::Unusable("the server answered with something that is no result".to_owned())
}

/// What of its user a server asks.
fn asks(request: &InputRequest) -> Option<String> {
    if let InputRequest::Elicitation(request) = request { Some(question(&request.params)) } else { None }
}

/// What a request of a server wants to know, in words.
pub(super) fn question(request: &ElicitRequestParams) -> String {
    match request {
        ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } => {
            let fields: Vec<&str> = requested_schema.properties.keys().map(String::as_str).collect();
            format!("{message} ({})", fields.join(", "))
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => format!("{message} ({url})"),
        _ => "something that this version does not know".to_owned(),
    }
}

/// A part of a result as it is passed on.
fn part(block: ContentBlock) -> Part {
    match block {
        ContentBlock::Text(text) => Part::Text { text: text.text },
        ContentBlock::Image(image) => Part::Blob { media_type: image.mime_type, base64: image.data },
        ContentBlock::Audio(audio) => Part::Blob { media_type: audio.mime_type, base64: audio.data },
        ContentBlock::Resource(embedded) => match embedded.resource {
            ResourceContents::TextResourceContents { text, .. } => Part::Text { text },
            ResourceContents::BlobResourceContents { blob, mime_type, .. } => Part::Blob {
                media_type: mime_type.unwrap_or_else(|| "application/octet-stream".to_owned()),
                base64: blob,
            },
            _ => unknown(),
        },
        ContentBlock::ResourceLink(link) => Part::Link { uri: link.uri, name: link.name },
        _ => unknown(),
    }
}

/// A part of a kind that came later than this build.
fn unknown() -> Part {
    Part::Text { text: "[a part of a kind that this version does not know]".to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::catalogue::Catalogue;

    fn answer(raw: Value) -> ServerResult {
        serde_json::from_value(raw).unwrap()
    }

    #[test]
    fn a_tool_that_can_t_be_read_takes_no_other_one_away() {
        let schema = json!({"type": "object"});
        for kind in [json!(null), json!("complete")] {
            let mut raw = json!({"nextCursor": "2", "tools": [
                {"name": "fine", "description": "Does it", "inputSchema": schema},
                {"name": "none", "description": "It takes nothing"}, {"name": "odd", "inputSchema": []}, {"inputSchema": schema}, 7,
                {"name": "noted", "inputSchema": schema, "annotations": "x"},
            ]});
            if kind.is_string() {
                raw["resultType"] = kind;
            }
            let (tools, next) = page(answer(raw)).unwrap();
            assert_eq!((tools.len(), next.as_deref()), (6, Some("2")));
            assert_eq!((tools[0].description.as_str(), &tools[0].schema), ("Does it", &schema));
            let offered = Catalogue::of([("s", &tools[..])]);
            let names: Vec<_> = offered.tools.iter().map(|tool| tool.tool.as_str()).collect();
            assert_eq!(names, ["fine", "noted"]);
            let left: Vec<_> = offered.left_out.iter().map(|left| left.tool.as_str()).collect();
            assert_eq!(left, [NAMELESS, "none", "odd"]);
        }
        assert!(page(answer(json!({"tools": "none"}))).is_err());
    }

    #[test]
    fn a_part_that_can_t_be_read_takes_no_other_one_away() {
        let content = json!([{"type": "text", "text": "hi"}, {"type": "image", "data": 7}, {"type": "text", "text": "there"}]);
        for kind in ["complete", ""] {
            let mut raw = json!({"content": content, "isError": true, "structuredContent": {"a": 1}});
            if !kind.is_empty() {
                raw["resultType"] = json!(kind);
            }
            let read = result(answer(raw)).unwrap();
            let text = |text: &str| Part::Text { text: text.to_owned() };
            let gone = text("[a part of the type \"image\" can't be read and is left out]");
            assert_eq!(read.parts, [text("hi"), gone, text("there")]);
            assert_eq!((read.is_error, read.structured), (true, Some(json!({"a": 1}))));
        }
        for odd in [json!({"content": 7}), json!({"resultType": "later", "content": [7]}), json!([1])] {
            assert!(matches!(result(answer(odd)), Err(CallError::Unusable(_))));
        }
    }
}
