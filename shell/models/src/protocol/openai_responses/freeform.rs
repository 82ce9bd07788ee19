//! `ApplyPatch` as a freeform tool: the model writes the diff itself instead of quoting it in JSON. On this
//! side of the wire its arguments are JSON all the same, so that no other part knows the difference.

use holon_facts::Text;
use holon_facts::tool::ToolSpec;
use holon_text::{TextError, Texts};
use serde::Deserialize;
use serde_json::{Value, json};

/// The tool that takes a patch.
const APPLY_PATCH: &str = "ApplyPatch";

/// Its arguments.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Patch {
    patch: String,
}

/// A unified diff, with the headers that git adds. Counts of lines are the applier's business.
const GRAMMAR: &str = r"start: file+
file: git+ change? | change
git: /(diff --git|index|similarity index|rename from|rename to|copy from|copy to|old mode|new mode|new file mode|deleted file mode) [^\n]+\n/
change: old new hunk*
old: /--- [^\n]+\n/
new: /\+\+\+ [^\n]+\n/
hunk: head line+
head: /@@ -[0-9]+(,[0-9]+)? \+[0-9]+(,[0-9]+)? @@[^\n]*\n/
line: /[ +\-][^\n]*\n/ | /\\[^\n]*\n/
";

/// Whether calls of this tool are freeform; it goes by the name alone, so a conversation is always lowered
/// the same way.
pub(super) fn is_freeform(name: &str) -> bool {
    name == APPLY_PATCH
}

/// What is offered.
pub(super) fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "custom",
        "name": spec.name,
        "description": spec.description,
        "format": {"type": "grammar", "syntax": "lark", "definition": GRAMMAR},
    })
}

/// What the model wrote, as arguments.
pub(super) fn arguments(name: &str, input: &str) -> String {
    let key = if is_freeform(name) { "patch" } else { "input" };
    json!({ key: input }).to_string()
}

/// Arguments as what the model wrote; those of another shape as they are.
pub(super) fn input(texts: &Texts, arguments: &Text) -> Result<String, TextError> {
    let raw = texts.resolve(arguments)?;
    match serde_json::from_str::<Patch>(&raw) {
        Ok(Patch { patch }) => Ok(patch),
        Err(_) => Ok(raw.to_string()),
    }
}
