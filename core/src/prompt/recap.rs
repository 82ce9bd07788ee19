//! The beginning of a long turn told in short: what was said and called, and what came of it, each by its
//! beginning and its end. The core decides what is told; the shell cuts the excerpts.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use holon_facts::content::Text;
use holon_facts::fence::{Fence, Place};
use holon_facts::frame::Part;
use holon_facts::model::Block;
use holon_facts::receipt::Receipt;

use super::digest;
use super::fence::line;
use super::fitting::{self, fitting};
use super::incoming::NAME_BYTES;
use super::worded_parts;
use crate::agent::episode::done;
use crate::agent::turn::Round;

/// Characters of the shortest and of the longest excerpt.
const SHORTEST: u64 = 60;
const LONGEST: u64 = 600;
/// What a line takes besides its excerpts, in characters.
const LINE: u64 = 40;
/// With what rounds did that are not listed, a recap has at most so many times its tokens.
const MOST: u64 = 3;

/// The recap of `rounds`, in about `tokens` tokens, and in half of what they took themselves. Where even the shortest excerpts of
/// all are too much, of the oldest rounds only what they did is named, up to three times as many tokens in all.
pub(crate) fn recap(rounds: &[Round], tokens: u64, fence: Fence) -> Vec<Part> {
    let whole: u64 = rounds.iter().map(size).sum();
    let share = tokens.min(whole / 2);
    let all = fitting(share, |room| listed(rounds, room));
    // Where not all rounds can be listed, half of it is for what the others did.
    let (lines, room) =
        if first_listed(rounds, all.1) > 0 { fitting(share / 2, |room| listed(rounds, room)) } else { all };
    let first = first_listed(rounds, room);
    let heading = Part::Rendered(format!(
        "[recap by the runtime: the first {} rounds of this turn, shortened to make room. Their full results \
         are no longer shown; read a file or repeat a harmless command where you need one.]\n",
        rounds.len()
    ));
    let mut parts = Vec::new();
    if first > 0 {
        let most = tokens.saturating_mul(MOST).saturating_sub(fitting::size(&lines));
        done_lines(&mut parts, &rounds[..first], (room, most));
    }
    parts.extend(lines);
    let place = Place::Recap(u32::try_from(rounds.len()).unwrap_or(u32::MAX));
    worded_parts(alloc::vec![heading, fence.quoted(place, parts)])
}

/// The newest of them, in about so many characters.
fn listed(rounds: &[Round], room: u64) -> Vec<Part> {
    let first = first_listed(rounds, room);
    let excerpts: u64 = rounds[first..].iter().map(excerpts).sum();
    let each = (room / excerpts.max(1)).saturating_sub(LINE).clamp(SHORTEST, LONGEST);
    let each = u32::try_from(each).unwrap_or(u32::MAX);
    let mut parts = Vec::new();
    for (at, round) in rounds.iter().enumerate().skip(first) {
        parts.push(Part::Rendered(format!("round {}:\n", at + 1)));
        lines(&mut parts, round, each);
    }
    parts
}

/// What rounds did that are not listed: each effect once, as many as have so many tokens, the newest. Whoever does not read
/// of it does it again.
fn done_lines(parts: &mut Vec<Part>, rounds: &[Round], (room, tokens): (u64, u64)) {
    let calls: usize = rounds.iter().map(|round| round.results.len()).sum();
    let all = done(rounds.iter());
    let each = (room / (all.len().max(1) as u64)).saturating_sub(LINE).clamp(SHORTEST, LONGEST);
    let chars = u32::try_from(each).unwrap_or(u32::MAX);
    let mut left = tokens;
    let mut named: Vec<Vec<Part>> = Vec::new();
    for done in all.iter().rev() {
        let mut line = Vec::new();
        digest::call(&mut line, done, chars);
        let Some(rest) = left.checked_sub(fitting::size(&line)) else { break };
        left = rest;
        named.push(line);
    }
    let effects = match all.len() - named.len() {
        _ if all.is_empty() => "none of which changed anything".to_string(),
        0 => "which did this".to_string(),
        more => format!("which did this ({more} earlier effects are left out)"),
    };
    parts.push(Part::Rendered(format!("rounds 1 to {}: {calls} tool calls, {effects}\n", rounds.len())));
    parts.extend(named.into_iter().rev().flatten());
}

/// The first round that is listed.
fn first_listed(rounds: &[Round], room: u64) -> usize {
    let mut used = 0_u64;
    let mut first = rounds.len();
    for (at, round) in rounds.iter().enumerate().rev() {
        used = used.saturating_add(excerpts(round).saturating_mul(SHORTEST + LINE));
        if used > room {
            break;
        }
        first = at;
    }
    first
}

/// Tokens of what the model did in a round, and of what came of it.
fn size(round: &Round) -> u64 {
    let blocks: u64 = round.blocks.iter().map(Block::est_tokens).sum();
    let results: u64 = round.results.iter().flat_map(|receipt| receipt.texts()).map(Text::est_tokens).sum();
    blocks.saturating_add(results)
}

/// How many texts a round has.
fn excerpts(round: &Round) -> u64 {
    let shown = round.blocks.iter().filter(|block| !matches!(block, Block::Reasoning { .. }));
    (shown.count() + round.results.len()) as u64
}

fn lines(parts: &mut Vec<Part>, round: &Round, chars: u32) {
    let mut results = round.results.iter();
    for block in round.blocks.iter() {
        match block {
            Block::Text { text } => {
                parts.push(Part::Rendered("  you said: ".into()));
                parts.push(Part::Excerpt { text: text.clone(), chars });
            }
            Block::ToolCall { tool_name, arguments, .. } => {
                parts.push(Part::Rendered(format!("  {} ", line(tool_name, NAME_BYTES))));
                parts.push(Part::Excerpt { text: arguments.clone(), chars });
                if let Some(receipt) = results.next() {
                    let (heading, text) = outcome(receipt);
                    parts.push(Part::Rendered(heading));
                    parts.push(Part::Excerpt { text, chars });
                }
            }
            Block::Reasoning { .. } => continue,
        }
        parts.push(Part::Rendered("\n".into()));
    }
}

fn outcome(receipt: &Receipt) -> (String, Text) {
    match (&receipt.error, &receipt.content) {
        (Some(error), _) => (format!("\n    failed ({}): ", error.kind), error.message.clone()),
        (None, Some(content)) => ("\n    result: ".to_string(), content.clone()),
        (None, None) => ("\n    done".to_string(), Text::default()),
    }
}
