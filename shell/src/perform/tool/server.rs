//! Tools of other programs (contract: protocols.md, MCP client): which of them an agent is offered, and calls of them. What is
//! no text becomes a file that the agent can look at.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::slice;
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use holon_core::effect::ServerCall;
use holon_core::tool::{ToolCall, arguments};
use holon_facts::call::ToolName;
use holon_facts::content::{clip, clip_middle};
use holon_facts::receipt::{ToolErrorKind, ToolFacts};
use holon_facts::tool::{ServerTool, ServerTools};
use holon_facts::workspace::{ExecutionBinding, WorkspaceKind};
use holon_facts::{AgentId, Text, tokens};
use holon_mcp::{CallError, CallResult, Catalogue, OfferedTool, Part, Servers, Unavailable};
use holon_platform::spawn;
use holon_supervise::confine;
use holon_text::{Texts, hash};
use serde_json::{Value, json};

use super::exec::CHARACTERS_PER_TOKEN;
use super::fitting::fitting;
use super::{Refusal, Settings, Success};

/// In the home of an agent, where what is no text is kept.
const FOLDER: &str = "work/mcp";
/// Most files of one result, and of all results that an agent keeps.
const FILES: usize = 32;
const KEPT_FILES: usize = 256;
/// Of the hash of its bytes, in the name of a file.
const NAME_DIGITS: usize = 16;
const MEDIA_TYPE_BYTES: usize = 100;
/// How a server says that arguments are wrong.
const INVALID_PARAMS: i32 = -32_602;

/// What an agent has of its servers, and of those of its workspace. Children have those that are named for them.
pub(super) async fn all(
    settings: &Settings,
    servers: &Servers,
    (agent, execution): (&AgentId, &ExecutionBinding),
) -> (Catalogue, Vec<Unavailable>) {
    let (whose, open) = (&settings.servers.whose, !agent.is_reserved());
    let own = whose.of(agent, open);
    let proposes =
        execution.kind != WorkspaceKind::AgentHome && whose.has_those_of_its_workspace(agent, open);
    let workspace = proposes.then(|| Path::new(&execution.workspace_anchor));
    servers.offer(&own, workspace).await
}

/// The same as it is on record; none where there is nothing.
pub(in crate::perform) async fn offered(
    texts: &Texts,
    settings: &Settings,
    servers: &Servers,
    whose: (&AgentId, &ExecutionBinding),
) -> Option<ServerTools> {
    let (catalogue, problems) = all(settings, servers, whose).await;
    Some(recorded(texts, &catalogue, problems)).filter(|tools| !tools.is_empty())
}

fn recorded(texts: &Texts, catalogue: &Catalogue, problems: Vec<Unavailable>) -> ServerTools {
    let definitions: Vec<Value> = catalogue.tools.iter().map(definition).collect();
    let tools = catalogue.tools.iter().zip(&definitions).map(|(tool, definition)| ServerTool {
        name: ToolName::owned(tool.name.clone()),
        server: tool.server.clone(),
        tool: tool.tool.clone(),
        est_tokens: tokens::estimate(&definition.to_string()),
    });
    let tools: Vec<ServerTool> = tools.collect();
    let definitions =
        if tools.is_empty() { Text::default() } else { texts.take(&Value::Array(definitions).to_string()) };
    let left_out = u32::try_from(catalogue.left_out.len()).unwrap_or(u32::MAX);
    let unavailable = problems.into_iter().map(|problem| problem.server).collect();
    ServerTools { tools, definitions, left_out, unavailable }
}

/// A tool as models are sent it.
fn definition(tool: &OfferedTool) -> Value {
    json!({ "name": tool.name, "description": tool.description, "parameters": tool.schema })
}

