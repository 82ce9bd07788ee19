//! Two requests, part by part: where the second goes on with the first, and where it does not.

use std::collections::BTreeMap;

use holon_api::{Change, PrefixBroke, PromptDiff, PromptSection, RequestName, SectionChange};
use holon_facts::call::ToolName;
use holon_facts::content::clip;

/// Bytes that are shown on each side of a difference.
const CONTEXT: usize = 80;
/// Labels of elements of the conversation: an input of today is conversation tomorrow.
const CONVERSATION: [&str; 3] = ["conversation", "current_input", "this_turn"];

/// One side.
pub(super) struct Side<'a> {
    pub(super) sections: &'a [PromptSection],
    pub(super) tools: &'a [ToolName],
}

pub(super) fn diff(name: RequestName, before: &Side<'_>, now: &Side<'_>) -> PromptDiff {
    let (old, new) = (before.sections, now.sections);
    let common = old.iter().zip(new).take_while(|(old, new)| old.text == new.text).count();
    let shared: u64 = old[..common].iter().map(|section| section.bytes).sum();
    let broke = old.get(common).map(|old| broke(old, new.get(common)));
    let names = |tools: &[ToolName], others: &[ToolName]| {
        tools.iter().filter(|tool| !others.contains(tool)).map(ToString::to_string).collect()
    };
    PromptDiff {
        before: name,
        before_bytes: old.iter().map(|section| section.bytes).sum(),
        shared_bytes: shared + broke.as_ref().map_or(0, |broke| broke.offset),
        broke,
        changes: changes(&old[common..], &new[common..], common),
        tools_added: names(now.tools, before.tools),
        tools_removed: names(before.tools, now.tools),
    }
}

/// The first byte that differs, with what stands around it.
fn broke(old: &PromptSection, new: Option<&PromptSection>) -> PrefixBroke {
    let beside = new.filter(|new| kind(new) == kind(old));
    let text = beside.map_or("", |new| &new.text);
    let same = old.text.bytes().zip(text.bytes()).take_while(|(old, new)| old == new).count();
    let offset = (0..=same).rev().find(|at| old.text.is_char_boundary(*at) && text.is_char_boundary(*at));
    let offset = offset.unwrap_or(0);
    let begin = (offset.saturating_sub(CONTEXT)..=offset).find(|at| old.text.is_char_boundary(*at));
    PrefixBroke {
        label: old.label.clone(),
        offset: offset as u64,
        same: old.text[begin.unwrap_or(offset)..offset].to_owned(),
        before: clip(&old.text[offset..], CONTEXT),
        now: clip(new.map_or("", |new| &new.text[offset..]), CONTEXT),
    }
}

/// What follows the common beginning. Parts before the conversation are found again by their label.
fn changes(old: &[PromptSection], new: &[PromptSection], first: usize) -> Vec<SectionChange> {
    let mut changes = Vec::new();
    let mut named: BTreeMap<&str, Vec<(usize, &PromptSection)>> = BTreeMap::new();
    for (at, section) in old.iter().enumerate().rev() {
        named.entry(kind(section)).or_default().push((at, section));
    }
    for (at, section) in new.iter().enumerate() {
        let before = named.get_mut(kind(section)).and_then(Vec::pop).map(|(_, before)| before);
        match before {
            Some(before) if before.text == section.text => {}
            Some(before) => changes.push(change(Change::Changed, first + at, Some(before), Some(section))),
            None => changes.push(change(Change::Added, first + at, None, Some(section))),
        }
    }
    let mut gone: Vec<(usize, &PromptSection)> = named.into_values().flatten().collect();
    gone.sort_by_key(|(at, _)| *at);
    changes.extend(gone.into_iter().map(|(at, old)| change(Change::Removed, first + at, Some(old), None)));
    changes
}

fn kind(section: &PromptSection) -> &str {
    if CONVERSATION.contains(&section.label.as_str()) { CONVERSATION[0] } else { &section.label }
}

fn change(
    change: Change,
    index: usize,
    before: Option<&PromptSection>,
    now: Option<&PromptSection>,
) -> SectionChange {
    let bytes = |section: Option<&PromptSection>| section.map_or(0, |section| section.bytes);
    SectionChange {
        change,
        label: now.or(before).map(|section| section.label.clone()).unwrap_or_default(),
        index: u32::try_from(index).unwrap_or(u32::MAX),
        bytes_before: bytes(before),
        bytes: bytes(now),
    }
}

#[cfg(test)]
mod tests {
    use holon_api::SectionState;
    use holon_facts::Wall;
    use holon_facts::frame::Stability;
    use holon_facts::ids::{OpId, RoundIndex, TurnIndex};
    use holon_facts::model_ref::ModelRef;

    use super::*;

    fn sections(all: &[(&str, &str)]) -> Vec<PromptSection> {
        let one = |(label, text): &(&str, &str)| PromptSection {
            label: (*label).to_owned(),
            stability: Stability::Stable,
            text: (*text).to_owned(),
            state: SectionState::Whole,
            bytes: text.len() as u64,
            est_tokens: 0,
            digest: None,
            cache_breakpoint: false,
        };
        all.iter().map(one).collect()
    }

    fn compared(old: &[(&str, &str)], new: &[(&str, &str)]) -> PromptDiff {
        let _ = Wall(0);
        let model = ModelRef::new("local/x").unwrap();
        let name = RequestName { request_id: OpId(1), turn_index: TurnIndex(1), round: RoundIndex(0), model };
        let (old, new) = (sections(old), sections(new));
        diff(name, &Side { sections: &old, tools: &[] }, &Side { sections: &new, tools: &[] })
    }

    #[test]
    fn a_request_that_goes_on_adds_and_breaks_nothing() {
        let before = [("policy", "p"), ("current_input", "hello")];
        let now =
            [("policy", "p"), ("conversation", "hello"), ("conversation", "hi"), ("current_input", "more")];
        let diff = compared(&before, &now);
        assert_eq!((diff.broke, diff.before_bytes, diff.shared_bytes), (None, 6, 6));
        let added: Vec<_> = diff.changes.iter().map(|it| (it.change, it.index)).collect();
        assert_eq!(added, [(Change::Added, 2), (Change::Added, 3)]);
        assert!(compared(&before, &before).changes.is_empty());
    }

    #[test]
    fn a_break_is_where_the_first_byte_differs() {
        let before = [("policy", "p"), ("work_items", "one ä two"), ("tasks", "t"), ("current_input", "x")];
        let now = [("policy", "p"), ("work_items", "one ö two"), ("current_input", "x")];
        let diff = compared(&before, &now);
        let broke = diff.broke.unwrap();
        assert_eq!((&*broke.label, broke.offset, &*broke.same), ("work_items", 4, "one "));
        assert_eq!((&*broke.before, &*broke.now, diff.shared_bytes), ("ä two", "ö two", 5));
        let changes: Vec<_> = diff.changes.iter().map(|it| (it.change, &*it.label)).collect();
        assert_eq!(changes, [(Change::Changed, "work_items"), (Change::Removed, "tasks")]);
        let shorter = compared(&before, &before[..2]);
        assert_eq!(shorter.broke.unwrap().label, "tasks");
    }
}
