//! What a turn is for: messages with what they tell. The headings are the runtime's; whatever others wrote, names and
//! texts, is quoted below them.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::sync::Arc;
use alloc::vec::Vec;

use holon_facts::content::Text;
use holon_facts::fence::{Fence, Place};
use holon_facts::frame::{Part, Shown};
use holon_facts::ids::MessageId;
use holon_facts::image::Image;
use holon_facts::message::{Message, Origin};
use holon_facts::provenance::MessageKind;
use holon_facts::skill::GivenSkill;
use holon_facts::subsystem::{FOLLOW_UP, SUPERVISOR};
use holon_facts::workspace::Retained;

use super::fence::line;
use super::sections::shortened;
use super::{skills, worded_parts};
use crate::agent::task::Task;
use crate::agent::turn::notice::{Notice, Obstacle};
use crate::agent::wait::Wait;
use crate::agent::wake::Pending;

/// Files that are named of what a child has left.
const LEFT_FILES: usize = 16;
/// Bytes of a path, and of a name that others gave.
pub(crate) const NAME_BYTES: usize = 200;
/// References that are named of a message.
const REFERENCES: usize = 8;
/// Bytes of a text of one line.
const LINE_BYTES: usize = 1_000;
/// Characters of the results of all tasks, or of all hints, that one message reports.
const TOGETHER_CHARS: u32 = 16_000;
/// Characters of each of them.
const EACH_CHARS: u32 = 8_000;
/// Bytes of each thing that hints were about before the last one.
const SUBJECT_BYTES: usize = 100;

/// The message that the turn is for, with what it is, and whatever is told with it.
pub(crate) fn current_input(message: &Message, text: &Notice, fence: Fence) -> Vec<Part> {
    let place = Place::Message(message.id);
    let mut parts = alloc::vec![Part::Rendered(format!(
        "[message {} | kind {} | from {} | class {} | received {}]\n",
        message.id,
        message.kind,
        sender(&message.origin),
        message.authority_class,
        message.created_at
    ))];
    let (heading, waits) = ended_waits(text.waits.iter());
    parts.extend(heading);
    let mut about = names(&message.origin, &message.source_refs, message.correlation_id.as_deref()) + &waits;
    parts.extend(tasks(&text.tasks, message, fence, &mut about));
    let body = Part::Given(message.body.text.clone());
    if message.kind == MessageKind::OperatorPrompt {
        parts.extend((!about.is_empty()).then(|| fence.quoted(place, alloc::vec![Part::Rendered(about)])));
        parts.push(body);
        parts.extend(skills::given(&message.skills, place, fence));
        parts.extend(seen(&message.images));
        return worded_parts(parts);
    }
    let about = (!about.is_empty()).then(|| Part::Rendered(about + "\n"));
    let mut quoted: Vec<Part> = about.into_iter().chain([body]).collect();
    quoted.extend(rechecks(&text.rechecks));
    parts.push(fence.quoted(place, quoted));
    parts.extend(seen(&message.images));
    parts.extend(hints(text.hints.iter(), fence, place));
    worded_parts(parts)
}

/// A prompt that came in the middle of the turn.
pub(crate) fn interjection(
    message_id: MessageId,
    (text, images, skills): (&Text, &[Image], &[GivenSkill]),
    waits: &[Wait],
    fence: Fence,
) -> Vec<Part> {
    let heading = format!("[message {message_id} | the operator interjects | class operator_instruction]\n");
    let mut parts = alloc::vec![Part::Rendered(heading)];
    let (heading, ended) = ended_waits(waits.iter());
    parts.extend(heading);
    let place = Place::Message(message_id);
    parts.extend((!ended.is_empty()).then(|| fence.quoted(place, alloc::vec![Part::Rendered(ended)])));
    parts.push(Part::Given(text.clone()));
    parts.extend(skills::given(skills, place, fence));
    parts.extend(seen(images));
    parts
}

/// What comes with the text.
fn seen(images: &[Image]) -> impl Iterator<Item = Part> {
    images.iter().map(|image| Part::Image(Arc::new(Shown::from(image))))
}