/// Calls a tool once.
pub(in crate::perform) async fn call(
    settings: &Settings,
    servers: &Servers,
    (agent, call): (&AgentId, &ServerCall),
    arguments: &str,
) -> Result<Success, Refusal> {
    let inner;
    let arguments = if call.found {
        let ToolCall { arguments: own, .. } = arguments::parse(arguments)?;
        inner = own;
        &inner
    } else {
        arguments
    };
    let named = (call.server.as_str(), call.tool.as_str());
    let result = servers.call(named, arguments, Some(agent)).await.map_err(refusal)?;
    let is_error = result.is_error;
    let (folder, bound) = (settings.real_agent_home(agent).join(FOLDER), settings.bound(agent));
    let read = spawn::blocking(move || {
        let read = || text(&result, &mut Keeper { folder: &folder, files: 0 });
        confine::within(bound.as_ref().map(slice::from_ref), read)
    });
    let content = match read.await {
        Ok(Ok(content)) => content,
        Ok(Err(problem)) => return Err(unread(&problem.to_string())),
        Err(interrupted) => return Err(unread(&interrupted.to_string())),
    };
    let tokens = call.output_tokens.min(settings.commands.default_tokens);
    let most = usize::try_from(tokens.saturating_mul(CHARACTERS_PER_TOKEN)).unwrap_or(usize::MAX);
    let clipped = fitting(tokens, most, |most| clip_middle(&content, most), |text| tokens::estimate(text));
    let (truncated, content) = (clipped != content, clipped);
    if is_error {
        return Err(Refusal::new(ToolErrorKind::ToolExecutionFailed, content).retryable(true));
    }
    let facts = ToolFacts { truncated, ..ToolFacts::default() };
    Ok(Success { content, facts, images: Vec::new() })
}

/// What became of a call that brought nothing, and what can be done about it.
fn refusal(error: CallError) -> Refusal {
    let (kind, hint) = match &error {
        CallError::Arguments(_) | CallError::Refused { code: INVALID_PARAMS, .. } => {
            (ToolErrorKind::InvalidToolInput, "nothing was done; correct the arguments")
        }
        CallError::NotSent(_) | CallError::NoTool(_) => {
            (ToolErrorKind::ToolServerUnavailable, "nothing was sent; try it again later, or do without")
        }
        CallError::Lost(_) => {
            (ToolErrorKind::Interrupted, "it may have had effects: look before you repeat it")
        }
        CallError::Refused { .. } => (ToolErrorKind::ToolExecutionFailed, "use another tool, or do without"),
        CallError::Unusable(_) => {
            (ToolErrorKind::ToolExecutionFailed, "it may have had effects: look before you repeat it")
        }
    };
    Refusal::new(kind, error.to_string()).hint(hint)
}

fn unread(problem: &str) -> Refusal {
    let message = format!("the call was made, and its result can't be read: {problem}");
    Refusal::new(ToolErrorKind::ToolExecutionFailed, message)
        .hint("it may have had effects: look before you repeat it")
}

/// What the model reads of a result: its texts, a line for each file, and the data where no text has it.
fn text(result: &CallResult, keeper: &mut Keeper<'_>) -> String {
    let mut lines: Vec<String> = result
        .parts
        .iter()
        .map(|part| match part {
            Part::Text { text } => text.clone(),
            Part::Blob { media_type, base64 } => keeper.keep(media_type, base64),
            Part::Link { uri, name } => format!("[{name}: {uri}]"),
        })
        .collect();
    if let Some(data) = &result.structured {
        let has_it = |line: &String| serde_json::from_str::<Value>(line).is_ok_and(|value| value == *data);
        if !lines.iter().any(has_it) {
            lines.push(data.to_string());
        }
    }
    lines.join("\n")
}

/// Writes what is no text into files of the agent.
struct Keeper<'a> {
    folder: &'a Path,
    /// Of this result.
    files: usize,
}

