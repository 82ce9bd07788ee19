//! Signatures of webhooks, as forges make them: HMAC-SHA-256 of the body in `X-Hub-Signature-256`. Where a key for them
//! is configured, each webhook has to be signed with it, whoever sends it, and needs nothing else.

use axum::http::HeaderMap;
use hmac::{Hmac, KeyInit, Mac};
use holon_api::Code;
use holon_facts::AgentId;
use holon_platform::hex;
use sha2::Sha256;

use super::failure::Failure;
use super::header::sole;
use super::route::Handled;

/// The header, as its name is compared.
const HEADER: &str = "x-hub-signature-256";
const HINT: &str = "the sender signs with the key of `server.webhook_credential`";

/// The key, where there is one.
#[derive(Clone, Default)]
pub struct Signatures(Option<Hmac<Sha256>>);

impl Signatures {
    pub fn new(key: Option<&str>) -> Self {
        // It takes keys of any length.
        Self(key.and_then(|key| Hmac::new_from_slice(key.as_bytes()).ok()))
    }

    pub(super) fn are_required(&self) -> bool {
        self.0.is_some()
    }

    /// Why nothing else than a signed webhook may call itself one.
    pub(super) fn unsigned(&self, agent: &AgentId) -> Box<Failure> {
        let text = "kind: webhooks have to be signed here, and this route takes no signatures";
        let hint = format!("POST /webhooks/generic/{agent} with X-Hub-Signature-256, or kind channel_event");
        Failure::new(Code::MissingSignature, text).hint(hint).detail("field", "kind")
    }

    /// Whether a body is what its sender signed.
    ///
    /// # Errors
    /// A signature that is missing, of another kind, or wrong.
    pub(super) fn check(&self, headers: &HeaderMap, body: &[u8]) -> Handled<()> {
        let Some(key) = &self.0 else { return Ok(()) };
        let given = sole(headers, HEADER)?;
        let Some(given) = given else {
            let missing = "webhooks have to be signed here: the header X-Hub-Signature-256 is missing";
            return Err(Failure::new(Code::MissingSignature, missing).hint(HINT));
        };
        let digest = given
            .to_str()
            .ok()
            .and_then(|text| text.trim().strip_prefix("sha256="))
            .and_then(hex::read::<32>);
        // In constant time.
        let right = digest.is_some_and(|digest| key.clone().chain_update(body).verify_slice(&digest).is_ok());
        if right {
            return Ok(());
        }
        Err(Failure::new(Code::WrongSignature, "X-Hub-Signature-256 is no signature of this body").hint(HINT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example that GitHub documents.
    #[test]
    fn a_forge_signs_like_this() {
        let signatures = Signatures::new(Some("It's a Secret to Everybody"));
        let right = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let check = |value: Option<&str>, body: &str| {
            let mut headers = HeaderMap::new();
            if let Some(value) = value {
                headers.insert(HEADER, value.parse().unwrap());
            }
            signatures.check(&headers, body.as_bytes()).map_err(|failure| failure.code())
        };
        assert_eq!(check(Some(right), "Hello, World!"), Ok(()));
        assert_eq!(check(Some(&right.to_uppercase().replace("SHA256", "sha256")), "Hello, World!"), Ok(()));
        assert_eq!(check(Some(right), "Hello, World?"), Err(Code::WrongSignature));
        assert_eq!(check(None, "Hello, World!"), Err(Code::MissingSignature));
        for wrong in ["", "sha256=", &right[7..], &right[..70], &right.replace("sha256", "sha1")] {
            assert_eq!(check(Some(wrong), "Hello, World!"), Err(Code::WrongSignature), "{wrong}");
        }
        assert!(Signatures::new(None).check(&HeaderMap::new(), b"").is_ok());
    }
}
