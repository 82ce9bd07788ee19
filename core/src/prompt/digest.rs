//! What stands for an episode that is over: what was asked, what was done, and how it was left, from facts alone.

use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::content::Text;
use holon_facts::episode::{Digest, Done, Focus, SeenImage};
use holon_facts::fence::{Fence, Place};
use holon_facts::frame::Part;

use super::changes::SUMMARY_CHARS;
use super::fence::line;
use super::fitting::{fitting, size};
use super::incoming::NAME_BYTES;
use super::sections::shortened;
use crate::agent::episode::Closed;

/// Tokens of one digest.
const TOKENS: u64 = 2_000;
/// Tokens of a summary beside it.
const SUMMARY: u64 = 1_500;
/// Tokens below which none is begun.
const LEAST: u64 = 150;
/// Characters of a request, of a call, and of what was said last; fewer where there is little room.
const REQUEST_CHARS: u64 = 500;
const CALL_CHARS: u64 = 200;
const LAST_CHARS: u64 = 3_000;
/// Digits of the hash of an image.
const SHA256_DIGITS: usize = 12;

/// The newest that fit, the oldest of them first.
pub(crate) fn digests(closed: &[Arc<Closed>], fence: Fence, tokens: u64) -> Vec<Part> {
    let mut left = tokens;
    let mut shown = Vec::new();
    for closed in closed.iter().rev() {
        if left < LEAST {
            break;
        }
        let most = if closed.summary.is_some() { TOKENS + SUMMARY } else { TOKENS };
        let (parts, _) = fitting(left.min(most), |room| one(closed, fence, room));
        let Some(rest) = left.checked_sub(size(&parts)) else { break };
        left = rest;
        shown.push(parts);
    }
    shown.into_iter().rev().flatten().collect()
}

/// In about so many characters.
fn one(Closed { id, at, digest, summary, .. }: &Closed, fence: Fence, room: u64) -> Vec<Part> {
    let heading = format!(
        "[digest of an earlier part of this conversation | {id} | closed {at} | {} turns, {} rounds | you no longer see it]\n",
        digest.turns, digest.rounds
    );
    let room = room.saturating_sub(heading.len() as u64);
    // Facts come first: of a summary there may be less.
    let summary_chars = u64::from(SUMMARY_CHARS).min(room / 2).min(summary.as_ref().map_or(0, Text::bytes));
    let mut quoted = render(digest, room.saturating_sub(summary_chars));
    if let Some(summary) = summary {
        quoted.push(Part::Rendered("Your summary of it:\n".into()));
        quoted.push(shortened(summary, chars(summary_chars)));
        quoted.push(Part::Rendered("\n".into()));
    }
    alloc::vec![Part::Rendered(heading), fence.quoted(Place::Digest(*id), quoted)]
}