impl Keeper<'_> {
    /// A line that has the path, or says why there is no file.
    fn keep(&mut self, media_type: &str, base64: &str) -> String {
        let media_type = clip(media_type, MEDIA_TYPE_BYTES);
        if self.files == FILES {
            return format!("[{media_type}: left out, a result has at most {FILES} files]");
        }
        self.files += 1;
        let Ok(bytes) = STANDARD.decode(base64) else { return format!("[{media_type}: it is no base64]") };
        match self.write(&media_type, &bytes) {
            Ok(path) => format!("[{media_type}, {} bytes: {}]", bytes.len(), path.display()),
            Err(problem) => format!("[{media_type}, {} bytes: it can't be written: {problem}]", bytes.len()),
        }
    }

    fn write(&self, media_type: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        fs::create_dir_all(self.folder)?;
        let name = &hash(bytes).to_string()[..NAME_DIGITS];
        let path = self.folder.join(format!("{name}.{}", ending(media_type)));
        // The same bytes are the same file.
        fs::write(&path, bytes)?;
        remove_oldest(self.folder)?;
        Ok(path)
    }
}

/// What the name of a file of this type ends in.
fn ending(media_type: &str) -> &str {
    match media_type {
        "image/png" => "png",
        "image/jpeg" => "jpg",
        "image/gif" => "gif",
        "image/webp" => "webp",
        "image/svg+xml" => "svg",
        "audio/wav" | "audio/x-wav" => "wav",
        "audio/mpeg" => "mp3",
        "application/pdf" => "pdf",
        "application/json" => "json",
        text if text.starts_with("text/") => "txt",
        _ => "bin",
    }
}

/// Keeps the newest files.
fn remove_oldest(folder: &Path) -> io::Result<()> {
    let mut files: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let about = entry.metadata()?;
        if about.is_file() {
            files.push((about.modified()?, entry.path()));
        }
    }
    files.sort();
    for (_, path) in files.iter().rev().skip(KEPT_FILES) {
        fs::remove_file(path)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(result: &CallResult, folder: &Path) -> String {
        text(result, &mut Keeper { folder, files: 0 })
    }

    #[test]
    fn a_result_is_read_whole_and_nothing_twice() {
        let folder = tempfile::tempdir().unwrap();
        let part = |text: &str| Part::Text { text: text.into() };
        let data = json!({"total": 3});
        let result = |parts, structured| CallResult { parts, structured, is_error: false };
        let path = folder.path();
        assert_eq!(read(&result(vec![part("3")], Some(data.clone())), path), "3\n{\"total\":3}");
        assert_eq!(
            read(&result(vec![part("{ \"total\": 3 }")], Some(data.clone())), path),
            "{ \"total\": 3 }"
        );
        assert_eq!(read(&result(Vec::new(), Some(data)), path), "{\"total\":3}");
        let link = Part::Link { uri: "file:///a".into(), name: "a".into() };
        assert_eq!(read(&result(vec![link], None), path), "[a: file:///a]");
        assert!(fs::read_dir(path).unwrap().next().is_none(), "no file without need");
    }

    #[test]
    fn bytes_become_files_within_bounds() {
        let folder = tempfile::tempdir().unwrap();
        let blob = |text: &str, media_type: &str| Part::Blob {
            media_type: media_type.into(),
            base64: STANDARD.encode(text),
        };
        let parts = vec![
            blob("one", "image/png"),
            blob("one", "image/png"),
            blob("two", "x/y"),
            Part::Blob { media_type: "image/png".into(), base64: "no base64!".into() },
        ];
        let lines = read(&CallResult { parts, ..CallResult::default() }, folder.path());
        let lines: Vec<_> = lines.lines().collect();
        assert!(lines[0].starts_with("[image/png, 3 bytes: /") && lines[0].ends_with(".png]"), "{lines:?}");
        assert_eq!((lines[0] == lines[1], lines[3]), (true, "[image/png: it is no base64]"));
        assert!(lines[2].ends_with(".bin]"), "{lines:?}");
        let many = (0..KEPT_FILES + 5).map(|n| blob(&n.to_string(), "x/y"));
        for part in many {
            read(&CallResult { parts: vec![part], ..CallResult::default() }, folder.path());
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), KEPT_FILES);
        let parts = (0..FILES + 1).map(|n| blob(&n.to_string(), "x/y")).collect();
        let lines = read(&CallResult { parts, ..CallResult::default() }, folder.path());
        assert!(lines.ends_with("left out, a result has at most 32 files]"), "{lines}");
    }
}
