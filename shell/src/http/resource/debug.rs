//! What a model would be told, shown and not sent.

use holon_api::rows::PreviewPrompt;
use holon_api::{DebugPrompt, DebugPromptReply, Json, PromptSection, Source};
use holon_facts::AgentId;
use holon_facts::frame::{Part, PromptBlock, Stability};
use holon_facts::message::Ingress;
use holon_facts::model::{Block, CallResult, Item};
use holon_facts::provenance::{AdmissionContext, Surface};
use holon_facts::workspace::ExecutionBinding;
use holon_models::joined;
use holon_text::{TextError, Texts};

use super::super::App;
use super::super::failure::Failure;
use super::super::route::{Call, Handled};
use super::prompt::check_prompt;

pub(in super::super) async fn prompt(app: App, call: Call<PreviewPrompt>) -> Handled<DebugPromptReply> {
    let (agent, Json(DebugPrompt { text })) = (call.path.agent_id, call.body);
    check_prompt(&text)?;
    let execution = execution(&app, &agent).await?;
    let context = app.runtime.look_at_context(&agent, &execution).await.map_err(Failure::internal)?;
    let text = app.runtime.texts().take(&text);
    let ingress = Ingress::prompt(text, Surface::HttpControlPrompt, AdmissionContext::ControlAuthenticated);
    let (named, known) = (agent.clone(), context.clone());
    let preview = app.runtime.read(Some(&agent), move |view| view.preview(&named, &known, ingress)).await??;
    app.blocking(move |app| {
        let frame = &preview.frame;
        let input_tokens: u64 = preview.input.iter().map(Part::est_tokens).sum();
        let earlier_tokens: u64 = preview.conversation.iter().map(Item::est_tokens).sum();
        let est_tokens = frame.est_tokens() + earlier_tokens + input_tokens;
        let policy = section("policy", Stability::Stable, frame.system_prompt.clone());
        let mut sections = vec![policy];
        for PromptBlock { label, parts, stability, .. } in
            frame.system_blocks.iter().chain(&frame.context_blocks)
        {
            sections.push(section(label, *stability, joined(app.runtime.texts(), parts)?));
        }
        if !preview.conversation.is_empty() {
            let said = conversation(app.runtime.texts(), &preview.conversation)?;
            sections.push(section("conversation", Stability::TurnScoped, said));
        }
        let input = joined(app.runtime.texts(), &preview.input)?;
        sections.push(section("current_input", Stability::TurnScoped, input));
        let sources = context.sources.into_iter();
        Ok(DebugPromptReply {
            ok: true,
            agent_id: agent,
            agent_home: context.execution.agent_home,
            execution,
            loaded_sources: sources.map(|source| Source { scope: source.scope, path: source.path }).collect(),
            sections,
            tools: preview.tools.iter().map(|tool| tool.to_string()).collect(),
            est_tokens,
            prompt_cache_key: frame.cache.prompt_cache_key.clone(),
        })
    })
    .await
}

/// What was said before, by role.
fn conversation(texts: &Texts, items: &[Item]) -> Result<String, TextError> {
    let mut said = String::new();
    for item in items {
        match item {
            Item::User { parts } => said += &format!("user:\n{}\n", joined(texts, parts)?.trim_end()),
            Item::Assistant { blocks } => {
                for block in blocks.iter() {
                    match block {
                        Block::Text { text } => said += &format!("assistant:\n{}\n", texts.resolve(text)?),
                        Block::ToolCall { call_id, tool_name, arguments } => {
                            said += &format!(
                                "assistant calls {tool_name} ({call_id}): {}\n",
                                texts.resolve(arguments)?
                            );
                        }
                        Block::Reasoning { content, .. } => {
                            said += &format!("assistant's reasoning: {} bytes\n", content.bytes());
                        }
                    }
                }
            }
            Item::ToolResults { results } => {
                for CallResult { call_id, receipt } in results {
                    let text =
                        receipt.texts().map(|text| texts.resolve(text)).collect::<Result<Vec<_>, _>>()?;
                    said += &format!("result of {call_id}:\n{}\n", text.concat());
                }
            }
        }
    }
    Ok(said)
}

async fn execution(app: &App, agent: &AgentId) -> Handled<ExecutionBinding> {
    let named = agent.clone();
    let known = app
        .runtime
        .read(Some(agent), move |view| view.agent(&named).map(|agent| agent.workspaces.active().clone()));
    known.await?.ok_or_else(|| Failure::unknown_agent(agent))
}

fn section(label: &str, stability: Stability, text: String) -> PromptSection {
    PromptSection { label: label.to_owned(), stability, text }
}
