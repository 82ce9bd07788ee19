//! Closes what an agent has asked of its operator, where no answer is needed (contract: agent.md, Briefs). The agent is
//! not notified, and a wait for the operator goes on.

use holon_facts::event::brief::AskClosed;
use holon_facts::ids::{BriefId, ReplyId};
use holon_facts::reject::Reject;

use crate::effect::Answer;
use crate::tx::Tx;

pub(crate) fn close(tx: &mut Tx<'_>, brief: BriefId, reply: ReplyId) {
    if tx.agent().asks.open.iter().all(|ask| ask.brief_id != brief) {
        let agent = tx.agent().id.clone();
        return tx.reply(reply, Answer::Refused { reject: Reject::UnknownAsk { agent, brief } });
    }
    tx.record(AskClosed { brief_id: brief });
    tx.reply(reply, Answer::AskClosed { brief });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Input;
    use crate::testing::{World, agent, answers, calls, context, prompt};

    #[test]
    fn an_ask_is_closed_once_and_stays_closed() {
        let mut world = World::with_agent("main");
        world.admit("main", prompt("go"));
        world.complete("main", context());
        let notify = r#"{"message":"The certificate expires.","urgency":"action_required"}"#;
        world.complete("main", calls(&[("", "NotifyOperator", notify)]));
        world.complete("main", answers("done"));
        let brief = world.agent("main").asks.open.front().expect("an ask").brief_id;
        let close = |world: &mut World, brief| {
            world.ask(|reply| Input::CloseAsk { agent: agent("main"), brief, reply })
        };
        let unknown = |answer| matches!(answer, Answer::Refused { reject: Reject::UnknownAsk { .. } });
        assert!(unknown(close(&mut world, BriefId(99))));
        assert_eq!(close(&mut world, brief), Answer::AskClosed { brief });
        assert!(unknown(close(&mut world, brief)));
        world.crash();
        assert!(world.agent("main").asks.open.is_empty());
    }
}
