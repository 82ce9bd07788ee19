//! Of tests alone. Another build words its prompts otherwise: within [`reworded`] every sentence of this module is another one. The
//! scripted world folds all records so, and what comes out must be what the live state is.

use alloc::string::String;
use core::cell::Cell;

std::thread_local! {
    static REWORDED: Cell<bool> = const { Cell::new(false) };
}

pub(crate) fn reworded<T>(fold: impl FnOnce() -> T) -> T {
    let before = REWORDED.replace(true);
    let folded = fold();
    REWORDED.set(before);
    folded
}

pub(super) fn worded(text: String) -> String {
    if REWORDED.get() { format!("In other words: {text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Input;
    use crate::agent::Agent;
    use crate::snapshot::AgentSnapshot;
    use crate::testing::{World, agent, answers, calls, context, prompt, tool_answers};
    use alloc::vec::Vec;
    use holon_facts::event::{Event, TurnFact};
    use holon_facts::frame::{Part, PromptFrame};
    use holon_facts::hint::Hint;

    const CREATE: &str =
        r#"{"objective":"repair the build","todo_list":[{"text":"look","state":"pending"}]}"#;
    const WAIT: &str = r#"{"reason":"the build","wake":"external","resource":"ci"}"#;

    /// A turn about an item, which is reminded, and is shown a hint of what it wanted to wait for.
    fn reminded_and_hinted() -> World {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        let pick = ("", "PickWorkItem", r#"{"work_item_id":"work_1"}"#);
        world.complete("main", calls(&[("", "CreateWorkItem", CREATE), pick]));
        world.complete("main", tool_answers("made"));
        world.complete("main", tool_answers("picked"));
        world.complete("main", answers("I begin."));
        world.complete("main", context());
        for _ in 0..5 {
            world.complete("main", calls(&[("", "ExecCommand", r#"{"cmd":"ls"}"#)]));
            world.complete("main", tool_answers("a file"));
        }
        let hint = Hint::new("ci", "a build has ended");
        world.ask(|reply| Input::Wake { agent: agent("main"), hint, reply });
        world.complete("main", calls(&[("", "WaitFor", WAIT)]));
        world
    }

    fn rendered(frame: &PromptFrame) -> impl Iterator<Item = &str> {
        let parts = frame.system_blocks.iter().chain(&frame.context_blocks).flat_map(|block| &block.parts);
        let rendered = parts.filter_map(|part| match part {
            Part::Rendered(text) => Some(text.as_str()),
            Part::Given(_) | Part::Image(_) | Part::Excerpt { .. } | Part::Quoted { .. } => None,
        });
        rendered.chain([frame.system_prompt.as_str()])
    }

    #[test]
    fn every_sentence_is_another_one() {
        let world = reminded_and_hinted();
        let holon_facts::Outcome::Context { context } = context() else { panic!("no context") };
        let frame =
            || world.host.view().preview(&agent("main"), &context, prompt("go")).unwrap().request.frame;
        let (here, there) = (frame(), reworded(frame));
        let (here, there): (Vec<_>, Vec<_>) = (rendered(&here).collect(), rendered(&there).collect());
        assert!(here.len() > 3 && here.len() == there.len());
        assert!(here.iter().zip(&there).all(|(here, there)| here != there), "{here:?}");
    }

    #[test]
    fn every_reminder_is_another_sentence() {
        let reminders = |world: World| -> Vec<String> {
            let texts = world.log.iter().filter_map(|record| {
                let Event::Turn(TurnFact::ReminderInjected(fact)) = &record.event else { return None };
                Some(fact.text.clone())
            });
            texts.collect()
        };
        let (here, there) = (reminders(reminded_and_hinted()), reminders(reworded(reminded_and_hinted)));
        assert!(!here.is_empty());
        let there: Vec<_> = there.iter().filter_map(|text| text.strip_prefix("In other words: ")).collect();
        assert_eq!(here, there);
    }

    /// Whoever folds the records gets the same snapshot at every position of the log.
    #[test]
    fn the_fold_is_the_same_in_other_words() {
        let world = reminded_and_hinted();
        let log: Vec<_> = world.log.iter().filter(|record| record.agent == agent("main")).collect();
        let fold = || {
            let mut folded = Agent::created(log[0]).unwrap();
            let each = log[1..].iter().map(|record| {
                folded.fold(record).unwrap();
                AgentSnapshot::of(&folded).encode().unwrap()
            });
            each.collect::<Vec<_>>()
        };
        let (here, there) = (fold(), reworded(fold));
        assert!(here == there, "the wording of prompts is part of the state");
        let last = here.last().unwrap();
        for shown in [r#""note":"reminder""#, r#""note":"hints""#, r#""focus":{"id":"work_1""#] {
            assert!(last.contains(shown), "{shown}: {last}");
        }
    }
}
