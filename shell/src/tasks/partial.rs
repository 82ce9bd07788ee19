//! What a command has printed before it ended with an error: written into the error's message, and read back from it.

use holon_api::Artifact;

const STDOUT: &str = "\nstdout so far:\n";
const STDERR: &str = "\nstderr so far:\n";
const WHOLE: &str = "\nthe whole output: ";
const NOTE: &str = "\nnote: ";

/// What there is besides the error; empty parts are left out of the message.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PartialOutput<'a> {
    pub(crate) stdout: &'a str,
    pub(crate) stderr: &'a str,
    pub(crate) artifacts: &'a [Artifact],
    pub(crate) note: Option<&'a str>,
}

impl PartialOutput<'_> {
    /// The error with the output that there was.
    pub(crate) fn after(self, error: &str) -> String {
        let mut message = error.to_owned();
        let artifacts = self.artifacts.iter().map(|artifact| (WHOLE, artifact.path.as_str()));
        let parts = [(STDOUT, self.stdout), (STDERR, self.stderr)].into_iter().chain(artifacts);
        for (begins, part) in parts.chain(self.note.map(|note| (NOTE, note))) {
            if !part.is_empty() {
                message.push_str(begins);
                message.push_str(part);
            }
        }
        message
    }
}

/// The output that such a message has.
pub(super) fn output_of(message: &str) -> String {
    let part = |begins: &str| {
        let (_, rest) = message.split_once(begins)?;
        let end = [STDERR, WHOLE, NOTE].iter().filter_map(|next| rest.find(next)).min();
        Some(&rest[..end.unwrap_or(rest.len())])
    };
    [STDOUT, STDERR].into_iter().filter_map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_an_error_is_found_again() {
        let artifacts = [Artifact { path: "/log".into() }];
        for (stdout, stderr) in [("", ""), ("one\n", ""), ("", "two"), ("one\n", "two\n")] {
            let note = Some("processes were ended");
            let output = PartialOutput { stdout, stderr, artifacts: &artifacts, note };
            let message = output.after("the command was stopped before its end");
            assert_eq!(output_of(&message), format!("{stdout}{stderr}"), "{message}");
        }
    }
}
