//! Which tools of servers are offered: under which names, and how many of them fit.

use std::collections::BTreeSet;

use holon_text::hash;
use serde::Serialize;
use serde_json::Value;

use crate::connection::Tool;

/// Most tools that one agent has, and most bytes of their descriptions and schemas. Of many, requests have what finds them.
pub const MOST_TOOLS: usize = 512;
pub const MOST_SCHEMA_BYTES: usize = 512 << 10;
/// Most bytes of one schema, and how deep it may be.
const SCHEMA_BYTES: usize = 16 << 10;
const SCHEMA_DEPTH: usize = 12;
/// Characters of a description; what is longer is cut.
const DESCRIPTION_CHARS: usize = 2_048;
/// Characters of a name that every provider takes.
const NAME_CHARS: usize = 64;
/// How much of a longer name stays, before the beginning of its digest.
const KEPT_CHARS: usize = 55;
const DIGEST_CHARS: usize = 8;

/// The tools of some servers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Catalogue {
    /// By their names.
    pub tools: Vec<OfferedTool>,
    pub left_out: Vec<LeftOut>,
}

/// A tool as it is offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OfferedTool {
    /// `server__tool`, in letters that every provider takes.
    pub name: String,
    pub server: String,
    /// As its server calls it.
    pub tool: String,
    pub description: String,
    pub schema: Value,
}

/// A tool that is not offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    pub server: String,
    pub tool: String,
    pub why: String,
}

impl Catalogue {
    /// What is offered of the tools that servers list, whatever order they come in.
    pub fn of<'a>(listed: impl IntoIterator<Item = (&'a str, &'a [Tool])>) -> Self {
        let mut all: Vec<(&str, &Tool)> = listed
            .into_iter()
            .flat_map(|(server, tools)| tools.iter().map(move |tool| (server, tool)))
            .collect();
        all.sort_by_key(|(server, tool)| (*server, tool.name.as_str()));
        all.dedup_by_key(|(server, tool)| (*server, tool.name.as_str()));
        let (mut catalogue, mut names, mut bytes) = (Self::default(), BTreeSet::new(), 0);
        for (server, tool) in all {
            let offered = OfferedTool::new(server, tool, &mut names);
            let why = fault(&tool.schema).or_else(|| {
                let more = offered.bytes();
                if catalogue.tools.len() == MOST_TOOLS {
                    return Some(format!("more than {MOST_TOOLS} tools are not offered at once"));
                }
                if bytes + more > MOST_SCHEMA_BYTES {
                    let most = MOST_SCHEMA_BYTES >> 10;
                    return Some(format!(
                        "the descriptions and schemas of all tools have more than {most} KiB"
                    ));
                }
                bytes += more;
                None
            });
            match why {
                None => catalogue.tools.push(offered),
                Some(why) => {
                    let (server, tool) = (server.to_owned(), tool.name.clone());
                    catalogue.left_out.push(LeftOut { server, tool, why });
                }
            }
        }
        catalogue.tools.sort_by(|one, other| one.name.cmp(&other.name));
        catalogue
    }
}

impl OfferedTool {
    fn new(server: &str, tool: &Tool, names: &mut BTreeSet<String>) -> Self {
        let description: String = tool.description.chars().take(DESCRIPTION_CHARS).collect();
        Self {
            name: unused(&exposed(server, &tool.name), names),
            server: server.to_owned(),
            tool: tool.name.clone(),
            description,
            schema: tool.schema.clone(),
        }
    }

    fn bytes(&self) -> usize {
        self.description.len() + self.schema.to_string().len()
    }
}

/// Why a schema can't be offered.
fn fault(schema: &Value) -> Option<String> {
    if !schema.is_object() {
        return Some("the schema of its arguments is no object".to_owned());
    }
    let bytes = schema.to_string().len();
    if bytes > SCHEMA_BYTES {
        return Some(format!(
            "the schema of its arguments has {bytes} bytes; at most {SCHEMA_BYTES} are offered"
        ));
    }
    (depth(schema) > SCHEMA_DEPTH)
        .then(|| format!("the schema of its arguments is deeper than {SCHEMA_DEPTH}"))
}

