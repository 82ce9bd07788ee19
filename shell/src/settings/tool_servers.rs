//! The table of what can be said of a server of tools: `mcp.servers.<name>.<option>`, and who may use which: `mcp.agents.<id>`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use holon_facts::{AgentId, Millis};
use holon_mcp::{Definition, Reach, Revision};
use holon_platform::Environment;
use serde_json::Value as Json;
use toml_edit::Value;

use super::credentials::Credentials;
use super::execution::is_reserved;
use super::field::Field;
use super::keys::{Key, key, number};
use super::kind::{Kind, is_name, is_variable};
use super::origin::Origin;
use super::request_parts::{HeaderText, Headers, texts};
use super::source::{join, split};
use super::{Problem, Settings, problem};

/// Most variables of a program, bytes of a text, and texts of a list.
pub(super) const VARIABLES: usize = 64;
pub(super) const TEXT_BYTES: usize = 32 << 10;
pub(super) const TEXTS: usize = 128;
/// Longest name of a server: it is a part of the names of its tools.
const NAME_CHARS: usize = 32;

/// Variables that a program gets from the runtime's own environment: what it takes to find programs and files.
const PASSED: [&str; 10] =
    ["HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"];

/// What the file says of one server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolServerSettings {
    pub command: Option<String>,
    pub args: Option<Vec<String>>,
    pub env: Option<ServerVariables>,
    pub cwd: Option<PathBuf>,
    pub url: Option<String>,
    pub headers: Option<Headers>,
    pub credential: Option<String>,
    pub tools: Option<Vec<String>>,
    pub protocol: Option<Revision>,
    pub start_timeout: Option<Millis>,
    pub call_timeout: Option<Millis>,
    pub idle: Option<Millis>,
    pub per_agent: Option<bool>,
    pub passes_on: Option<bool>,
}

/// Every option, in the order in which it is listed.
pub const TOOL_SERVER_KEYS: &[Key<ToolServerSettings>] = &[
    key!(
        "command",
        command,
        Kind::Text,
        "start this program, and speak to it over its standard input and output"
    ),
    key!("args", args, Kind::Texts, "start it with these arguments"),
    key!(
        "env",
        env,
        Kind::ServerVariables,
        "give it these variables; a secret is named, as in `{ TOKEN = { credential = \"name\" } }`"
    ),
    key!("cwd", cwd, Kind::Path, "start it in this folder; by default in the home of the runtime"),
    key!("url", url, Kind::Url(&["http", "https"]), "reach it at this address instead, over streamable HTTP"),
    key!(
        "headers",
        headers,
        Kind::Headers,
        "add these headers to each request; a secret is named, as in `{ x-key = { credential = \"name\" } }`"
    ),
    key!(
        "credential",
        credential,
        Kind::Name,
        "send the key of this name in `credentials.toml` as a bearer token"
    ),
    key!("tools", tools, Kind::Texts, "offer these of its tools, by its own names; by default all"),
    key!(
        "protocol",
        protocol,
        Kind::Word(Revision::WORDS),
        "speak this revision of the protocol; `auto` is the newest that the server knows"
    ),
    key!(
        "start_timeout_ms",
        start_timeout,
        number(100, 600_000),
        "wait this long for its start and its list of tools; by default 30,000"
    ),
    key!(
        "call_timeout_ms",
        call_timeout,
        number(100, 600_000),
        "wait this long for one call; by default 60,000"
    ),
    key!(
        "idle_stop_ms",
        idle,
        number(1_000, 86_400_000),
        "end its program when nobody has called it for this time; by default 600,000"
    ),
    key!(
        "per_agent",
        per_agent,
        Kind::Flag,
        "start one for each agent that calls it, instead of one for all; by default false"
    ),
    key!(
        "pass_on_questions",
        passes_on,
        Kind::Flag,
        "let it ask its user during a call: agents read the question with the result; by default false"
    ),
];

/// Variables with their values, or the credentials that these are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerVariables(pub BTreeMap<String, HeaderText>);

