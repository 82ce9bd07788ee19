//! An index with documents of one agent.

use holon_facts::workspace::WorkspaceId;
use holon_facts::{AgentId, Wall};
use holon_memory::{Document, Found, Index, Kind, Query, RefKey, Search, Source, Standing, Workspaces};

pub(crate) const NOW: Wall = Wall(1_000_000_000_000_000);

pub(crate) struct Scene {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) index: Index,
    pub(crate) key: RefKey,
}

pub(crate) fn agent(name: &str) -> AgentId {
    AgentId::new(name).expect("a name")
}

pub(crate) fn document(of: &str, id: usize, workspace: Option<&str>) -> Document {
    Document {
        agent: agent(of),
        source: Source { kind: Kind::Brief, id: id.to_string() },
        standing: Standing::Own,
        workspace: workspace.map(WorkspaceId::named),
        path: None,
        title: String::new(),
        updated_at: NOW,
        events: vec![id as u64],
        stamp: None,
    }
}

impl Scene {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let index = Index::open(&folder.path().join("index/memory.sqlite3")).expect("an index").index;
        Self { folder, index, key: RefKey::new(b"a key") }
    }

    /// Documents of the agent `main`, numbered from 1.
    pub(crate) fn with(texts: &[&str]) -> Self {
        let mut scene = Self::new();
        scene.put(
            &texts
                .iter()
                .enumerate()
                .map(|(at, text)| (document("main", at + 1, None), *text))
                .collect::<Vec<_>>(),
        );
        scene
    }

    pub(crate) fn put(&mut self, documents: &[(Document, &str)]) {
        let fill = self.index.fill(&self.key).expect("a transaction");
        for (document, body) in documents {
            fill.agent(&document.agent, true).expect("an agent");
            fill.put(document, body).expect("a document");
        }
        fill.commit_through(documents.len() as u64, 0).expect("a commit");
    }

    pub(crate) fn find(&self, of: &str, query: &str, workspaces: Workspaces<'_>, limit: usize) -> Found {
        let query = Query::new(query).expect("a query");
        let search = Search { agent: &agent(of), query: &query, workspaces, limit, now: NOW };
        self.index.search(&search).expect("a result")
    }

    /// Ids of what the agent `main` finds, the best first.
    pub(crate) fn ids(&self, query: &str) -> Vec<usize> {
        ids(&self.find("main", query, Workspaces::All, 50))
    }
}

pub(crate) fn ids(found: &Found) -> Vec<usize> {
    found.hits.iter().map(|hit| hit.entry.document.source.id.parse().expect("a number")).collect()
}
