//! Requests and answers that sabotage breaks on their way out.

use std::sync::Arc;

use holon_core::effect::{Answer, Effect, Work};
use holon_facts::Text;
use holon_facts::frame::Part;
use holon_facts::model::{CallResult, Item, ModelRequest};

use super::World;
use crate::options::Sabotage;

impl World<'_> {
    /// Breaks the effects of a step.
    pub(super) fn misdirect(&self, effects: &mut Vec<Effect>) {
        match self.options.sabotage {
            Some(Sabotage::LoseEffect) => {
                let reply =
                    |effect: &Effect| matches!(effect, Effect::Reply { .. } | Effect::ProbePlan { .. });
                if let Some(at) = effects.iter().position(|effect| !reply(effect)) {
                    effects.remove(at);
                }
            }
            Some(_) => effects.iter_mut().for_each(|effect| self.misshow(effect)),
            None => {}
        }
    }

    fn misshow(&self, effect: &mut Effect) {
        let Some(sabotage) = self.options.sabotage else { return };
        if let Effect::Reply { answer: Answer::Controlled(outcome), .. } = effect
            && sabotage == Sabotage::HalfTheStop
        {
            outcome.cancelled_ops.pop();
        }
        if let Effect::Reply { answer: Answer::Controlled(outcome), .. } = effect
            && sabotage == Sabotage::HideRoot
        {
            outcome.released_roots.pop();
        }
        let Effect::Perform { work, .. } = effect else { return };
        if let Work::PrepareCommand { call, .. } | Work::CallTool { call } = work
            && sabotage == Sabotage::AnotherCall
        {
            call.arguments = Text::short("{}");
        }
        if let Work::CallModel { request } = work {
            let broken = MISSHOWN.iter().find(|(known, _)| *known == sabotage);
            broken.into_iter().for_each(|(_, breaks)| breaks(request));
            if sabotage == Sabotage::AnotherLife {
                input(request).push(Part::Rendered(format!("\n{}", self.life.number)));
            }
        }
    }
}

type Break = fn(&mut ModelRequest);

