//! The page about laws and faults equals the tables.

use sim::laws::{PROGRAM, WORLD, page};

#[test]
fn the_page_is_up_to_date() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/laws.md");
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == page(), "write it anew: cargo run -p sim -- laws > docs/laws.md");
}

#[test]
fn each_law_of_the_world_stands_in_the_table_once() {
    let mut ids: Vec<&str> = WORLD.iter().map(|law| law.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), WORLD.len());
}

#[test]
fn each_law_of_the_program_has_the_tests_that_it_names() {
    for law in PROGRAM {
        for (file, test) in [law.test, law.sabotage] {
            let path = format!("{}/../{file}", env!("CARGO_MANIFEST_DIR"));
            let text = std::fs::read_to_string(&path).unwrap_or_else(|problem| panic!("{path}: {problem}"));
            assert!(text.contains(&format!("fn {test}()")), "{} names {test}, which {file} has not", law.id);
        }
    }
}
