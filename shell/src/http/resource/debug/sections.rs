//! A request in parts, each with its whole text, its size and what of it is missing.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use holon_api::{PromptSection, SectionState};
use holon_facts::frame::{Part, PromptBlock, PromptFrame, Stability};
use holon_facts::model::{Block, CallResult, Item};
use holon_facts::tokens;
use holon_facts::{ContentId, Text};
use holon_ledger::error::LedgerError;
use holon_ledger::read::Reader;
use holon_models::joined;
use holon_text::{Secrets, TextError, Texts, hash};

/// Texts as they are stored now: where one was erased, a line stands for it. Whatever was secret was replaced before it
/// was stored.
pub(super) struct PastTexts {
    texts: Texts,
    missing: Arc<Mutex<BTreeSet<ContentId>>>,
}

impl PastTexts {
    pub(super) fn of(reader: Arc<Reader>) -> Self {
        Self::reading(move |id| reader.content(id))
    }

    /// The same with texts that are not stored yet.
    pub(super) fn of_now(reader: Arc<Reader>, now: Texts) -> Self {
        Self::reading(move |id| match now.pending(id) {
            Some(text) => Ok(Some(text.to_string())),
            None => reader.content(id),
        })
    }

    fn reading(
        content: impl Fn(ContentId) -> Result<Option<String>, LedgerError> + Send + Sync + 'static,
    ) -> Self {
        let missing = Arc::<Mutex<BTreeSet<ContentId>>>::default();
        let found = missing.clone();
        let read = move |id: ContentId| {
            let problem = match content(id) {
                Ok(Some(text)) => return Ok(Some(text)),
                Ok(None) => format!("[content {id} is not stored]"),
                Err(LedgerError::Erased { .. }) => format!("[content {id} was erased]"),
                Err(error) => format!("[content {id} can't be read: {error}]"),
            };
            found.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
            Ok(Some(problem))
        };
        Self { texts: Texts::new(Secrets::new([]), Box::new(read)), missing }
    }

    pub(super) fn texts(&self) -> &Texts {
        &self.texts
    }

    pub(super) fn missing(&self) -> usize {
        self.missing.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// After these texts were read.
    fn state(&self, content: &Content<'_>) -> SectionState {
        let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        let erased = content.texts.iter().filter_map(|text| text.content());
        if erased.map(|content| content.id).any(|id| missing.contains(&id)) {
            SectionState::Erased
        } else if content.shortened {
            SectionState::Shortened
        } else {
            SectionState::Whole
        }
    }
}

/// The texts that a part is made of.
#[derive(Default)]
struct Content<'a> {
    texts: Vec<&'a Text>,
    shortened: bool,
}

impl<'a> Content<'a> {
    fn of_parts(parts: &'a [Part]) -> Self {
        let mut content = Self::default();
        content.add(parts);
        content
    }

    fn add(&mut self, parts: &'a [Part]) {
        for part in parts {
            match part {
                Part::Rendered(_) | Part::Image(_) => {}
                Part::Given(text) => self.texts.push(text),
                Part::Excerpt { text, chars } => {
                    self.shortened |= text.bytes() > u64::from(*chars);
                    self.texts.push(text);
                }
                Part::Quoted { parts, .. } => self.add(parts),
            }
        }
    }

    fn of_item(item: &'a Item) -> Self {
        let texts = match item {
            Item::User { parts } => return Self::of_parts(parts),
            Item::Assistant { blocks } => blocks.iter().filter_map(spoken).collect(),
            Item::ToolResults { results } => {
                results.iter().flat_map(|result| result.receipt.texts()).collect()
            }
        };
        Self { texts, shortened: false }
    }
}

/// Thoughts are shown by their size.
fn spoken(block: &Block) -> Option<&Text> {
    match block {
        Block::Text { text } => Some(text),
        Block::ToolCall { arguments, .. } => Some(arguments),
        Block::Reasoning { .. } => None,
    }
}

/// What stands before the conversation.
pub(super) fn frame(texts: &PastTexts, frame: &PromptFrame) -> Result<Vec<PromptSection>, TextError> {
    let policy = PromptSection {
        est_tokens: tokens::estimate(&frame.system_prompt),
        ..section("policy", Stability::Stable, frame.system_prompt.clone())
    };
    let mut sections = vec![policy];
    for PromptBlock { label, parts, stability, cache_breakpoint } in frame.system().chain(frame.turn()) {
        let text = joined(texts.texts(), parts)?;
        sections.push(PromptSection {
            state: texts.state(&Content::of_parts(parts)),
            est_tokens: parts.iter().map(Part::est_tokens).sum(),
            cache_breakpoint: *cache_breakpoint,
            ..section(label, *stability, text)
        });
    }
    Ok(sections)
}

/// One element of the conversation.
pub(super) fn item(texts: &PastTexts, label: &str, item: &Item) -> Result<PromptSection, TextError> {
    let text = said(texts.texts(), item)?;
    Ok(PromptSection {
        state: texts.state(&Content::of_item(item)),
        est_tokens: item.est_tokens(),
        ..section(label, Stability::TurnScoped, text)
    })
}

/// Who says what. An input stands as it is sent.
fn said(texts: &Texts, item: &Item) -> Result<String, TextError> {
    let mut said = String::new();
    match item {
        Item::User { parts } => said = joined(texts, parts)?,
        Item::Assistant { blocks } => {
            for block in blocks.iter() {
                said += &match block {
                    Block::Text { text } => format!("assistant:\n{}\n", texts.resolve(text)?),
                    Block::ToolCall { call_id, tool_name, arguments } => {
                        format!("assistant calls {tool_name} ({call_id}): {}\n", texts.resolve(arguments)?)
                    }
                    Block::Reasoning { model, content } => {
                        format!("reasoning of {model}: {} bytes\n", content.bytes())
                    }
                };
            }
        }
        Item::ToolResults { results } => {
            for CallResult { call_id, receipt, named_only } in results {
                let text = receipt.words().map(|text| texts.resolve(text)).collect::<Result<Vec<_>, _>>()?;
                said += &format!("result of {call_id}:\n{}\n", text.concat());
                let named = if *named_only { ", named only" } else { "" };
                for image in &receipt.images {
                    said += &format!("image {}{named}\n", image.line());
                }
            }
        }
    }
    Ok(said)
}

fn section(label: &str, stability: Stability, text: String) -> PromptSection {
    PromptSection {
        label: label.to_owned(),
        stability,
        state: SectionState::Whole,
        bytes: text.len() as u64,
        est_tokens: 0,
        digest: Some(hash(text.as_bytes())),
        cache_breakpoint: false,
        text,
    }
}

/// The labels of elements of the conversation: those of turns that are over, the turn's own input, and its rounds.
pub(super) fn label(at: usize, earlier: usize) -> &'static str {
    match at.cmp(&earlier) {
        std::cmp::Ordering::Less => "conversation",
        std::cmp::Ordering::Equal => "current_input",
        std::cmp::Ordering::Greater => "this_turn",
    }
}
