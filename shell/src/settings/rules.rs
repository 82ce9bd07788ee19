//! Values that are fine alone and contradict each other.

use holon_facts::execution::ExecutionProfile;
use holon_supervise::confine::Network;

use super::{Problem, Settings, problem};

/// Two keys that have to do with each other.
struct Rule {
    key: &'static str,
    other: &'static str,
    holds: fn(&Settings) -> bool,
    says: &'static str,
}

const RULES: &[Rule] = &[
    Rule {
        key: "limits.queue_reserved_entries",
        other: "limits.queue_entries",
        holds: |settings| settings.core.queue.reserved_entries < settings.core.queue.entries,
        says: "must be less than",
    },
    Rule {
        key: "limits.queue_reserved_bytes",
        other: "limits.queue_bytes",
        holds: |settings| settings.core.queue.reserved_bytes < settings.core.queue.bytes,
        says: "must be less than",
    },
    Rule {
        key: "limits.body_bytes",
        other: "limits.queue_bytes",
        holds: |settings| settings.core.queue.body_bytes <= settings.core.queue.bytes,
        says: "must be at most",
    },
    Rule {
        key: "limits.repeats_remind",
        other: "limits.repeats_end",
        holds: |settings| settings.core.turn.repeats_remind < settings.core.turn.repeats_end,
        says: "must be less than",
    },
    Rule {
        key: "budget.turn_tokens",
        other: "runtime.max_output_tokens",
        holds: |settings| {
            let tokens = settings.core.budgets.turn.tokens;
            tokens.is_none_or(|tokens| tokens > settings.core.turn.max_output_tokens)
        },
        says: "allows no request: it must be more than",
    },
    Rule {
        key: "execution.network",
        other: "execution.profile",
        holds: |settings| {
            settings.execution.network == Network::On
                || settings.execution.profile == ExecutionProfile::Confined
        },
        says: "is enforced by nothing: it needs \"confined\" as",
    },
];

/// Every rule that the settings break, blamed on a value that somebody set.
pub(super) fn broken(settings: &Settings) -> impl Iterator<Item = Problem> {
    RULES.iter().filter(|rule| !(rule.holds)(settings)).map(|rule| {
        let shown = |name: &str| {
            let key = super::KEYS.iter().find(|key| key.name == name);
            key.map_or_else(String::new, |key| key.get(settings).to_string())
        };
        let (own, others) = (settings.origin(rule.key), settings.origin(rule.other));
        let (key, origin) =
            if own == super::Origin::Default { (rule.other, others) } else { (rule.key, own) };
        let what = format!(
            "{} ({}) {} {} ({})",
            rule.key,
            shown(rule.key),
            rule.says,
            rule.other,
            shown(rule.other)
        );
        problem(&origin, key, what)
    })
}