/// How each sabotage breaks a request.
const MISSHOWN: [(Sabotage, Break); 18] = [
    (Sabotage::DropMessage, |request| {
        let parts = input(request);
        *parts = parts.drain(..).map(emptied).filter(|part| !matches!(part, Part::Given(_))).collect();
    }),
    (Sabotage::DropInterjection, |request| request.conversation.retain(|item| !interjects(item))),
    (Sabotage::MoveInterjection, |request| {
        let items = &mut request.conversation;
        if let Some(at) = items.iter().position(interjects) {
            let item = items.remove(at);
            items.push(item);
        }
    }),
    (Sabotage::SwapResults, |request| {
        for item in &mut request.conversation {
            if let Item::ToolResults { results } = item
                && let [first, second, ..] = results.as_mut_slice()
            {
                std::mem::swap(&mut first.receipt, &mut second.receipt);
            }
        }
    }),
    (Sabotage::DropRound, |request| {
        request.conversation.retain(|item| !matches!(item, Item::Assistant { .. }));
    }),
    (Sabotage::AddWords, |request| {
        request.conversation.push(Item::User { parts: vec![Part::Rendered("Go on.".into())] });
    }),
    (Sabotage::SwapEarlier, |request| {
        let mut frame = (*request.frame).clone();
        let earlier = frame.context_blocks.iter_mut().filter(|block| block.label == "earlier_episodes");
        for part in earlier.flat_map(|block| &mut block.parts) {
            if let Part::Quoted { parts, .. } = part {
                parts.reverse();
            }
        }
        request.frame = Arc::new(frame);
    }),
    (Sabotage::AnotherPrefix, |request| {
        let words = format!("\n{}", request.rounds);
        input(request).push(Part::Rendered(words));
    }),
    (Sabotage::DropHint, |request| {
        let hint = |part: &Part| matches!(part, Part::Rendered(text) if text.starts_with("[hint "));
        for item in &mut request.conversation {
            let Item::User { parts } = item else { continue };
            if let Some(at) = parts.iter().position(hint) {
                parts.drain(at..parts.len().min(at + 2));
            }
        }
    }),
    (Sabotage::DropImage, |request| {
        let first = request.conversation.iter_mut().find_map(|item| {
            let Item::User { parts } = item else { return None };
            let at = parts.iter().position(|part| matches!(part, Part::Image(_)))?;
            Some((parts, at))
        });
        if let Some((parts, at)) = first {
            parts.remove(at);
        }
    }),
    (Sabotage::DropSkill, |request| {
        let skill = |part: &Part| matches!(part, Part::Rendered(text) if text.contains("[skill | "));
        for item in &mut request.conversation {
            let Item::User { parts } = item else { continue };
            while let Some(at) = parts.iter().position(skill) {
                parts.drain(at..parts.len().min(at + 2));
            }
        }
    }),
    (Sabotage::TwiceTheImage, |request| {
        if let Some(result) = results_with_images(request).next() {
            let receipt = Arc::make_mut(&mut result.receipt);
            receipt.images.extend(receipt.images.first().cloned());
        }
    }),
    (Sabotage::NameImage, |request| {
        if let Some(result) = results_with_images(request).next() {
            result.named_only = true;
        }
    }),
    (Sabotage::DropSummary, |request| unchanged(request, &["[your summary "])),
    (Sabotage::OldWork, |request| unchanged(request, &["[your work items and waits now]"])),
    (Sabotage::OldStanding, |request| {
        unchanged(request, &["[your execution environment now", "[instruction file as it is now"]);
    }),
    (Sabotage::OtherWork, |request| {
        let mut frame = (*request.frame).clone();
        for block in frame.context_blocks.iter_mut().filter(|block| block.label == "work_items") {
            for part in &mut block.parts {
                let Part::Quoted { parts, .. } = part else { continue };
                for part in parts {
                    let Part::Rendered(text) = part else { continue };
                    *text = text.replace("runnable", "blocked");
                }
            }
        }
        request.frame = Arc::new(frame);
    }),
    (Sabotage::Unfence, |request| {
        let parts = input(request);
        let bare = |part| match part {
            Part::Quoted { parts, .. } => parts,
            Part::Rendered(_) | Part::Given(_) | Part::Image(_) | Part::Excerpt { .. } => vec![part],
        };
        *parts = parts.drain(..).flat_map(bare).collect();
    }),
];

/// Removes fences below these headings.
fn unchanged(request: &mut ModelRequest, headings: &[&str]) {
    let changes =
        |part: &Part| matches!(part, Part::Rendered(text) if headings.iter().any(|it| text.starts_with(it)));
    for item in &mut request.conversation {
        let Item::User { parts } = item else { continue };
        while let Some(at) = parts.iter().position(changes) {
            parts.drain(at..parts.len().min(at + 2));
        }
    }
    request.conversation.retain(|item| !matches!(item, Item::User { parts } if parts.is_empty()));
}

/// Results with images.
fn results_with_images(request: &mut ModelRequest) -> impl Iterator<Item = &mut CallResult> {
    let results = request.conversation.iter_mut().flat_map(|item| match item {
        Item::ToolResults { results } => results.as_mut_slice(),
        Item::User { .. } | Item::Assistant { .. } => &mut [],
    });
    results.filter(|result| !result.receipt.images.is_empty())
}

/// Removes texts from outside.
fn emptied(part: Part) -> Part {
    match part {
        Part::Quoted { tag, parts } => Part::Quoted {
            tag,
            parts: parts.into_iter().filter(|part| matches!(part, Part::Rendered(_))).collect(),
        },
        Part::Rendered(_) | Part::Given(_) | Part::Image(_) | Part::Excerpt { .. } => part,
    }
}

fn input(request: &mut ModelRequest) -> &mut Vec<Part> {
    if !matches!(request.conversation.first(), Some(Item::User { .. })) {
        request.conversation.insert(0, Item::User { parts: Vec::new() });
    }
    match request.conversation.first_mut() {
        Some(Item::User { parts }) => parts,
        Some(Item::Assistant { .. } | Item::ToolResults { .. }) | None => unreachable!("it was put there"),
    }
}

fn interjects(item: &Item) -> bool {
    let Item::User { parts } = item else { return false };
    parts.iter().any(|part| matches!(part, Part::Rendered(text) if text.contains("the operator interjects")))
}
