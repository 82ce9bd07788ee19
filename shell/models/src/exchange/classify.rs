//! What kind of failure a status or an error is (contract: providers.md, Retry and fallback).

use holon_facts::model::FailureKind;

use super::ReportedError;

/// How servers say that a request is longer than the model's window: the hosted ones, then llama.cpp, Ollama,
/// vLLM, text-generation-inference and LM Studio.
const TOO_LONG: [&str; 17] = [
    "context_length_exceeded",
    "context length",
    "maximum context",
    "context window",
    "context limit",
    "prompt is too long",
    "input is too long",
    "input length and `max_tokens` exceed",
    "input length and max_tokens exceed",
    "exceed_context_size",
    "available context size",
    "exceeds the maximum number of tokens",
    "longer than the model's context",
    "prompt too long",
    "`inputs` tokens + `max_new_tokens` must be",
    "model_context_window_exceeded",
    "request_too_large",
];

/// How servers say that waiting a moment won't help: the account has nothing left.
const NO_QUOTA: [&str; 6] = [
    "insufficient_quota",
    "usage_limit_reached",
    "billing_hard_limit_reached",
    "quota_exceeded",
    "credit balance is too low",
    "exceeded your current quota",
];

/// How servers say that they don't take back what the model has thought: it is too old, of another account, or not as it
/// was.
const THOUGHTS: [&str; 9] = [
    "invalid_encrypted_content",
    "encrypted_content",
    "encrypted content",
    "reasoning item",
    "'reasoning'",
    "thinking block",
    "`thinking`",
    "redacted_thinking",
    "signature",
];

/// Whether a refusal is about thoughts that came back.
pub(super) fn refuses_thoughts(status: u16, said: &ReportedError) -> bool {
    matches!(status, 400 | 422) && said.mentions(&THOUGHTS)
}

/// How servers say that they don't take an image: it is damaged, larger than they allow, or they read none.
const IMAGES: [&str; 4] = ["image", "vision", "multimodal", "media_type"];

/// Whether a refusal is about images.
pub(super) fn refuses_images(status: u16, said: &ReportedError) -> bool {
    matches!(status, 400 | 404 | 413 | 415 | 422) && said.mentions(&IMAGES)
}

/// A quota that is full again so soon is a limit on the rate.
const SOON: u64 = 120_000;

/// A refusal by its status, by what comes with it, and by how many milliseconds it asks to wait.
pub(super) fn status(status: u16, said: &ReportedError, wait: Option<u64>) -> FailureKind {
    match status {
        402 => FailureKind::Quota,
        429 if wait.is_some_and(|wait| wait <= SOON) => FailureKind::RateLimited,
        400 | 403 | 429 if said.mentions(&NO_QUOTA) => FailureKind::Quota,
        429 => FailureKind::RateLimited,
        401 | 403 => FailureKind::Auth,
        408 => FailureKind::Timeout,
        413 => FailureKind::ContextLength,
        400 | 422 if said.mentions(&TOO_LONG) => FailureKind::ContextLength,
        501 => FailureKind::Client,
        500..=599 => FailureKind::Server,
        // 409 is among them: a request that conflicts with another one does so again.
        _ => FailureKind::Client,
    }
}

