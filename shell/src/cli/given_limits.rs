//! Limits of a run that flags have set: an error that names the key of such a limit shows the flag instead.

use holon_facts::budget::BudgetKind;

/// What stands for a limit in an error, each with the flag that has set it.
#[derive(Debug, Default)]
pub(super) struct GivenLimits(Vec<(String, &'static str)>);

impl GivenLimits {
    /// The flag has set this key.
    pub(super) fn key(&mut self, key: &str, flag: &'static str) {
        self.0.push((key.to_owned(), flag));
    }

    /// The flag has set this budget.
    pub(super) fn budget(&mut self, budget: BudgetKind, flag: &'static str) {
        self.0.push((format!("the budget {budget}"), flag));
        self.key(&format!("budget.{budget}"), flag);
    }

    /// Whether the flag has set a limit.
    pub(super) fn has(&self, flag: &str) -> bool {
        self.0.iter().any(|(_, given)| *given == flag)
    }

    /// A text in which the flags are named.
    pub(super) fn named(&self, text: String) -> String {
        self.0.iter().fold(text, |text, (key, flag)| text.replace(key, flag))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_named_as_it_was_given() {
        let mut given = GivenLimits::default();
        let rounds = "the turn took as many rounds as it may (limits.rounds)".to_owned();
        assert_eq!(given.named(rounds.clone()), rounds);
        given.key("limits.rounds", "--max-turns");
        given.budget(BudgetKind::RuntimeTokens, "--budget");
        assert_eq!(given.named(rounds), "the turn took as many rounds as it may (--max-turns)");
        let budget = "the budget runtime_tokens (1) is exhausted: raise budget.runtime_tokens".to_owned();
        assert_eq!(given.named(budget), "--budget (1) is exhausted: raise --budget");
    }
}
