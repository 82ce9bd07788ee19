//! `ToolSearch`: which tools of other programs fit a few words, with what it takes to call them.

use std::collections::BTreeMap;

use holon_core::effect::ToolCall;
use holon_core::tool::{ToolSearch, arguments};
use holon_facts::AgentId;
use holon_facts::content::clip;
use holon_facts::receipt::ToolFacts;
use holon_mcp::{OfferedTool, Servers};
use serde_json::{Value, json};

use super::exec::CHARACTERS_PER_TOKEN;
use super::{Refusal, Settings, Success, server};

/// Characters of a description that are shown.
const DESCRIPTION: usize = 400;
/// What a word counts that is a part of the name, begins one, or stands in the description.
const WHOLE: u32 = 8;
const BEGINS: u32 = 4;
const MENTIONED: u32 = 1;

pub(super) async fn search(
    settings: &Settings,
    servers: &Servers,
    (agent, call): (&AgentId, &ToolCall),
    arguments: &str,
) -> Result<Success, Refusal> {
    let ToolSearch { query, server, limit } = arguments::parse(arguments)?;
    let (catalogue, _) = server::all(settings, servers, (agent, &call.execution)).await;
    let of_server = |tool: &&OfferedTool| server.as_ref().is_none_or(|server| tool.server == *server);
    let tools: Vec<&OfferedTool> = catalogue.tools.iter().filter(of_server).collect();
    let found = ranked(&tools, &query);
    let most = usize::try_from(call.output_tokens.saturating_mul(CHARACTERS_PER_TOKEN)).unwrap_or(usize::MAX);
    let (mut shown, mut characters) = (Vec::new(), 0);
    for tool in found.iter().take(limit as usize) {
        let entry = described(tool);
        characters += entry.to_string().len();
        if characters > most && !shown.is_empty() {
            break;
        }
        shown.push(entry);
    }
    let mut answer = json!({ "tools": shown, "found": found.len() });
    if found.is_empty() {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for tool in &catalogue.tools {
            *counts.entry(&tool.server).or_default() += 1;
        }
        answer["servers"] = json!(counts);
        answer["hint"] = json!("no tool has these words: try others, or search one server");
    }
    let facts =
        ToolFacts { truncated: shown.len() < found.len().min(limit as usize), ..ToolFacts::default() };
    Ok(Success { content: answer.to_string(), facts, images: Vec::new() })
}

fn described(tool: &OfferedTool) -> Value {
    json!({ "tool": tool.name, "description": clip(&tool.description, DESCRIPTION), "arguments": tool.schema })
}

/// Those that have any of the words, the best first.
fn ranked<'a>(tools: &[&'a OfferedTool], query: &str) -> Vec<&'a OfferedTool> {
    let wanted = words(query);
    let score = |tool: &OfferedTool| -> u32 {
        let (name, about) = (words(&tool.name), words(&tool.description));
        let one = |word: &String| {
            if name.contains(word) {
                WHOLE
            } else if name
                .iter()
                .any(|part| part.starts_with(word.as_str()) || word.starts_with(part.as_str()))
            {
                BEGINS
            } else if about.iter().any(|part| part.starts_with(word.as_str())) {
                MENTIONED
            } else {
                0
            }
        };
        wanted.iter().map(one).sum()
    };
    let mut found: Vec<(u32, &OfferedTool)> = tools.iter().map(|tool| (score(tool), *tool)).collect();
    found.retain(|(score, _)| *score > 0);
    found.sort_by(|(one, tool), (other, next)| other.cmp(one).then_with(|| tool.name.cmp(&next.name)));
    found.into_iter().map(|(_, tool)| tool).collect()
}

/// Words of two letters and more, in small letters: `readFile` and `read_file` are two.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut small) = (Vec::new(), String::new(), false);
    for letter in text.chars() {
        let begins = !letter.is_alphanumeric() || (letter.is_uppercase() && small);
        if begins && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        small = letter.is_lowercase();
    }
    words.push(word);
    words.retain(|word| word.chars().count() > 1);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(name: &str, description: &str) -> OfferedTool {
        let (server, tool) = name.split_once("__").unwrap();
        OfferedTool {
            name: name.into(),
            server: server.into(),
            tool: tool.into(),
            description: description.into(),
            schema: json!({}),
        }
    }

    #[test]
    fn the_words_of_a_name_count_more_than_those_of_a_description() {
        let tools = [
            tool("files__readFile", "Returns what a file contains"),
            tool("files__write_file", "Writes a file; read it back afterwards"),
            tool("tracker__create_issue", "Opens an issue"),
            tool("web__open", "Opens a page"),
        ];
        let tools: Vec<&OfferedTool> = tools.iter().collect();
        let found = |query: &str| -> Vec<&str> {
            ranked(&tools, query).into_iter().map(|tool| tool.name.as_str()).collect()
        };
        assert_eq!(found("read a file"), ["files__readFile", "files__write_file"]);
        assert_eq!(found("issues"), ["tracker__create_issue"]);
        assert_eq!(found("OPEN"), ["web__open", "tracker__create_issue"]);
        assert!(found("paint").is_empty() && found("a").is_empty());
    }
}