/// A name below `mcp` in its parts.
pub(super) enum McpKey {
    Option(String, &'static Key<ToolServerSettings>),
    Agent(AgentId),
    Unknown(String, String),
    BadName,
}

/// The kind of what `mcp.agents.<id>` has.
pub(super) const AGENT_KIND: Kind = Kind::Names;

/// Reads what stands behind `mcp.`.
pub(super) fn mcp_key(rest: &str) -> McpKey {
    let parts = split(rest).unwrap_or_default();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts[..] {
        ["servers", name, option] if is_server(name) => {
            match TOOL_SERVER_KEYS.iter().find(|key| key.name == option) {
                Some(key) => McpKey::Option(name.to_owned(), key),
                None => McpKey::Unknown(name.to_owned(), option.to_owned()),
            }
        }
        ["agents", id] => AgentId::new(id).map_or(McpKey::BadName, McpKey::Agent),
        _ => McpKey::BadName,
    }
}

/// Whether a table of this name, without `mcp.`, has keys in it.
pub(super) fn is_mcp_group(rest: &str) -> bool {
    rest == "servers" || rest == "agents" || rest.strip_prefix("servers.").is_some_and(is_server)
}

/// `[a-z0-9][a-z0-9-]{0,31}`.
pub fn is_server(name: &str) -> bool {
    is_name(name) && name.len() <= NAME_CHARS
}

/// What is expected of a name below `mcp`.
pub(super) fn expected() -> String {
    format!(
        "expected mcp.servers.<name>.<option> or mcp.agents.<id>, the name of a server as {}, and at most {NAME_CHARS} of them",
        Kind::Name.expected()
    )
}

impl Field for ServerVariables {
    /// Reads `{ "CI" = "1", "TOKEN" = { credential = "name" } }`. What has the name of a secret has to name a credential.
    fn read(value: &Value) -> Option<Self> {
        let table = value.as_inline_table().filter(|table| table.len() <= VARIABLES)?;
        let one = |(name, value): (&str, &Value)| {
            let text = match (value.as_str(), value.as_inline_table()) {
                (Some(text), _) => {
                    let fits = text.len() <= TEXT_BYTES && !text.contains('\0');
                    let open = !holon_text::variables::is_secret(name, text);
                    HeaderText::Text((fits && open).then(|| text.to_owned())?)
                }
                (None, Some(reference)) => {
                    let credential = reference.get("credential")?.as_str()?;
                    let fits = reference.len() == 1 && is_name(credential);
                    HeaderText::Credential(fits.then(|| credential.to_owned())?)
                }
                (None, None) => return None,
            };
            (is_variable(name) && !is_reserved(name)).then(|| (name.to_owned(), text))
        };
        table.iter().map(one).collect::<Option<_>>().map(Self)
    }

    fn show(&self) -> Json {
        texts(&self.0)
    }
}

/// Who may use which servers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ToolServers {
    pub servers: BTreeMap<String, ToolServerSettings>,
    /// By agents that are named; all others have what their kind has.
    pub agents: BTreeMap<AgentId, Vec<String>>,
}

/// The servers of a runtime, as they are started, and who may use them.
#[derive(Clone, Default)]
pub struct DefinedServers {
    pub definitions: Vec<Definition>,
    pub whose: ToolServers,
    /// What programs of workspaces get.
    pub variables: BTreeMap<String, String>,
}

impl ToolServers {
    /// With all that a start takes.
    pub fn defined(
        &self,
        home: &Path,
        environment: &Environment,
        credentials: &Credentials,
    ) -> DefinedServers {
        let definitions = self.definitions(home, environment, credentials);
        DefinedServers { definitions, whose: self.clone(), variables: passed(environment) }
    }

    /// The servers of an agent: those that are named for it; all, where none are and it is `open` to all.
    pub fn of(&self, agent: &AgentId, open: bool) -> Vec<String> {
        match self.agents.get(agent) {
            Some(named) => named.iter().filter(|name| self.servers.contains_key(*name)).cloned().collect(),
            None if open => self.servers.keys().cloned().collect(),
            None => Vec::new(),
        }
    }

    /// Whether an agent has servers of its workspace: where it is `open` to all, and none are named for it.
    pub fn has_those_of_its_workspace(&self, agent: &AgentId, open: bool) -> bool {
        open && !self.agents.contains_key(agent)
    }

    /// Every server as it is started or reached. One that can't be is there all the same, with the reason.
    pub fn definitions(
        &self,
        home: &Path,
        environment: &Environment,
        credentials: &Credentials,
    ) -> Vec<Definition> {
        let define = |(name, own): (&String, &ToolServerSettings)| {
            own.definition(name, home, environment, credentials)
        };
        self.servers.iter().map(define).collect()
    }
}

impl ToolServerSettings {
    fn definition(
        &self,
        name: &str,
        home: &Path,
        environment: &Environment,
        keys: &Credentials,
    ) -> Definition {
        let reach = self.reach(home, environment, keys).unwrap_or_else(|problem| Reach::Nowhere { problem });
        Definition {
            name: name.to_owned(),
            proposal: None,
            reach,
            revision: self.protocol.unwrap_or_default(),
            start_timeout: self.start_timeout.unwrap_or(Millis::seconds(30)),
            call_timeout: self.call_timeout.unwrap_or(Millis::seconds(60)),
            idle: self.idle.unwrap_or(Millis::minutes(10)),
            per_agent: self.per_agent.unwrap_or(false),
            passes_on: self.passes_on.unwrap_or(false),
            tools: self.tools.clone(),
        }
    }

