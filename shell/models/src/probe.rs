//! One small question to a model, to learn whether it answers at all.

use std::sync::Arc;

use holon_facts::call::ToolName;
use holon_facts::frame::{Part, PromptCache, PromptFrame};
use holon_facts::ids::IdError;
use holon_facts::model::{Item, ModelRequest};
use holon_facts::model_ref::ModelRef;
use holon_facts::{AgentId, Millis};
use holon_text::{Secrets, Texts};

use crate::registry::Providers;

/// Tokens that the answer may have: models that think first need some, and what they say does not matter.
const ANSWER_TOKENS: u64 = 256;

impl Providers {
    /// Asks a model for one word; gives the time that its answer took.
    ///
    /// # Errors
    /// Why there was no answer, and what to do about it.
    pub async fn probe(&self, model: &ModelRef, within: Millis) -> Result<Millis, String> {
        let texts = Texts::new(Secrets::new(self.secrets()), Box::new(|_| Ok(None)));
        let request = request(model, within).map_err(|error| error.to_string())?;
        match self.ask(&texts, &request, &|_| {}).await {
            Ok(answer) => Ok(answer.timing.duration_ms),
            Err(failure) => Err(texts
                .resolve(&failure.message)
                .map_or_else(|_| failure.kind.to_string(), |said| said.to_string())),
        }
    }
}

fn request(model: &ModelRef, timeout: Millis) -> Result<ModelRequest, IdError> {
    let agent = AgentId::new("init")?;
    let cache = PromptCache {
        agent_id: agent.clone(),
        prompt_cache_key: "init".to_owned(),
        context_fingerprint: String::new(),
        working_memory_revision: 0,
        compression_epoch: 0,
    };
    let question = Part::Rendered("Answer with the one word: ready".to_owned());
    Ok(ModelRequest {
        agent,
        model: model.clone(),
        frame: Arc::new(PromptFrame {
            system_prompt: "You check whether a connection works.".to_owned(),
            system_blocks: Vec::new(),
            context_blocks: Vec::new(),
            cache,
        }),
        conversation: vec![Item::User { parts: vec![question] }].into(),
        rounds: 0,
        tools: Arc::<[ToolName]>::default(),
        server_tools: None,
        max_output_tokens: ANSWER_TOKENS,
        timeout,
        continues: Vec::new(),
        goes_on_from: None,
        sums_up: false,
    })
}