/// An error that came with a status of success: by the status that it names, or by its words.
pub(super) fn reported(said: &ReportedError, wait: Option<u64>) -> Option<FailureKind> {
    if let Some(own) = said.status {
        return Some(status(own, said, wait));
    }
    let kinds: [(&[&str], FailureKind); 7] = [
        (&TOO_LONG, FailureKind::ContextLength),
        (&NO_QUOTA, FailureKind::Quota),
        (&["rate_limit", "rate limit", "too many requests", "resource_exhausted"], FailureKind::RateLimited),
        (&["timeout_error", "timed out"], FailureKind::Timeout),
        (
            &["overloaded", "server_error", "api_error", "internal", "unavailable", "server had an error"],
            FailureKind::Server,
        ),
        (&["authentication_error", "permission_error", "invalid_api_key"], FailureKind::Auth),
        (&["invalid_request", "invalid_prompt", "not_found"], FailureKind::Client),
    ];
    kinds.into_iter().find(|(words, _)| said.mentions(words)).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn statuses_have_their_kinds() {
        let long = r#"{"error":{"code":"context_length_exceeded"}}"#;
        for (code, body, expected) in [
            (429, "", FailureKind::RateLimited),
            (429, r#"{"error":{"type":"insufficient_quota"}}"#, FailureKind::Quota),
            (429, r#"{"error":{"type":"usage_limit_reached"}}"#, FailureKind::Quota),
            (402, "", FailureKind::Quota),
            (
                429,
                r#"{"error":{"message":"You exceeded your current quota. Please retry in 36.5s."}}"#,
                FailureKind::RateLimited,
            ),
            (400, r#"{"error":{"message":"Your credit balance is too low to …"}}"#, FailureKind::Quota),
            (401, "", FailureKind::Auth),
            (403, "", FailureKind::Auth),
            (404, "", FailureKind::Client),
            (408, "", FailureKind::Timeout),
            (409, "", FailureKind::Client),
            (400, long, FailureKind::ContextLength),
            (413, "", FailureKind::ContextLength),
            (422, "This model's Maximum Context is 8k", FailureKind::ContextLength),
            (422, r#"{"detail":[{"input":"what is a context window?"}]}"#, FailureKind::Client),
            (400, r#"{"error":{"message":"no"},"input":"context window"}"#, FailureKind::Client),
            (500, long, FailureKind::Server),
            (302, "", FailureKind::Client),
            (501, "", FailureKind::Client),
            (503, "", FailureKind::Server),
            (529, r#"{"type":"error","error":{"type":"overloaded_error"}}"#, FailureKind::Server),
        ] {
            let said = ReportedError::body(body.as_bytes());
            assert_eq!(status(code, &said, said.retry_in), expected, "{code} {body}");
        }
    }

    #[test]
    fn servers_say_in_many_ways_that_a_prompt_is_too_long() {
        for text in [
            "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
            "prompt is too long: 210000 tokens > 200000 maximum",
            "input length and `max_tokens` exceed context limit: 190000 + 16384 > 200000",
            "the request exceeds the available context size (8192 tokens), try increasing it",
            "the input length exceeds the context length",
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            "Trying to keep the first 9000 tokens when the model is loaded with context length of only 4096",
            "`inputs` tokens + `max_new_tokens` must be <= 4096",
        ] {
            let said = ReportedError::of(&json!({"message": text}));
            assert_eq!(status(400, &said, None), FailureKind::ContextLength, "{text}");
            assert_eq!(reported(&said, None), Some(FailureKind::ContextLength), "{text}");
        }
    }

    #[test]
    fn reported_errors_have_their_kinds() {
        for (error, expected) in [
            (json!({"type": "overloaded_error", "message": "Overloaded"}), Some(FailureKind::Server)),
            (json!({"code": "server_error", "message": "x"}), Some(FailureKind::Server)),
            (json!({"code": "rate_limit_exceeded"}), Some(FailureKind::RateLimited)),
            (json!({"type": "rate_limit_error"}), Some(FailureKind::RateLimited)),
            (json!({"code": "insufficient_quota"}), Some(FailureKind::Quota)),
            (json!({"type": "authentication_error"}), Some(FailureKind::Auth)),
            (json!({"code": "invalid_prompt"}), Some(FailureKind::Client)),
            (json!({"code": 503, "message": "x"}), Some(FailureKind::Server)),
            (json!({"message": "model not loaded"}), None),
        ] {
            assert_eq!(reported(&ReportedError::of(&error), None), expected, "{error}");
        }
    }
}
