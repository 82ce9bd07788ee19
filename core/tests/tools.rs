//! The schemas of all tools, as they go to providers, in files that a person can read. A change of one is a
//! change of what every model is told.

use std::path::Path;

use holon_core::tool::Tool;
use holon_core::tool::schema::{SchemaMode, schema};

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
