//! The table of what can be said of a provider: `providers.<id>.<option>`.

use std::path::PathBuf;

use holon_facts::Millis;
use holon_models::{ContextEditing, MaxTokensField, TRANSPORTS};
use serde_json::Value as Json;

use super::field::Field;
use super::keys::{Key, key, number, time};
use super::kind::Kind;
use super::request_parts::{Headers, Query};
use super::source::join;
use super::{Problem, Settings, problem};

/// What the file says of one provider; what it leaves out stays as it is built in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderSettings {
    pub transport: Option<String>,
    pub base_url: Option<String>,
    pub path: Option<String>,
    pub query: Option<Query>,
    pub headers: Option<Headers>,
    pub key_header: Option<String>,
    pub api_key_env: Option<String>,
    pub credential: Option<String>,
    pub stream: Option<bool>,
    pub strict_tools: Option<bool>,
    pub freeform_tools: Option<bool>,
    pub max_tokens_field: Option<MaxTokensField>,
    pub prompt_cache_key: Option<bool>,
    pub incremental_responses: Option<bool>,
    pub context_management: Option<ContextEditing>,
    pub context_window_tokens: Option<u64>,
    pub connect_timeout: Option<Millis>,
    pub first_byte_timeout: Option<Millis>,
    pub idle_timeout: Option<Millis>,
    pub accept_unofficial: Option<bool>,
    pub proxy: Option<String>,
    pub ca_file: Option<PathBuf>,
}

/// Every option, in the order in which it is listed.
pub const OPTIONS: &[Key<ProviderSettings>] = &[
    key!("transport", transport, Kind::Transport, "set the protocol of the server"),
    key!(
        "base_url",
        base_url,
        Kind::Url(&["http", "https"]),
        "set the address of the server, to which the path of each method is added"
    ),
    key!(
        "path",
        path,
        Kind::Route,
        "set the path of the method below the address, where it is not that of the protocol; `{model}` in it is the model's name"
    ),
    key!("query", query, Kind::Query, "add this query to the address of each request"),
    key!(
        "headers",
        headers,
        Kind::Headers,
        "add these headers to each request; a secret is named, as in `{ x-key = { credential = \"name\" } }`"
    ),
    key!(
        "key_header",
        key_header,
        Kind::Header,
        "send the key unchanged in this header; by default the protocol's own"
    ),
    key!("api_key_env", api_key_env, Kind::Variable, "read the key from this environment variable"),
    key!(
        "credential",
        credential,
        Kind::Name,
        "use the key of this name in `credentials.toml` when no variable has it"
    ),
    key!("stream", stream, Kind::Flag, "request server-sent events rather than one document"),
    key!("strict_tools", strict_tools, Kind::Flag, "offer tools with strict schemas"),
    key!(
        "freeform_tools",
        freeform_tools,
        Kind::Flag,
        "offer `ApplyPatch` as a freeform tool where the protocol has them"
    ),
    key!(
        "max_tokens_field",
        max_tokens_field,
        Kind::Word(&["max_tokens", "max_completion_tokens"]),
        "limit answers of chat completions with this field; by default `max_completion_tokens` at the public address, \
         `max_tokens` elsewhere"
    ),
    key!(
        "prompt_cache_key",
        prompt_cache_key,
        Kind::Flag,
        "send `prompt_cache_key` where the protocol has it; without it at the public address alone"
    ),
    key!(
        "incremental_responses",
        incremental_responses,
        Kind::Flag,
        "let the provider keep its responses, and send it what is new alone; `openai_responses` only"
    ),
    key!(
        "context_management",
        context_management,
        Kind::ContextEditing,
        "let the provider leave results of old calls, or old thoughts, out of long requests; `anthropic_messages` only"
    ),
    key!(
        "context_window_tokens",
        context_window_tokens,
        number(8_192, 100_000_000),
        "set the tokens that its models take; without it `runtime.context_window_tokens`"
    ),
    key!("connect_timeout_ms", connect_timeout, time(1), "wait this long for a connection"),
    key!(
        "first_byte_timeout_ms",
        first_byte_timeout,
        time(1),
        "wait this long from the request to the first byte of the answer"
    ),
    key!("idle_timeout_ms", idle_timeout, time(1), "allow this long a silence inside an answer"),
    key!(
        "accept_unofficial",
        accept_unofficial,
        Kind::Flag,
        "use a service that promises no public interface, as `openai-codex` is one"
    ),
    key!(
        "proxy",
        proxy,
        Kind::Url(&["http", "https", "socks5", "socks5h"]),
        "use this proxy; by default that of the environment"
    ),
    key!("ca_file", ca_file, Kind::Path, "trust these PEM certificates besides those of the system"),
];

/// Options that the transport of their provider has no use for, of those that one transport alone has.
pub(super) fn broken(settings: &Settings) -> impl Iterator<Item = Problem> {
    settings.providers.iter().flat_map(|(id, own)| {
        let transport = settings.transport_of(id);
        let set = OPTIONS.iter().filter(|key| ![Json::Null, Json::Bool(false)].contains(&key.get(own)));
        let problems = set.filter_map(|key| {
            let of = TRANSPORTS.into_iter().find(|transport| transport.options().contains(&key.name))?;
            let transport = transport.filter(|transport| *transport != of)?;
            let name = join(&join("providers", id), key.name);
            let what = format!(
                "{id} is spoken to by {}, which has no {}; {} has it",
                transport.name(),
                key.name,
                of.name()
            );
            Some(problem(&settings.origin(&name), &name, what))
        });
        problems.collect::<Vec<_>>()
    })
}