/// Whom a heading names: what the runtime itself knows of them.
pub(crate) fn sender(origin: &Origin) -> String {
    match origin {
        Origin::System { subsystem } if subsystem == SUPERVISOR => "supervisor".into(),
        Origin::System { subsystem } if subsystem == FOLLOW_UP => "yourself".into(),
        Origin::System { subsystem } => format!("system ({subsystem})"),
        Origin::Operator { .. }
        | Origin::Channel { .. }
        | Origin::Webhook { .. }
        | Origin::Callback { .. }
        | Origin::Timer { .. }
        | Origin::Task { .. } => origin.name().to_string(),
    }
}

/// What a sender calls itself, and what it refers to: a line for each.
pub(crate) fn names(
    origin: &Origin,
    source_refs: &BTreeMap<String, String>,
    correlation_id: Option<&str>,
) -> String {
    let labels = match origin {
        Origin::Operator { .. } => ["operator", ""],
        Origin::Channel { .. } => ["channel", "sender"],
        Origin::Webhook { .. } => ["source", "event type"],
        Origin::Callback { .. } => ["callback", "source"],
        Origin::Timer { .. } | Origin::System { .. } | Origin::Task { .. } => ["", ""],
    };
    let mut text = String::new();
    let ids = labels.into_iter().zip(origin.ids()).filter(|(label, _)| !label.is_empty());
    for (label, id) in ids.chain([("correlation", correlation_id)]) {
        text.extend(id.map(|id| format!("{label}: {}\n", line(id, NAME_BYTES))));
    }
    for (name, value) in source_refs.iter().take(REFERENCES) {
        text += &format!("ref {}: {}\n", line(name, NAME_BYTES), line(value, NAME_BYTES));
    }
    let more = source_refs.len().saturating_sub(REFERENCES);
    if more > 0 {
        text += &format!("{more} more refs\n");
    }
    text
}

/// The tasks that a message reports. Of the one that it is about it says the result itself.
fn tasks(tasks: &[Task], message: &Message, fence: Fence, text: &mut String) -> Vec<Part> {
    if let ([], Origin::Task { task_id }) = (tasks, &message.origin) {
        // It ended so long ago that nothing else is remembered of it.
        return alloc::vec![Part::Rendered(format!("[task {task_id}]\n"))];
    }
    let alone = message.kind == MessageKind::TaskResult;
    let count = u32::try_from(tasks.len().max(1)).unwrap_or(u32::MAX);
    let chars = (TOGETHER_CHARS / count).min(EACH_CHARS);
    let mut parts = Vec::new();
    for task in tasks {
        let status = task.end.as_ref().and_then(|end| end.exit_status);
        let status = status.map_or_else(String::new, |status| format!(", exit status {status}"));
        parts.push(Part::Rendered(format!("[task {} | {}{status}]\n", task.id, task.status)));
        let about = format!("task: {}\n{}", line(&task.summary, LINE_BYTES), left_over(task));
        if alone {
            text.push_str(&about);
            continue;
        }
        let mut quoted = alloc::vec![Part::Rendered(about)];
        if let Some(text) = task.end.as_ref().and_then(|end| end.result.as_ref()) {
            quoted.push(Part::Rendered("\n".into()));
            quoted.push(shortened(text, chars));
        }
        parts.push(fence.quoted(Place::Message(message.id), quoted));
    }
    parts
}

/// What a child that had a worktree leaves for its parent to look at.
fn left_over(task: &Task) -> String {
    let plan = task.child().and_then(|child| child.worktree.as_ref());
    let left = task.end.as_ref().and_then(|end| end.worktree.as_ref());
    let (Some(plan), Some(Retained { reason, detail, changed_files, more_files })) = (plan, left) else {
        return String::new();
    };
    let detail =
        detail.as_ref().map_or_else(String::new, |detail| format!(" ({})", line(detail, LINE_BYTES)));
    let named: Vec<String> =
        changed_files.iter().take(LEFT_FILES).map(|file| line(file, NAME_BYTES)).collect();
    let named = named.join(", ");
    let others = changed_files.len().saturating_sub(LEFT_FILES) as u64 + more_files;
    let others = if others > 0 { format!(" and {others} more") } else { String::new() };
    let files = if named.is_empty() { String::new() } else { format!(": {named}{others}") };
    format!(
        "its worktree stays for you to look at: {}, branch {}, {reason}{detail}{files}\n",
        line(&plan.path, LINE_BYTES),
        line(&plan.branch, NAME_BYTES)
    )
}

