//! Episodes of a conversation.

use holon_facts::episode::EpisodeBoundary;
use holon_facts::event::{EpisodeClosed, EpisodeFact};
use holon_facts::memory::WorkingMemory;

use super::{Category, Rendered, Visibility, whole_line};

pub(super) fn render(fact: &EpisodeFact) -> Rendered {
    match fact {
        EpisodeFact::EpisodeClosed(fact) => {
            Rendered::new(Visibility::Verbose, Category::Runtime, "context", &closed(fact))
        }
        EpisodeFact::EpisodeSummarized(fact) => {
            let (model, took) = (&fact.attempt.model_ref, fact.attempt.duration_ms);
            let summary = match (&fact.summary, &fact.attempt.message) {
                (Some(_), _) => format!("{model} has summed up {} in {took}", fact.episode_id),
                (None, Some(why)) => {
                    format!("{model} has not summed up {}: {}", fact.episode_id, whole_line(why.preview()))
                }
                (None, None) => format!("{model} has not summed up {}", fact.episode_id),
            };
            Rendered::new(Visibility::Verbose, Category::Runtime, "context", &summary)
        }
        EpisodeFact::MemoryUpdated(fact) => {
            let summary = format!("working memory {}: {}", fact.revision, in_mind(&fact.memory));
            Rendered::new(Visibility::Debug, Category::Runtime, "context", &summary)
        }
        EpisodeFact::CompactionRequested(fact) => {
            let summary = format!("an operator wants {} to close", fact.episode_id);
            Rendered::new(Visibility::Verbose, Category::Runtime, "context", &summary)
        }
    }
}

/// What of it its work items do not show.
pub fn in_mind(memory: &WorkingMemory) -> String {
    let files = (!memory.files.is_empty()).then(|| format!("files in play {}", memory.files.join(", ")));
    let verified = memory
        .verification
        .as_ref()
        .map(|it| format!("last check `{}`, exit status {}", it.command, it.exit_status));
    let answers = match memory.decisions.len() {
        0 => None,
        1 => Some("one answer of its operator".to_owned()),
        many => Some(format!("{many} answers of its operator")),
    };
    let parts: Vec<String> = [files, verified, answers].into_iter().flatten().collect();
    if parts.is_empty() { "nothing beyond its work items".to_owned() } else { parts.join("; ") }
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
