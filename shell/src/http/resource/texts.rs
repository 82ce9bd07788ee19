//! Entries of a transcript with their texts, as they go over the wire.

use holon_api::{Block, Item, RoundData, TranscriptEntry};
use holon_core::transcript::{Entry, TranscriptEntry as Recorded};
use holon_facts::episode::SeenImage;
use holon_facts::message::Message;
use holon_facts::receipt::Receipt;
use holon_facts::{Text, model};

use super::super::route::Handled;
use crate::runtime::Runtime;

/// The whole of a text.
pub(super) fn resolve(runtime: &Runtime, text: &Text) -> Handled<String> {
    Ok(runtime.texts().resolve(text)?.to_string())
}

/// An entry with its texts, and how many bytes of text it has.
pub(super) fn whole(runtime: &Runtime, recorded: &Recorded) -> Handled<(TranscriptEntry, usize)> {
    let mut bytes = 0;
    let mut text = |text: &Text| -> Handled<String> {
        let text = resolve(runtime, text)?;
        bytes += text.len();
        Ok(text)
    };
    let item = match &recorded.entry {
        Entry::IncomingMessage { message } => incoming(message, text(&message.body.text)?),
        Entry::AssistantRound { run_id, round, blocks, stop_reason, input_tokens, output_tokens, data } => {
            Item::AssistantRound {
                run_id: *run_id,
                round: *round,
                blocks: blocks
                    .iter()
                    .filter_map(|piece| block(piece, &mut text).transpose())
                    .collect::<Handled<_>>()?,
                stop_reason: *stop_reason,
                input_tokens: *input_tokens,
                output_tokens: *output_tokens,
                data: RoundData { token_usage: data.token_usage, attempts: data.attempts.clone() },
            }
        }
        Entry::ToolResults { run_id, round, tool_name, receipt, error } => {
            let Receipt { content, facts, .. } = &**receipt;
            Item::ToolResults {
                run_id: *run_id,
                round: *round,
                tool_name: tool_name.clone(),
                text: content.as_ref().map(&mut text).transpose()?,
                exit_status: facts.exit_status,
                changed_files: facts.changed_files.clone(),
                error: error.clone(),
            }
        }
        Entry::RuntimeFailure { run_id, message_id, text: told, failure, attempts, token_usage } => {
            Item::RuntimeFailure {
                run_id: *run_id,
                message_id: *message_id,
                text: text(told)?,
                failure: failure.clone(),
                attempts: attempts.clone(),
                token_usage: *token_usage,
            }
        }
        Entry::ContinuationPrompt { run_id, text: said } => {
            Item::ContinuationPrompt { run_id: *run_id, text: said.clone() }
        }
    };
    Ok((TranscriptEntry { event_seq: recorded.event_seq, at: recorded.at, item }, bytes))
}

fn incoming(message: &Message, text: String) -> Item {
    Item::IncomingMessage {
        message_id: message.id,
        message_kind: message.kind,
        origin: message.origin.clone(),
        trust: message.trust,
        authority_class: message.authority_class,
        priority: message.priority,
        delivery_surface: message.delivery_surface,
        admission_context: message.admission_context,
        text,
        images: message.images.iter().map(SeenImage::from).collect(),
    }
}

/// What the model thought before it said something is for itself alone.
fn block(block: &model::Block, text: &mut impl FnMut(&Text) -> Handled<String>) -> Handled<Option<Block>> {
    Ok(match block {
        model::Block::Text { text: said } => Some(Block::Text { text: text(said)? }),
        model::Block::ToolCall { call_id, tool_name, arguments } => Some(Block::ToolCall {
            call_id: call_id.clone(),
            tool_name: tool_name.clone(),
            arguments: text(arguments)?,
        }),
        model::Block::Reasoning { .. } => None,
    })
}
