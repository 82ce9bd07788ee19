//! What is on record of a request: where it goes on with the one before.

use holon_facts::content::Text;
use holon_facts::frame::{Part, PromptBlock};
use holon_facts::hash::Fnv;
use holon_facts::image::Image;
use holon_facts::model::{Block, CallResult, Item, ModelRequest};
use holon_facts::receipt::ToolError;
use holon_facts::request::{Layers, Prefix, PrefixBreak, PrefixHash, RequestRecord, RequestSize};

/// A place in the conversation up to which requests that begin with the same head have the same fingerprint.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Waypoint {
    items: usize,
    head: Prefix,
    running: Running,
}

impl Waypoint {
    /// So many stand before it.
    pub(super) fn items(&self) -> usize {
        self.items
    }
}

/// The request, and what it shares with the one before.
pub(crate) fn record(
    request: &ModelRequest,
    size: RequestSize,
    before: Option<&RequestRecord>,
) -> RequestRecord {
    extended(request, size, before, (None, 0)).0
}

/// The same for a request that goes on from the one with that waypoint; and the waypoint after so many of its items.
pub(crate) fn extended(
    request: &ModelRequest,
    size: RequestSize,
    before: Option<&RequestRecord>,
    (known, settled): (Option<Waypoint>, usize),
) -> (RequestRecord, Waypoint) {
    let mut prefix = Running::START;
    prefix.text(&request.frame.system_prompt);
    request.tools.iter().for_each(|tool| prefix.name(tool.as_str()));
    request.server_tools.iter().for_each(|servers| prefix.given(&servers.definitions, u64::MAX));
    let surface = prefix.end();
    request.frame.system().for_each(|block| prefix.block(block));
    let standing = prefix.end();
    request.frame.turn().for_each(|block| prefix.block(block));
    let head = prefix.end();
    let shown_before = before.map_or(usize::MAX, |before| before.items as usize);
    let start = Waypoint { items: 0, head, running: prefix };
    let goes_on = |it: &Waypoint| it.head == head && it.items <= settled.min(shown_before);
    let Waypoint { items: first, running: mut prefix, .. } = known.filter(goes_on).unwrap_or(start);
    let (mut as_before, mut waypoint) = (head, start);
    for at in first..=request.conversation.len() {
        if at == shown_before {
            as_before = prefix.end();
        }
        if at == settled {
            waypoint = Waypoint { items: at, head, running: prefix };
        }
        request.conversation.get(at).into_iter().for_each(|item| prefix.item(item));
    }
    let layers = Layers { surface, standing, head, conversation: prefix.end() };
    let (broke, shared_bytes) = match before {
        None => (Some(PrefixBreak::First), 0),
        Some(before) if before.model != request.model => (Some(PrefixBreak::Model), 0),
        Some(before) => broke(&before.layers, &layers, as_before),
    };
    let items = u32::try_from(request.conversation.len()).unwrap_or(u32::MAX);
    let record = RequestRecord { model: request.model.clone(), layers, items, shared_bytes, broke, size };
    (record, waypoint)
}

/// The first layer that is another one, and what stands before it.
fn broke(before: &Layers, now: &Layers, as_before: Prefix) -> (Option<PrefixBreak>, u64) {
    if before.surface != now.surface {
        (Some(PrefixBreak::Surface), 0)
    } else if before.standing != now.standing {
        (Some(PrefixBreak::Standing), now.surface.bytes)
    } else if before.head != now.head {
        (Some(PrefixBreak::Head), now.standing.bytes)
    } else if before.conversation != as_before {
        (Some(PrefixBreak::Conversation), now.head.bytes)
    } else {
        (None, as_before.bytes)
    }
}

/// A beginning of a request that becomes longer.
#[derive(Debug, Clone, Copy)]
struct Running {
    hash: Fnv,
    bytes: u64,
}

impl Running {
    const START: Self = Self { hash: Fnv::START, bytes: 0 };

    fn end(&self) -> Prefix {
        Prefix { fingerprint: PrefixHash(self.hash.0), bytes: self.bytes }
    }

    /// A name stands for what is sent under it, whose size is not counted.
    fn name(&mut self, name: &str) {
        self.hash = self.hash.piece(name.as_bytes());
    }

    fn text(&mut self, text: &str) {
        self.name(text);
        self.bytes = self.bytes.saturating_add(text.len() as u64);
    }

    fn given(&mut self, text: &Text, at_most: u64) {
        self.hash = self.hash.text(text).piece(&at_most.to_le_bytes());
        self.bytes = self.bytes.saturating_add(text.bytes().min(at_most));
    }

    fn block(&mut self, block: &PromptBlock) {
        self.name(&block.label);
        block.parts.iter().for_each(|part| self.part(part));
    }

    fn part(&mut self, part: &Part) {
        match part {
            Part::Rendered(text) => self.text(text),
            Part::Given(text) => self.given(text, u64::MAX),
            Part::Image(shown) => self.image(&shown.image, shown.named_only),
            Part::Excerpt { text, chars } => self.given(text, u64::from(*chars)),
            Part::Quoted { tag, parts } => {
                self.text(&tag.open());
                parts.iter().for_each(|part| self.part(part));
                self.name("/");
            }
        }
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::User { parts } => {
                self.name("user");
                parts.iter().for_each(|part| self.part(part));
            }
            Item::Assistant { blocks } => {
                self.name("assistant");
                blocks.iter().for_each(|block| self.add_block(block));
            }
            Item::ToolResults { results } => {
                self.name("results");
                results.iter().for_each(|result| self.result(result));
            }
        }
    }

    fn add_block(&mut self, block: &Block) {
        match block {
            Block::Text { text } => self.given(text, u64::MAX),
            Block::ToolCall { call_id, tool_name, arguments } => {
                self.name(call_id);
                self.text(tool_name);
                self.given(arguments, u64::MAX);
            }
            Block::Reasoning { model, content } => {
                self.name(model.as_str());
                self.given(content, u64::MAX);
            }
        }
    }

    fn image(&mut self, image: &Image, named_only: bool) {
        self.text(&image.line());
        if !named_only {
            self.given(&image.data, u64::MAX);
        }
    }

    fn result(&mut self, CallResult { call_id, receipt, named_only }: &CallResult) {
        self.name(call_id);
        receipt.images.iter().for_each(|image| self.image(image, *named_only));
        receipt.content.iter().for_each(|text| self.given(text, u64::MAX));
        let Some(ToolError { kind, message, field, hint, retryable, details }) = &receipt.error else {
            return;
        };
        self.name(kind.name());
        self.given(message, u64::MAX);
        field.iter().chain(hint).for_each(|text| self.text(text));
        self.hash = self.hash.piece(&[u8::from(*retryable)]);
        details.iter().for_each(|details| self.text(details.json()));
    }
}
