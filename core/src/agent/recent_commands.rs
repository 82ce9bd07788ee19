//! Which commands an agent has begun before, and how they ended last: to repeat one is no progress (contract:
//! scheduler.md, Progress).

use alloc::collections::VecDeque;

use holon_facts::task::Fingerprint;
use serde::{Deserialize, Serialize};

/// Commands that are remembered; those that were begun longest ago are forgotten first.
const KEPT: usize = 256;

/// The last commands of an agent, the newest last.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecentCommands(VecDeque<(Fingerprint, Option<i32>)>);

impl RecentCommands {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn knows(&self, command: Fingerprint) -> bool {
        self.0.iter().any(|(known, _)| *known == command)
    }

    /// A command begins; says whether it is a new one.
    pub(super) fn begins(&mut self, command: Fingerprint) -> bool {
        let known = self.0.iter().position(|(known, _)| *known == command).and_then(|at| self.0.remove(at));
        self.0.push_back(known.unwrap_or((command, None)));
        if self.0.len() > KEPT {
            self.0.pop_front();
        }
        known.is_none()
    }

    /// A command has ended with a status; says whether it ended otherwise than the last time.
    pub(super) fn ends(&mut self, command: Fingerprint, status: Option<i32>) -> bool {
        let Some((_, last)) = self.0.iter_mut().find(|(known, _)| *known == command) else { return false };
        let news = status.is_some() && *last != status;
        *last = status.or(*last);
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::command;
    use holon_facts::content::Text;

    #[test]
    fn a_repetition_is_known_and_a_new_end_is_news() {
        let (mut recent, make, test) = (RecentCommands::default(), command("make"), command("test"));
        let [make, test] = [&make, &test].map(Fingerprint::of);
        assert!(recent.begins(make) && recent.begins(test));
        assert!(!recent.begins(make), "it was begun before");
        assert!(recent.ends(make, Some(1)), "its first end");
        assert!(!recent.ends(make, Some(1)), "the same again");
        assert!(!recent.ends(make, None), "nobody knows how it ended");
        assert!(recent.ends(make, Some(0)), "it succeeds now");
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut recent = RecentCommands::default();
        let number = |number: usize| Fingerprint::of_purpose(&Text::short(alloc::format!("{number}")));
        assert!((0..=KEPT).all(|at| recent.begins(number(at))));
        assert!(recent.begins(number(0)), "forgotten");
        assert!(!recent.begins(number(KEPT)), "remembered");
    }
}
