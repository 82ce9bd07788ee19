//! Servers that a workspace proposes in its `.mcp.json`, the format of other tools. A proposal starts nothing: an operator
//! approves exactly this definition first ([`crate::Approvals`]).

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use holon_facts::workspace::WorkspaceId;
use holon_facts::{ContentId, Millis};
use holon_platform::regular;
use holon_text::hash;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::definition::{Definition, Reach, Revision};

/// In the folder that stands for the workspace.
pub const PROPOSALS: &str = ".mcp.json";
/// A larger file, and more servers, are not read.
const FILE_BYTES: u64 = 256 << 10;
const SERVERS: usize = 32;
/// Longest name of a server: it is a part of the names of its tools, and of files.
const NAME_CHARS: usize = 32;

/// Which definition of which workspace: what an operator approves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// The folder that stands for the workspace, as it really is.
    pub workspace: PathBuf,
    pub name: String,
    /// Of everything that the file has of this server.
    pub digest: ContentId,
}

/// A server that a workspace proposes, as it would be started.
#[derive(Clone, PartialEq, Eq)]
pub struct Proposed {
    pub proposal: Proposal,
    pub reach: Reach,
}

/// What the file has of one server. Other tools have further fields; all of them count for the digest.
#[derive(Deserialize)]
struct Entry {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
}

impl Proposal {
    /// The server as everybody names it: the same name in another workspace is another server.
    pub fn id(&self) -> String {
        format!("{}@{}", self.name, WorkspaceId::of_anchor(&self.workspace.display().to_string()))
    }
}

impl Proposed {
    /// What the workspace proposes, by name; `variables` are those that programs get, and that the file may refer to.
    ///
    /// # Errors
    /// A file that can't be read, or is none of this format.
    pub fn of(workspace: &Path, variables: &BTreeMap<String, String>) -> Result<Vec<Self>, String> {
        let said = |problem: String| format!("{}: {problem}", workspace.join(PROPOSALS).display());
        let Some(text) = read(workspace).map_err(|problem| said(problem.to_string()))? else {
            return Ok(Vec::new());
        };
        let servers = servers(&text).map_err(said)?;
        if servers.len() > SERVERS {
            return Err(said(format!("it has {} servers; at most {SERVERS} are read", servers.len())));
        }
        let proposed = servers.into_iter().map(|(name, entry)| {
            let digest = hash(entry.to_string().as_bytes());
            let reach = reach(&name, entry, workspace, variables);
            let reach = reach.unwrap_or_else(|problem| Reach::Nowhere { problem });
            Self { proposal: Proposal { workspace: workspace.to_owned(), name, digest }, reach }
        });
        Ok(proposed.collect())
    }

    pub fn definition(&self) -> Definition {
        Definition {
            name: self.proposal.id(),
            proposal: Some(self.proposal.clone()),
            reach: self.reach.clone(),
            revision: Revision::Newest,
            start_timeout: Millis::seconds(30),
            call_timeout: Millis::seconds(60),
            idle: Millis::minutes(10),
            per_agent: false,
            passes_on: false,
            tools: None,
        }
    }
}

/// The file; none where there is none.
fn read(workspace: &Path) -> io::Result<Option<String>> {
    let path = workspace.join(PROPOSALS);
    let about = match fs::metadata(&path) {
        Err(problem) if problem.kind() == io::ErrorKind::NotFound => return Ok(None),
        about => about?,
    };
    if !about.is_file() || about.len() > FILE_BYTES {
        return Err(io::Error::other(format!("expected a file of at most {} KiB", FILE_BYTES >> 10)));
    }
    let mut text = String::new();
    regular::open(&path)?.take(FILE_BYTES).read_to_string(&mut text)?;
    Ok(Some(text))
}

fn servers(text: &str) -> Result<Map<String, Value>, String> {
    let file: Value = serde_json::from_str(text).map_err(|problem| problem.to_string())?;
    let Value::Object(mut file) = file else { return Err("expected an object with mcpServers".to_owned()) };
    match file.remove("mcpServers") {
        Some(Value::Object(servers)) => Ok(servers),
        None => Ok(Map::new()),
        Some(_) => Err("mcpServers: expected an object".to_owned()),
    }
}

fn reach(
    name: &str,
    entry: Value,
    workspace: &Path,
    variables: &BTreeMap<String, String>,
) -> Result<Reach, String> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if name.is_empty() || name.len() > NAME_CHARS || !name.chars().all(plain) {
        return Err(format!("its name is not 1 to {NAME_CHARS} characters of a-z, A-Z, 0-9, '-' and '_'"));
    }
    let Entry { kind, command, args, env, url, headers } =
        serde_json::from_value(entry).map_err(|problem| problem.to_string())?;
    let whole = |text: String| expanded(&text, variables);
    let all = |texts: BTreeMap<String, String>| -> Result<BTreeMap<String, String>, String> {
        texts.into_iter().map(|(name, text)| Ok((name, expanded(&text, variables)?))).collect()
    };
    match (kind.as_deref(), command, url) {
        (Some("sse"), ..) => Err("it is of type sse, which no revision has any more".to_owned()),
        (None | Some("stdio"), Some(command), None) => {
            let mut environment = variables.clone();
            environment.extend(all(env)?);
            let args = args.into_iter().map(whole).collect::<Result<_, _>>()?;
            Ok(Reach::Program { command: whole(command)?, args, environment, folder: workspace.to_owned() })
        }
        (None | Some("http" | "streamable-http"), None, Some(url)) => {
            Ok(Reach::Address { url: whole(url)?, headers: all(headers)? })
        }
        _ => Err("expected a command (type stdio) or a url (type http)".to_owned()),
    }
}