/// In about so many characters: the newest of each kind, where all don't fit.
fn render(digest: &Digest, room: u64) -> Vec<Part> {
    let mut parts = Vec::new();
    parts.extend(digest.focus.as_ref().map(|it| Part::Rendered(focus(it))));
    let last = digest.last_text.as_ref().map_or(0, |text| text.bytes().min(LAST_CHARS).min(room / 3));
    // Requests and calls share what is left.
    let fixed = parts.iter().map(|part| part.est_tokens() * 4).sum::<u64>() + last + 300;
    let room = room.saturating_sub(fixed);
    let (requests, calls) = (room / 2, room / 2);
    let each = (requests / (digest.requests.len().max(1) as u64)).clamp(80, REQUEST_CHARS);
    let fit = usize::try_from(requests / (each + 30)).unwrap_or(usize::MAX).max(1);
    let skipped = digest.requests.len().saturating_sub(fit);
    let more = u64::from(digest.more_requests) + skipped as u64;
    if !digest.requests.is_empty() {
        let more = if more > 0 { format!(" ({more} earlier ones are left out)") } else { String::new() };
        parts.push(Part::Rendered(format!("You were asked{more}:\n")));
    }
    for request in digest.requests.iter().skip(skipped) {
        parts.push(Part::Rendered(format!("- {} ({}): ", request.message_id, request.at)));
        parts.push(Part::Excerpt { text: request.text.clone(), chars: chars(each) });
        parts.push(Part::Rendered("\n".into()));
    }
    if !digest.others.is_empty() {
        let others: Vec<String> =
            digest.others.iter().map(|other| format!("{} {}", other.count, other.kind)).collect();
        parts.push(Part::Rendered(format!("Other messages: {}\n", others.join(", "))));
    }
    if !digest.changed_files.is_empty() {
        let files: Vec<String> = digest.changed_files.iter().map(|file| line(file, NAME_BYTES)).collect();
        let more =
            if digest.more_files > 0 { format!(" and {} more", digest.more_files) } else { String::new() };
        parts.push(Part::Rendered(format!("Files you changed: {}{more}\n", files.join(", "))));
    }
    if !digest.images.is_empty() {
        let images: Vec<String> = digest.images.iter().map(seen).collect();
        let more =
            if digest.more_images > 0 { format!(" and {} more", digest.more_images) } else { String::new() };
        parts.push(Part::Rendered(format!("Images you saw: {}{more}\n", images.join(", "))));
    }
    done(&mut parts, digest, calls);
    if let Some(text) = &digest.last_text {
        let end = digest.end.map_or_else(String::new, |end| format!(" (the turn ended: {end})"));
        parts.push(Part::Rendered(format!("What you said last{end}:\n")));
        parts.push(shortened(text, chars(last)));
        parts.push(Part::Rendered("\n".into()));
    } else if let Some(end) = digest.end {
        parts.push(Part::Rendered(format!("The last turn ended: {end}\n")));
    }
    parts
}

fn done(parts: &mut Vec<Part>, digest: &Digest, room: u64) {
    if digest.done.is_empty() {
        return;
    }
    let each = (room / digest.done.len() as u64).clamp(40, CALL_CHARS);
    let fit = usize::try_from(room / (each + 30)).unwrap_or(usize::MAX).max(1);
    let skipped = digest.done.len().saturating_sub(fit);
    let more = u64::from(digest.more_done) + skipped as u64;
    let more = if more > 0 { format!(" ({more} earlier calls are left out)") } else { String::new() };
    parts.push(Part::Rendered(format!("What you did{more}:\n")));
    digest.done.iter().skip(skipped).for_each(|done| call(parts, done, chars(each)));
}

/// A line for a call that had an effect.
pub(crate) fn call(parts: &mut Vec<Part>, done: &Done, chars: u32) {
    parts.push(Part::Rendered(format!("- {} ", line(&done.tool_name, NAME_BYTES))));
    parts.push(Part::Excerpt { text: done.arguments.clone(), chars });
    let times = if done.times > 1 { format!(", {} times", done.times) } else { String::new() };
    let outcome = match (done.failed, done.exit_status) {
        (Some(kind), _) => format!("failed: {kind}"),
        (None, Some(status)) => format!("exit status {status}"),
        (None, None) => "done".into(),
    };
    parts.push(Part::Rendered(format!(" ({outcome}{times})\n")));
}

fn focus(it: &Focus) -> String {
    let mut text = format!(
        "In focus was {} ({}, plan {}): {}\n",
        it.work_item_id,
        it.state,
        it.plan_status,
        line(&it.objective, NAME_BYTES * 2)
    );
    if let Some(blocked_by) = &it.blocked_by {
        text += &format!("Blocked by: {}\n", line(blocked_by, NAME_BYTES));
    }
    for step in &it.open_steps {
        text += &format!("[ ] {}\n", line(step, NAME_BYTES));
    }
    text
}

fn seen(SeenImage { name, format, width, height, sha256 }: &SeenImage) -> String {
    let digits: String = sha256.to_string().chars().take(SHA256_DIGITS).collect();
    format!("{} ({format}, {width} x {height}, sha256 {digits}…)", line(name, NAME_BYTES))
}

fn chars(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
