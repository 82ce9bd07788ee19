//! Whether another process is confined. The kernel marks whoever is with two things that nobody gets rid of, and that
//! whatever they start inherits: no new rights, and filters of calls beyond those that this process has itself.

mod socket;
mod standing;

use std::fs;
use std::sync::OnceLock;

use super::calls_can_be_refused;

pub use standing::{Asked, Care, Standing, of_tcp};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Marks {
    no_new_rights: bool,
    filters: u64,
}

/// Whether that process is held back as commands are, or more. One that is gone may have been.
pub fn is_confined(pid: u32) -> bool {
    static OWN: OnceLock<Option<Marks>> = OnceLock::new();
    let own = *OWN.get_or_init(|| Marks::of("self"));
    let (Some(own), Some(other)) = (own, Marks::of(&pid.to_string())) else { return true };
    other.are_of_a_command(own)
}

/// Whether commands have both marks: without filters they look like whoever else may gain no rights.
pub fn can_be_identified() -> bool {
    calls_can_be_refused()
}

impl Marks {
    fn of(process: &str) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{process}/status")).ok()?)
    }

    fn parse(status: &str) -> Option<Self> {
        let field = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        Some(Self {
            no_new_rights: field("NoNewPrivs:") == Some(1),
            filters: field("Seccomp_filters:").or_else(|| field("Seccomp:"))?,
        })
    }

    fn are_of_a_command(self, own: Self) -> bool {
        self.no_new_rights && self.filters > own.filters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(no_new_rights: bool, filters: u64) -> Marks {
        Marks { no_new_rights, filters }
    }

    #[test]
    fn only_what_is_held_back_more_than_the_runtime_counts_as_a_command() {
        let contained = marks(true, 1);
        for (other, own, confined) in [
            (marks(true, 1), marks(false, 0), true),
            (marks(true, 2), contained, true),
            (contained, contained, false),
            (marks(true, 0), marks(false, 0), false),
            (marks(false, 1), marks(false, 0), false),
        ] {
            assert_eq!(other.are_of_a_command(own), confined, "{other:?} {own:?}");
        }
        assert!(!is_confined(std::process::id()));
        assert!(is_confined(u32::MAX), "nobody has that number");
    }

    #[test]
    fn the_kernel_says_it_in_lines() {
        let status = "Name:\tsh\nNoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t3\n";
        assert_eq!(Marks::parse(status), Some(marks(true, 3)));
        assert_eq!(Marks::parse("NoNewPrivs:\t0\nSeccomp:\t0\n"), Some(marks(false, 0)));
        assert_eq!(Marks::parse("Name:\tsh\n"), None);
    }
}