/// With the values of `${NAME}` and `${NAME:-default}`.
fn expanded(text: &str, variables: &BTreeMap<String, String>) -> Result<String, String> {
    let (mut whole, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        whole += before;
        let Some((inner, behind)) = after.split_once('}') else {
            return Err(format!("{text:?} has a `${{` without its end"));
        };
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        let value = variables.get(name).map(String::as_str).or(default);
        whole += value.ok_or_else(|| {
            format!(
                "it needs the variable {name}, which servers of a workspace are not given; \
                 `holon mcp add` makes it a server of yours, with `--env {name}=credential:ID` for a secret"
            )
        })?;
        rest = behind;
    }
    Ok(whole + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposed(text: &str) -> Result<Vec<Proposed>, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(PROPOSALS), text).unwrap();
        Proposed::of(folder.path(), &[("HOME".to_owned(), "/home/me".to_owned())].into())
    }

    fn reached(entry: &str) -> Reach {
        proposed(&format!(r#"{{"mcpServers":{{"files":{entry}}}}}"#)).unwrap().remove(0).reach
    }

    #[test]
    fn the_format_of_other_tools_is_read() {
        let program = reached(
            r#"{"type":"stdio","command":"${HOME}/bin/x","args":["${PORT:-80}"],"env":{"A":"1"},"timeout":5}"#,
        );
        let Reach::Program { command, args, environment, folder } = program else { panic!() };
        assert_eq!((command.as_str(), &args[..]), ("/home/me/bin/x", &["80".to_owned()][..]));
        let environment: Vec<_> = environment.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            (environment, folder.is_absolute()),
            (vec!["A=1".to_owned(), "HOME=/home/me".into()], true)
        );
        let address = reached(r#"{"url":"https://x/mcp","headers":{"x":"${HOME}"}}"#);
        let Reach::Address { url, headers } = address else { panic!() };
        assert_eq!((url.as_str(), headers["x"].as_str()), ("https://x/mcp", "/home/me"));
        assert_eq!(proposed("{}").unwrap().len(), 0);
        let nowhere = tempfile::tempdir().unwrap();
        assert!(Proposed::of(nowhere.path(), &BTreeMap::new()).unwrap().is_empty());
    }

    #[test]
    fn what_can_not_be_used_has_its_reason() {
        for (entry, says) in [
            (r#"{"command":"x","env":{"KEY":"${TOKEN}"}}"#, "it needs the variable TOKEN"),
            (r#"{"command":"${HOME"}"#, "without its end"),
            (r#"{"type":"sse","url":"http://x"}"#, "type sse"),
            (r#"{"command":"x","url":"http://x"}"#, "expected a command"),
            (r#"{"command":7}"#, "expected a string"),
            ("[]", "expected a command"),
        ] {
            let Reach::Nowhere { problem } = reached(entry) else { panic!("{entry}") };
            assert!(problem.contains(says), "{entry}: {problem}");
        }
        let named = proposed(r#"{"mcpServers":{"../x":{"command":"x"}}}"#).unwrap().remove(0).reach;
        assert!(matches!(named, Reach::Nowhere { problem } if problem.contains("its name")));
        for (text, says) in [
            ("{", "EOF"),
            ("[]", "expected an object"),
            (r#"{"mcpServers":[]}"#, "mcpServers: expected an object"),
            (&" ".repeat(300 << 10), "at most 256 KiB"),
        ] {
            let problem = proposed(text).err().unwrap();
            assert!(problem.contains(says) && problem.contains(PROPOSALS), "{problem}");
        }
        let many: Vec<_> = (0..33).map(|n| format!(r#""s{n}":{{"command":"x"}}"#)).collect();
        let many = proposed(&format!(r#"{{"mcpServers":{{{}}}}}"#, many.join(","))).err().unwrap();
        assert!(many.contains("33 servers"), "{many}");
    }

    #[test]
    fn each_word_of_a_definition_counts_and_no_space_does() {
        let digest = |entry: &str| {
            let text = format!(r#"{{"mcpServers":{{"files":{entry}}}}}"#);
            proposed(&text).unwrap()[0].proposal.digest
        };
        let one = digest(r#"{"command":"x","args":["a","b"]}"#);
        assert_eq!(one, digest(r#" { "args" : [ "a", "b" ], "command": "x" } "#));
        for other in [
            r#"{"command":"x","args":["b","a"]}"#,
            r#"{"command":"y","args":["a","b"]}"#,
            r#"{"command":"x","args":["a","b"],"env":{"A":"1"}}"#,
            r#"{"command":"x","args":["a","b"],"unknown":1}"#,
        ] {
            assert_ne!(one, digest(other), "{other}");
        }
    }
}
