//! The schemas of all tools, as they go to providers, in files that a person can read. A change of one is a
//! change of what every model is told.

use std::collections::BTreeSet;
use std::path::Path;

use holon_core::tool::Tool;
use holon_core::tool::schema::{SchemaMode, schema};
use holon_facts::receipt::ToolErrorKind;

#[test]
fn schemas_are_those_of_the_fixtures() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/tools");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(folder);
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for &tool in Tool::ALL {
        for (mode, suffix) in [(SchemaMode::Relaxed, "relaxed"), (SchemaMode::Strict, "strict")] {
            settings.set_description(tool.description());
            let name = format!("{tool}.{suffix}");
            settings.bind(|| insta::assert_json_snapshot!(name, schema(tool, mode)));
        }
    }
}

/// The names in the first column of a section's table.
fn column<'a>(page: &'a str, section: &str) -> BTreeSet<&'a str> {
    let sections = page.split("\n## ");
    let text = sections.into_iter().find(|text| text.lines().next() == Some(section));
    let text = text.unwrap_or_else(|| panic!("docs/tools.md has no section {section}"));
    text.lines().filter_map(|line| line.strip_prefix("| `")?.split('`').next()).collect()
}

#[test]
fn the_page_of_the_tools_names_what_there_is() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/tools.md");
    let page = std::fs::read_to_string(page).unwrap();
    for &tool in Tool::ALL {
        let schema = schema(tool, SchemaMode::Relaxed);
        let required: Vec<_> = schema["required"].as_array().into_iter().flatten().collect();
        let properties = schema["properties"].as_object().into_iter().flatten();
        let fields: BTreeSet<String> = properties
            .map(
                |(name, _)| {
                    if required.iter().any(|one| *one == name) { name.clone() } else { format!("{name}?") }
                },
            )
            .collect();
        let documented: BTreeSet<String> =
            column(&page, tool.name()).into_iter().map(str::to_owned).collect();
        assert_eq!(documented, fields, "the fields of {tool} in docs/tools.md");
    }
    let kinds: BTreeSet<&str> = ToolErrorKind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(column(&page, "Errors"), kinds);
}
