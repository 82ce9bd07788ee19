//! What is agreed on before anything else, and what a revision of the protocol wants of results.

use holon_rpc::Error;
use serde_json::{Value, json};

/// A revision without a handshake: each request says which one it speaks.
const STATELESS: &str = "2026-07-28";
/// Those with a handshake, the newest first.
const WITH_HANDSHAKE: [&str; 2] = ["2025-11-25", "2025-06-18"];
/// A request names its revision here.
const REVISION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT: &str = "io.modelcontextprotocol/clientInfo";
/// A server names itself here, where there is no handshake.
const SERVER: &str = "io.modelcontextprotocol/serverInfo";
/// A revision that is not spoken.
const UNSUPPORTED: i64 = -32_022;

const INSTRUCTIONS: &str = "Agents of this Holon runtime live on after you: they keep their history, tasks and timers. \
    Send work with prompt_agent; it answers when the turn ends or when wait_ms is over, and prompt_result asks again for a \
    turn that takes longer. `why` explains what an agent waits for. What an agent asks of its operator is answered with \
    answer_question.";

/// What a request speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Revision {
    /// As the handshake has agreed on.
    Agreed,
    Stateless,
}

impl Revision {
    /// By what the request says.
    ///
    /// # Errors
    /// One that is not spoken here.
    pub(crate) fn of(params: &Value) -> Result<Self, Error> {
        match params["_meta"][REVISION].as_str() {
            None => Ok(Self::Agreed),
            Some(STATELESS) => Ok(Self::Stateless),
            Some(named) if WITH_HANDSHAKE.contains(&named) => Ok(Self::Agreed),
            Some(named) => {
                let data = json!({ "requested": named, "supported": supported() });
                Err(Error::new(UNSUPPORTED, "Unsupported protocol version").with(data))
            }
        }
    }

    /// A result that is whole.
    pub(crate) fn whole(self, mut result: Value) -> Value {
        if self == Self::Stateless {
            result["resultType"] = json!("complete");
        }
        result
    }

    /// The same of one that clients may keep: what is asked for changes at any time, so they keep it for no time.
    pub(crate) fn cacheable(self, result: Value) -> Value {
        let mut result = self.whole(result);
        if self == Self::Stateless {
            result["ttlMs"] = json!(0);
            result["cacheScope"] = json!("private");
        }
        result
    }
}

fn supported() -> Vec<&'static str> {
    [STATELESS].into_iter().chain(WITH_HANDSHAKE).collect()
}

/// The name of the client, where the request has it.
pub(crate) fn client(params: &Value) -> Option<String> {
    params["_meta"][CLIENT]["name"].as_str().map(ToOwned::to_owned)
}

fn capabilities(subscribes: bool) -> Value {
    json!({ "tools": {}, "resources": { "subscribe": subscribes } })
}

fn about() -> Value {
    json!({ "name": "holon", "title": "Holon", "version": env!("CARGO_PKG_VERSION") })
}

/// The answer to a handshake: the revision that was asked for, or the newest that has one.
pub(crate) fn initialized(params: &Value, subscribes: bool) -> Value {
    let asked = params["protocolVersion"].as_str();
    let agreed = WITH_HANDSHAKE.into_iter().find(|revision| Some(*revision) == asked);
    json!({
        "protocolVersion": agreed.unwrap_or(WITH_HANDSHAKE[0]),
        "capabilities": capabilities(subscribes),
        "serverInfo": about(),
        "instructions": INSTRUCTIONS,
    })
}

/// The same without a handshake.
pub(crate) fn discovered() -> Value {
    Revision::Stateless.cacheable(json!({
        "supportedVersions": supported(),
        "capabilities": capabilities(true),
        "instructions": INSTRUCTIONS,
        "_meta": { SERVER: about() },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_revision_that_is_asked_for_is_spoken_if_it_is_known() {
        let agreed =
            |asked: &str| initialized(&json!({ "protocolVersion": asked }), true)["protocolVersion"].clone();
        assert_eq!(agreed("2025-06-18"), "2025-06-18");
        assert_eq!((agreed("2024-11-05"), agreed("2026-07-28")), (json!("2025-11-25"), json!("2025-11-25")));
        let of = |revision: &str| Revision::of(&json!({ "_meta": { REVISION: revision } }));
        assert_eq!((of("2026-07-28"), of("2025-11-25")), (Ok(Revision::Stateless), Ok(Revision::Agreed)));
        let error = of("2031-01-01").unwrap_err();
        assert_eq!((error.code, &error.data.unwrap()["supported"][0]), (-32_022, &json!("2026-07-28")));
    }
}
