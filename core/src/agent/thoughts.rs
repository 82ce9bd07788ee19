//! What a model has thought and its provider takes back no more: it stands in no later request.

use alloc::sync::Arc;

use holon_facts::event::turn::ProviderAttemptRecorded;
use holon_facts::model::Block;
use holon_facts::model_ref::ModelRef;

use crate::agent::Agent;
use crate::agent::turn::Conversation;

impl Agent {
    /// A provider that has refused thoughts is not sent them again, as long as the episode lasts. What the model thinks from
    /// now on is its provider's again.
    pub(super) fn attempted(&mut self, fact: &ProviderAttemptRecorded) {
        self.requests.attempted(fact);
        let attempt = &fact.attempt;
        if !attempt.delivery.as_ref().is_some_and(|delivery| delivery.thoughts_refused) {
            return;
        }
        if let Some(run) = &mut self.run {
            forget(&mut run.conversation, &attempt.model_ref);
        }
        for turn in self.episodes.turns_mut() {
            if thinks(&turn.conversation, &attempt.model_ref) {
                forget(&mut Arc::make_mut(turn).conversation, &attempt.model_ref);
            }
        }
    }
}

fn is_thought(block: &Block, of: &ModelRef) -> bool {
    matches!(block, Block::Reasoning { model, .. } if model == of)
}

fn thinks(conversation: &Conversation, model: &ModelRef) -> bool {
    conversation.rounds.iter().any(|round| round.blocks.iter().any(|block| is_thought(block, model)))
}

fn forget(conversation: &mut Conversation, model: &ModelRef) {
    for round in &mut conversation.rounds {
        if round.blocks.iter().any(|block| is_thought(block, model)) {
            round.blocks = round.blocks.iter().filter(|block| !is_thought(block, model)).cloned().collect();
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::boxed::Box;
    use alloc::vec::Vec;

    use holon_facts::content::Text;
    use holon_facts::delivery::Delivery;
    use holon_facts::model::{AnswerBlock, Item, StopReason};
    use holon_facts::outcome::Outcome;

    use super::*;
    use crate::testing::{World, answer, context, prompt, tool_answers};
    use holon_facts::model::ProposedCall;

    /// A thought and a call.
    fn works(refused: bool, thought: &str) -> Outcome {
        let call = AnswerBlock::ToolCall(ProposedCall {
            call_id: thought.into(),
            tool_name: "ExecCommand".into(),
            arguments: Text::short(r#"{"cmd":"ls"}"#),
            inline: None,
        });
        let content = Text::short(thought);
        let mut outcome = answer(alloc::vec![AnswerBlock::Reasoning { content }, call], StopReason::ToolUse);
        let Outcome::Answer { answer } = &mut outcome else { panic!() };
        answer.delivery =
            refused.then(|| Box::new(Delivery { thoughts_refused: true, ..Delivery::default() }));
        outcome
    }

    fn thoughts(world: &World) -> Vec<&str> {
        let items = world.requests.last().unwrap().conversation.iter();
        let blocks = items.flat_map(|item| match item {
            Item::Assistant { blocks } => &blocks[..],
            Item::User { .. } | Item::ToolResults { .. } => &[],
        });
        blocks
            .filter_map(|block| match block {
                Block::Reasoning { content, .. } => Some(content.preview()),
                Block::Text { .. } | Block::ToolCall { .. } => None,
            })
            .collect()
    }

    #[test]
    fn refused_thoughts_are_shown_no_more_and_later_ones_are() {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        for (refused, thought, shown) in [
            (false, "a", &["a"][..]),
            (false, "b", &["a", "b"]),
            (true, "c", &["c"]),
            (false, "d", &["c", "d"]),
        ] {
            world.complete("main", works(refused, thought));
            world.complete("main", tool_answers("x"));
            assert_eq!(thoughts(&world), shown);
        }
        // Another process knows it, too.
        world.crash();
        world.complete("main", context());
        assert_eq!(thoughts(&world), ["c", "d"]);
        // And so do later turns of the episode, of what was said in earlier ones.
        world.complete("main", crate::testing::answers("done"));
        world.admit("main", prompt("go on"));
        world.complete("main", context());
        assert_eq!(thoughts(&world), ["c", "d"]);
        world.complete("main", works(true, "e"));
        world.complete("main", tool_answers("x"));
        assert_eq!(thoughts(&world), ["e"]);
    }
}