/// Hints with what they say: material to inspect, whoever sent it.
pub(crate) fn hints<'a>(
    pending: impl Iterator<Item = &'a Pending> + Clone,
    fence: Fence,
    place: Place,
) -> Vec<Part> {
    let count = u32::try_from(pending.clone().count().max(1)).unwrap_or(u32::MAX);
    let chars = (TOGETHER_CHARS / count).min(EACH_CHARS);
    let mut parts = Vec::new();
    for pending in pending {
        let Pending { hint, count, last_at, .. } = pending;
        let times = if *count > 1 { format!(", the last of {count}") } else { String::new() };
        let kept =
            if pending.folded { " | its text was not kept: hints of too many sources came" } else { "" };
        let heading = format!("[hint | class integration_signal | received {last_at}{times}{kept}]\n");
        parts.push(Part::Rendered(heading));
        let mut quoted = alloc::vec![Part::Rendered(about(pending))];
        if let Some(body) = &hint.body {
            quoted.push(Part::Rendered("\n".into()));
            quoted.push(shortened(body, chars));
        }
        parts.push(fence.quoted(place, quoted));
    }
    parts
}

/// What a hint says before its body, and what those before it were about.
fn about(Pending { hint, about, .. }: &Pending) -> String {
    let others = about.resources.iter().filter(|resource| Some(*resource) != hint.resource.as_ref());
    let others: Vec<String> = others.map(|resource| line(resource, SUBJECT_BYTES)).collect();
    let more = if about.more > 0 { format!(", {} more", about.more) } else { String::new() };
    let before = (!others.is_empty() || about.more > 0).then(|| format!("{}{more}", others.join(", ")));
    let named = [
        ("source", Some(&hint.source)),
        ("reason", Some(&hint.reason)),
        ("about", hint.resource.as_ref()),
        ("before about", before.as_ref()),
        ("description", hint.description.as_ref()),
        ("content type", hint.content_type.as_ref()),
        ("correlation", hint.correlation_id.as_ref()),
    ];
    let named = named.into_iter().filter_map(|(label, text)| Some((label, text?)));
    named.map(|(label, text)| format!("{label}: {}\n", line(text, LINE_BYTES))).collect()
}

/// What is to be looked at again because of a message.
fn rechecks(obstacles: &[Obstacle]) -> Option<Part> {
    let text = obstacles.iter().map(|Obstacle { work_item_id, wait, blocked_by }| {
        let text = match (work_item_id, wait) {
            (Some(item), Some(wait)) => format!("{item} waits ({}): {}", wait.id, wait.waiting_for),
            (Some(item), None) => {
                format!("{item} is blocked by: {}", blocked_by.as_deref().unwrap_or_default())
            }
            (None, Some(wait)) => format!("You wait ({}): {}", wait.id, wait.waiting_for),
            (None, None) => String::new(),
        };
        format!("\n{}", line(&text, LINE_BYTES))
    });
    let text: String = text.collect();
    (!text.is_empty()).then_some(Part::Rendered(text))
}

/// The waits that a message ends: which, and what for.
fn ended_waits<'a>(waits: impl Iterator<Item = &'a Wait>) -> (Option<Part>, String) {
    let (mut heading, mut text) = (String::new(), String::new());
    for wait in waits {
        let owner = wait.work_item_id.map_or_else(String::new, |item| format!(" of {item}"));
        heading += &format!("[ends {}{owner}]\n", wait.id);
        text += &format!("{} waited for: {}\n", wait.id, line(&wait.waiting_for, LINE_BYTES));
    }
    ((!heading.is_empty()).then_some(Part::Rendered(heading)), text)
}
