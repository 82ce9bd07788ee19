//! Who finds what (CX14): each agent its own documents, of the active workspace and of none, unless it asks for all.

use holon_facts::workspace::WorkspaceId;
use holon_memory::{Document, Workspaces};
use proptest::collection::vec;
use proptest::prelude::*;

use super::common::{Scene, agent, document, ids};

const AGENTS: [&str; 3] = ["main", "other", "a1"];
const PLACES: [Option<&str>; 4] = [None, Some("shop"), Some("blog"), Some("w0")];
const WORDS: [&str; 4] = ["deploy", "w0", "部署", "scope"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn nothing_is_found_or_opened_outside_of_its_scope(
        drawn in vec((0..AGENTS.len(), 0..PLACES.len(), vec(0..WORDS.len(), 1..4)), 1..30),
        strange in "[a-z0-9 :()\"*部署\u{f8ff}]{1,20}",
    ) {
        let mut scene = Scene::new();
        let texts: Vec<(usize, usize, String)> = drawn
            .iter()
            .map(|(of, place, words)| {
                let words: Vec<_> = words.iter().map(|word| WORDS[*word]).collect();
                (*of, *place, words.join(" "))
            })
            .collect();
        let documents: Vec<(Document, &str)> = texts
            .iter()
            .enumerate()
            .map(|(id, (of, place, text))| (document(AGENTS[*of], id, PLACES[*place]), text.as_str()))
            .collect();
        scene.put(&documents);
        let places: Vec<WorkspaceId> = PLACES.iter().flatten().map(|name| WorkspaceId::named(name)).collect();
        for (number, of) in AGENTS.iter().enumerate() {
            let scopes = places.iter().map(Workspaces::Only).chain([Workspaces::All]);
            for (at, workspaces) in scopes.enumerate() {
                let may = |id: &usize| {
                    let (whose, place, _) = &texts[*id];
                    *whose == number && (*place == 0 || at == places.len() || *place == at + 1)
                };
                for word in WORDS {
                    let mut found = ids(&scene.find(of, word, workspaces, 50));
                    found.sort_unstable();
                    let wanted: Vec<usize> =
                        (0..texts.len()).filter(|id| may(id) && texts[*id].2.contains(word)).collect();
                    prop_assert_eq!(&found, &wanted, "{} in {:?} looks for {}", of, at, word);
                }
                if strange.trim().is_empty() {
                    continue;
                }
                for hit in scene.find(of, &strange, workspaces, 50).hits {
                    let id: usize = hit.entry.document.source.id.parse().expect("a number");
                    prop_assert!(may(&id), "{} finds {} with {:?}", of, id, strange);
                    for reader in AGENTS {
                        let opened = scene.index.get(&agent(reader), hit.entry.source_ref).expect("a read");
                        prop_assert_eq!(opened.is_some(), reader == *of, "{} opens what {} found", reader, of);
                    }
                }
            }
        }
    }
}
