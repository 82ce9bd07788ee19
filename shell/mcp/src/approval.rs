//! Which definitions of workspaces an operator has approved: one file for each, so that nobody who approves another one at
//! the same time takes it away.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use holon_facts::Wall;
use holon_text::hash;
use serde::{Deserialize, Serialize};

use crate::kept;
use crate::proposal::Proposal;

/// Below the folder of all servers.
const FOLDER: &str = "approved";
/// A larger file is not one of ours.
const FILE_BYTES: u64 = 64 << 10;
/// Most approvals that are looked through.
const FILES: usize = 1_000;

/// The approvals of a home.
#[derive(Debug, Clone)]
pub struct Approvals {
    folder: PathBuf,
}

/// What is kept of an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Approval {
    #[serde(flatten)]
    pub proposal: Proposal,
    pub approved_at: Wall,
}

/// How a proposal stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Nobody has approved it.
    Proposed,
    /// Exactly this definition is approved.
    Approved,
    /// Another definition of this name was approved.
    Changed,
}

impl Standing {
    pub fn name(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Approved => "approved",
            Self::Changed => "changed",
        }
    }
}

impl Approvals {
    /// In the folder where logs and lists of tools are, too.
    pub fn of(folder: &Path) -> Self {
        Self { folder: folder.join(FOLDER) }
    }

    /// Whether this definition is approved. An approval that can't be read is none.
    pub fn standing(&self, proposal: &Proposal) -> Standing {
        let kept = proposal_of(&self.file(&proposal.workspace, &proposal.name));
        match kept.filter(|kept| kept.workspace == proposal.workspace && kept.name == proposal.name) {
            None => Standing::Proposed,
            Some(kept) if kept.digest == proposal.digest => Standing::Approved,
            Some(_) => Standing::Changed,
        }
    }

    /// Approves this definition, instead of any other one of its name.
    ///
    /// # Errors
    /// The folder can't be written to.
    pub fn approve(&self, proposal: &Proposal, now: Wall) -> io::Result<()> {
        let path = self.file(&proposal.workspace, &proposal.name);
        kept::replace(&path, &Approval { proposal: proposal.clone(), approved_at: now })
    }

    /// Takes an approval back; false where there is none.
    ///
    /// # Errors
    /// A file that can't be removed.
    pub fn revoke(&self, workspace: &Path, name: &str) -> io::Result<bool> {
        kept::remove(&self.file(workspace, name))
    }

    /// The workspaces of which anything was ever approved, in order.
    pub fn workspaces(&self) -> Vec<PathBuf> {
        let Ok(files) = fs::read_dir(&self.folder) else { return Vec::new() };
        let kept = files.flatten().take(FILES).filter_map(|file| proposal_of(&file.path()));
        let mut workspaces: Vec<PathBuf> = kept.map(|proposal| proposal.workspace).collect();
        workspaces.sort();
        workspaces.dedup();
        workspaces
    }

    fn file(&self, workspace: &Path, name: &str) -> PathBuf {
        let whose = hash(format!("{}\0{name}", workspace.display()).as_bytes());
        self.folder.join(format!("{whose}.json"))
    }
}

fn proposal_of(path: &Path) -> Option<Proposal> {
    kept::read::<Approval>(path, FILE_BYTES).map(|approval| approval.proposal)
}

#[cfg(test)]
mod tests {
    //! Law CX34: no server of a workspace starts whose definition was not approved. It is checked over random histories of a
    //! file that changes, approvals and revocations, against what an operator was shown last; and each way to ask something
    //! else than the approvals of a home is noticed.

    use holon_facts::ContentId;

    use super::*;

    const STEPS: usize = 400;

    /// What decides whether a server starts.
    type Gate = fn(&Approvals, &Proposal) -> bool;

    fn proposal(workspace: u64, name: u64, digest: u64) -> Proposal {
        let digest = ContentId([u8::try_from(digest).unwrap(); 32]);
        Proposal { workspace: format!("/srv/{workspace}").into(), name: format!("s{name}"), digest }
    }

    /// The first start that nobody approved, in a history that the seed decides.
    fn cx34(seed: u64, gate: Gate) -> Option<Proposal> {
        let folder = tempfile::tempdir().unwrap();
        let approvals = Approvals::of(folder.path());
        let mut state = seed;
        let mut draw = |most: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % most
        };
        // What the operator has approved last, of each workspace and name.
        let mut approved: Vec<Proposal> = Vec::new();
        for _ in 0..STEPS {
            let one = proposal(draw(2), draw(2), draw(3));
            let same = |other: &Proposal| other.workspace == one.workspace && other.name == one.name;
            match draw(6) {
                0 => {
                    approvals.approve(&one, Wall(0)).unwrap();
                    approved.retain(|other| !same(other));
                    approved.push(one);
                }
                1 => {
                    let had = approvals.revoke(&one.workspace, &one.name).unwrap();
                    assert_eq!(had, approved.iter().any(same));
                    approved.retain(|other| !same(other));
                }
                _ if gate(&approvals, &one) && !approved.contains(&one) => return Some(one),
                _ => {}
            }
        }
        None
    }

    fn starts(approvals: &Approvals, proposal: &Proposal) -> bool {
        approvals.standing(proposal) == Standing::Approved
    }

    #[test]
    fn cx34_nothing_starts_that_nobody_approved() {
        for seed in 0..8 {
            assert_eq!(cx34(seed, starts), None, "seed {seed}");
        }
        let by_name: Gate = |approvals, proposal| approvals.standing(proposal) != Standing::Proposed;
        let anywhere: Gate = |approvals, proposal| {
            let at = |workspace| Proposal { workspace, ..proposal.clone() };
            approvals.workspaces().into_iter().any(|folder| starts(approvals, &at(folder)))
        };
        let always: Gate = |_, _| true;
        for (what, sabotage) in
            [("by name", by_name), ("of any workspace", anywhere), ("without a look", always)]
        {
            assert!((0..8).any(|seed| cx34(seed, sabotage).is_some()), "{what}");
        }
    }

    #[test]
    fn an_approval_is_of_one_definition_until_it_is_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let approvals = Approvals::of(folder.path());
        assert_eq!(approvals.standing(&proposal(1, 1, 1)), Standing::Proposed);
        approvals.approve(&proposal(1, 1, 1), Wall(0)).unwrap();
        assert_eq!(approvals.standing(&proposal(1, 1, 1)), Standing::Approved);
        assert_eq!(approvals.standing(&proposal(1, 1, 2)), Standing::Changed);
        assert_eq!(approvals.workspaces(), [PathBuf::from("/srv/1")]);
        assert!(approvals.revoke(Path::new("/srv/1"), "s1").unwrap());
        assert_eq!(approvals.standing(&proposal(1, 1, 1)), Standing::Proposed);
        let file = approvals.file(Path::new("/srv/1"), "s1");
        fs::write(file, "{").unwrap();
        assert_eq!(approvals.standing(&proposal(1, 1, 1)), Standing::Proposed);
    }
}