    fn reach(&self, home: &Path, environment: &Environment, keys: &Credentials) -> Result<Reach, String> {
        let value = |text: &HeaderText| match text {
            HeaderText::Text(text) => Ok(text.clone()),
            HeaderText::Credential(name) => stored(keys, name),
        };
        if let Some(url) = &self.url {
            let own = self.headers.iter().flat_map(|headers| &headers.0);
            let mut headers: BTreeMap<_, _> =
                own.map(|(name, text)| Ok((name.clone(), value(text)?))).collect::<Result<_, String>>()?;
            if let Some(name) = &self.credential {
                headers.insert("authorization".to_owned(), format!("Bearer {}", stored(keys, name)?));
            }
            return Ok(Reach::Address { url: url.clone(), headers });
        }
        let Some(command) = self.command.clone() else {
            return Err("it has neither command nor url".to_owned());
        };
        let mut variables = passed(environment);
        for (name, text) in self.env.iter().flat_map(|env| &env.0) {
            variables.insert(name.clone(), value(text)?);
        }
        let folder = self.cwd.clone().unwrap_or_else(|| home.to_owned());
        Ok(Reach::Program {
            command,
            args: self.args.clone().unwrap_or_default(),
            environment: variables,
            folder,
        })
    }
}

/// What of the runtime's own environment programs get.
pub fn passed(environment: &Environment) -> BTreeMap<String, String> {
    let one = |name: &str| Some((name.to_owned(), environment.get(name)?.to_owned()));
    PASSED.into_iter().filter_map(one).collect()
}

fn stored(keys: &Credentials, name: &str) -> Result<String, String> {
    let missing = || {
        format!("it needs the credential {name}, which is not there; `holon config credentials set {name}`")
    };
    keys.get(name).map(ToOwned::to_owned).ok_or_else(missing)
}

/// The dotted name of an option.
pub(super) fn option_name(server: &str, option: &str) -> String {
    join(&join("mcp.servers", server), option)
}

/// The dotted name of the servers of an agent.
pub(super) fn agent_name(agent: &AgentId) -> String {
    join("mcp.agents", agent.as_str())
}

impl Settings {
    pub(super) fn take_mcp(&mut self, name: &str, value: &Value, origin: &Origin) -> Result<(), Problem> {
        match mcp_key(name.strip_prefix("mcp.").unwrap_or(name)) {
            McpKey::Option(server, key) => {
                let own = self.tool_servers.servers.entry(server).or_default();
                key.set(own, value).map_err(|what| problem(origin, name, what))?;
            }
            McpKey::Agent(agent) => {
                AGENT_KIND.check(value).map_err(|what| problem(origin, name, what))?;
                self.tool_servers.agents.insert(agent, Vec::read(value).unwrap_or_default());
            }
            McpKey::Unknown(..) => return Err(super::unknown(origin, name)),
            McpKey::BadName => return Err(problem(origin, name, expected())),
        }
        self.origins.insert(name.to_owned(), origin.clone());
        Ok(())
    }
}

/// Servers that nobody can reach as they are described, and names of none.
pub(super) fn broken(settings: &Settings) -> impl Iterator<Item = Problem> {
    let ToolServers { servers, agents } = &settings.tool_servers;
    let of_servers = servers.iter().filter_map(|(name, own)| {
        let set =
            |option: &str| TOOL_SERVER_KEYS.iter().any(|key| key.name == option && !key.get(own).is_null());
        let of_program = ["args", "env", "cwd"].into_iter().find(|option| set(option));
        let of_address = ["headers", "credential"].into_iter().find(|option| set(option));
        let (option, what) = match (&own.command, &own.url, of_program, of_address) {
            (Some(_), Some(_), _, _) => {
                ("url", "contradicts command: a server is a program or an address".to_owned())
            }
            (None, None, _, _) => ("command", "is missing: a server has a command or a url".to_owned()),
            (None, Some(_), Some(option), _) => {
                (option, "is of no use: the server has a url, and no program is started".to_owned())
            }
            (Some(_), None, _, Some(option)) => {
                (option, "is of no use: the server is a program, not an address".to_owned())
            }
            (Some(_), None, _, None) | (None, Some(_), None, _) => return None,
        };
        let key = option_name(name, option);
        let mut origin = settings.origin(&key);
        if origin == Origin::Default {
            let named = |key: &&Key<ToolServerSettings>| {
                settings.origin(&option_name(name, key.name)) != Origin::Default
            };
            let other =
                TOOL_SERVER_KEYS.iter().find(named).map(|key| settings.origin(&option_name(name, key.name)));
            origin = other.unwrap_or(Origin::Default);
        }
        Some(problem(&origin, &key, what))
    });
    let of_agents = agents.iter().filter_map(|(agent, named)| {
        let unknown = named.iter().find(|name| !servers.contains_key(*name))?;
        let key = agent_name(agent);
        let near = holon_text::nearest::did_you_mean(unknown, servers.keys().map(String::as_str));
        Some(problem(&settings.origin(&key), &key, format!("there is no server {unknown:?}{near}")))
    });
    of_servers.chain(of_agents).collect::<Vec<_>>().into_iter()
}
