//! Episodes of a conversation.

use holon_facts::episode::EpisodeBoundary;
use holon_facts::event::{EpisodeClosed, EpisodeFact};

use super::{Category, Rendered, Visibility};

pub(super) fn render(fact: &EpisodeFact) -> Rendered {
    match fact {
        EpisodeFact::EpisodeClosed(fact) => {
            Rendered::new(Visibility::Verbose, Category::Runtime, "context", &closed(fact))
        }
        EpisodeFact::CompactionRequested(fact) => {
            let summary = format!("an operator wants {} to close", fact.episode_id);
            Rendered::new(Visibility::Verbose, Category::Runtime, "context", &summary)
        }
    }
}

fn closed(fact: &EpisodeClosed) -> String {
    let why = match fact.boundary {
        EpisodeBoundary::Focus => "another work item is in focus",
        EpisodeBoundary::Rest => "the agent had rested",
        EpisodeBoundary::Size => "the context is full",
        EpisodeBoundary::Refused => "a provider refused the request as too long",
        EpisodeBoundary::Surface => "another model or other tools are used",
        EpisodeBoundary::Images => "a request shows no more images",
        EpisodeBoundary::Cap => "it had as many turns or rounds as an episode may have",
        EpisodeBoundary::Operator => "an operator wanted it",
    };
    let turns = match fact.digest.turns {
        0 => String::new(),
        1 => "; one turn is summarized".to_owned(),
        turns => format!("; {turns} turns are summarized"),
    };
    let rounds = match fact.hidden_rounds {
        0 => String::new(),
        1 => "; its first round is summarized".to_owned(),
        rounds => format!("; its first {rounds} rounds are summarized"),
    };
    format!("{} closed: {why}{turns}{rounds}", fact.episode_id)
}
