//! The JSON schema of the lines, as docs/run-stream.schema.json has it. `HOLON_WRITE_SCHEMA=1` writes it anew.

use std::path::Path;

use holon_platform::Environment;
use schemars::generate::SchemaSettings;
use serde_json::{Value, json};

use super::input::InputLine;
use super::output::OutputLine;

const FILE: &str = "../docs/run-stream.schema.json";

fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let input = generator.subschema_for::<InputLine>();
    let output = generator.subschema_for::<OutputLine<'_>>();
    let event = generator.subschema_for::<holon_api::Envelope>();
    let mut definitions = generator.take_definitions(true);
    let written = json!({ "description": "A line on standard output.", "oneOf": [event, output] });
    definitions.insert("OutputOrEvent".to_owned(), written);
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Lines of holon run --input-format stream-json and --output-format stream-json",
        "description": "Standard input has lines of `InputLine`, standard output lines of `OutputOrEvent`. The payload of \
                        each type of event is in the OpenAPI description of the runtime.",
        "anyOf": [input, { "$ref": "#/$defs/OutputOrEvent" }],
        "$defs": definitions,
    })
}

#[test]
fn the_schema_of_the_docs_is_that_of_the_lines() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    let made = format!("{}\n", serde_json::to_string_pretty(&schema()).expect("a document"));
    if Environment::of_process().get("HOLON_WRITE_SCHEMA").is_some() {
        std::fs::write(&path, &made).expect("the docs can be written");
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == made, "{FILE} is not what the types say: HOLON_WRITE_SCHEMA=1 writes it anew");
}
