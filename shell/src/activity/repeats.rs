//! Equal outcomes are told in short: a thousand refused calls are a handful of lines.

use std::collections::BTreeMap;

use holon_facts::receipt::ToolErrorKind;

use super::steps::{Step, StepKind};
use holon_present::{DetailLine, Look};

/// Refusals of one kind that are shown one by one; after that, each tenfold number of them.
const SHOWN: u32 = 3;

type Line = (Look, String);

/// What was shown, as far as it matters for what comes.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    /// What was done last, and how often since without being shown.
    last: Option<(String, u32)>,
    refused: BTreeMap<ToolErrorKind, Refused>,
}

#[derive(Debug, Default)]
struct Refused {
    count: u32,
    told: u32,
}

impl Repeats {
    /// The lines to show for a step.
    pub(super) fn pass(&mut self, step: Step) -> Vec<Line> {
        match step.kind {
            StepKind::Done(key) => self.done(key, (step.look, step.text), step.below),
            StepKind::Refused(kind) => {
                let mut lines: Vec<Line> = self.end_of_run().into_iter().collect();
                lines.extend(self.refuse(kind, step.look, step.text));
                lines
            }
            StepKind::Said => self.end_of_run().into_iter().chain([(step.look, step.text)]).collect(),
        }
    }

    /// What was counted and not told.
    pub(super) fn flush(&mut self) -> Vec<Line> {
        let mut lines: Vec<Line> = self.end_of_run().into_iter().collect();
        for (kind, refused) in &mut self.refused {
            if refused.count > refused.told {
                let more = refused.count - refused.told;
                lines.push((Look::Bad, format!("✗ {kind}: {more} more, {} in all", refused.count)));
                refused.told = refused.count;
            }
        }
        lines
    }

    fn done(&mut self, key: String, line: Line, below: Vec<DetailLine>) -> Vec<Line> {
        if let Some((last, more)) = &mut self.last
            && *last == key
        {
            *more += 1;
            return Vec::new();
        }
        let before = self.end_of_run();
        self.last = Some((key, 0));
        let below = below.into_iter().map(|(look, text)| (look, format!("    {text}")));
        before.into_iter().chain([line]).chain(below).collect()
    }

    fn end_of_run(&mut self) -> Option<Line> {
        let (_, more) = self.last.take()?;
        (more > 0).then(|| (Look::Aside, format!("  the same {more} more {}", times(more))))
    }

    fn refuse(&mut self, kind: ToolErrorKind, look: Look, text: String) -> Option<Line> {
        let refused = self.refused.entry(kind).or_default();
        refused.count += 1;
        if refused.count <= SHOWN {
            refused.told = refused.count;
            return Some((look, text));
        }
        let tenfold = (1..=9).map(|power| 10_u32.pow(power)).any(|round| refused.count == round);
        tenfold.then(|| {
            refused.told = refused.count;
            (look, format!("✗ {kind}: {} so far", refused.count))
        })
    }
}

/// The colour of a line below a step.
fn times(count: u32) -> &'static str {
    if count == 1 { "time" } else { "times" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(text: &str) -> Step {
        Step {
            look: Look::Good,
            text: format!("{text} (2 s)"),
            kind: StepKind::Done(text.to_owned()),
            below: Vec::new(),
        }
    }

    fn refused(text: &str) -> Step {
        let kind = StepKind::Refused(ToolErrorKind::UnknownTool);
        Step { look: Look::Bad, text: text.to_owned(), kind, below: Vec::new() }
    }

    fn lines(steps: impl IntoIterator<Item = Step>) -> Vec<String> {
        let mut repeats = Repeats::default();
        let mut lines: Vec<Line> = steps.into_iter().flat_map(|step| repeats.pass(step)).collect();
        lines.extend(repeats.flush());
        lines.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn the_same_over_and_over_is_counted() {
        let shown = lines([done("a"), done("a"), done("a"), done("b"), done("a"), done("a")]);
        assert_eq!(
            shown,
            ["a (2 s)", "  the same 2 more times", "b (2 s)", "a (2 s)", "  the same 1 more time"]
        );
    }

    #[test]
    fn a_thousand_refusals_are_a_handful_of_lines() {
        let shown = lines((0..1_005).map(|number| refused(&format!("call {number}"))));
        assert_eq!(
            shown,
            [
                "call 0",
                "call 1",
                "call 2",
                "✗ unknown_tool: 10 so far",
                "✗ unknown_tool: 100 so far",
                "✗ unknown_tool: 1000 so far",
                "✗ unknown_tool: 5 more, 1005 in all",
            ]
        );
    }
}