/// Levels of arrays and objects.
pub(crate) fn depth(value: &Value) -> usize {
    let below = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(entries) => entries.values().map(depth).max(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return 0,
    };
    1 + below.unwrap_or(0)
}

/// `server__tool` in letters that every provider takes; of a long one the beginning, with a digest of all of it. Which
/// workspace proposes a server is no part of its name.
fn exposed(server: &str, tool: &str) -> String {
    let server = server.split('@').next().unwrap_or(server);
    let plain = |letter: char| if letter.is_ascii_alphanumeric() || letter == '-' { letter } else { '_' };
    let name: String = format!("{server}__{tool}").chars().map(plain).collect();
    if name.len() <= NAME_CHARS {
        return name;
    }
    let digest = hash(format!("{server}__{tool}").as_bytes()).to_string();
    format!("{}_{}", &name[..KEPT_CHARS], &digest[..DIGEST_CHARS])
}

/// The name, or with the first number that makes it another one.
fn unused(name: &str, names: &mut BTreeSet<String>) -> String {
    let mut unused = name.to_owned();
    for number in 2_usize.. {
        if names.insert(unused.clone()) {
            break;
        }
        let number = format!("_{number}");
        unused = format!("{}{number}", &name[..name.len().min(NAME_CHARS - number.len())]);
    }
    unused
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str) -> Tool {
        Tool { name: name.into(), description: "Does it".into(), schema: json!({"type": "object"}) }
    }

    fn names(catalogue: &Catalogue) -> Vec<&str> {
        catalogue.tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    #[test]
    fn names_are_plain_sorted_and_each_is_one_tool() {
        let (a, b) = ([tool("z"), tool("read.file"), tool("read/file"), tool("read_file")], [tool("x")]);
        let one = Catalogue::of([("files", &a[..]), ("b", &b[..])]);
        assert_eq!(
            names(&one),
            ["b__x", "files__read_file", "files__read_file_2", "files__read_file_3", "files__z"]
        );
        let mut turned = a;
        turned.reverse();
        assert_eq!(Catalogue::of([("b", &b[..]), ("files", &turned[..])]), one);
        let called: Vec<_> = one.tools.iter().map(|tool| tool.tool.as_str()).collect();
        assert_eq!(called, ["x", "read.file", "read/file", "read_file", "z"]);
    }

    #[test]
    fn a_long_name_keeps_its_beginning_and_stays_another_one() {
        let long = [tool(&"a".repeat(80)), tool(&format!("{}b", "a".repeat(80)))];
        let offered = Catalogue::of([("s", &long[..])]);
        let names = names(&offered);
        assert!(
            names.iter().all(|name| name.len() == NAME_CHARS && name.starts_with("s__aaaa")),
            "{names:?}"
        );
        assert_ne!(names[0], names[1]);
    }

    #[test]
    fn what_is_too_much_is_left_out_and_said() {
        let many: Vec<Tool> = (0..600).map(|n| tool(&format!("t{n:03}"))).collect();
        let offered = Catalogue::of([("s", &many[..])]);
        assert_eq!((offered.tools.len(), offered.left_out.len()), (MOST_TOOLS, 600 - MOST_TOOLS));
        assert_eq!(offered.left_out[0].tool, "t512");
        let mut deep = json!({});
        for _ in 0..SCHEMA_DEPTH {
            deep = json!({ "properties": deep });
        }
        let odd = [
            Tool { schema: deep, ..tool("deep") },
            Tool { schema: json!({"description": "x".repeat(SCHEMA_BYTES)}), ..tool("large") },
            Tool { schema: json!(true), ..tool("none") },
            tool("fine"),
        ];
        let offered = Catalogue::of([("s", &odd[..])]);
        assert_eq!(names(&offered), ["s__fine"]);
        let why: Vec<_> = offered.left_out.iter().map(|left| left.why.as_str()).collect();
        assert!(
            why[0].contains("deeper") && why[1].contains("at most 16384") && why[2].contains("no object"),
            "{why:?}"
        );
        let wide: Vec<Tool> = (0..60)
            .map(|n| Tool { schema: json!({"description": "x".repeat(10_000)}), ..tool(&n.to_string()) })
            .collect();
        let offered = Catalogue::of([("s", &wide[..])]);
        assert_eq!((offered.tools.len(), offered.left_out.len()), (52, 8));
    }
}
