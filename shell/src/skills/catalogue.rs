//! Which of the skills that were found an agent is offered: of one name that of the workspace before its own before the
//! user's, and each file once. The others are listed with what stands against them.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

use holon_facts::skill::{NAME_CHARS, OFFERED, Skill, SkillCatalogue, SkillScope};
use holon_text::Texts;

use super::roots::Place;
use super::scan::{Cache, ENTRIES, Manifest, Scanned, one_line, scan};

/// Characters of a description that a catalogue on record has; requests show no more.
const DESCRIPTION_CHARS: usize = 250;

/// A skill that is there.
#[derive(Debug, Clone)]
pub struct Found {
    /// Its scope and its folder.
    pub skill_id: String,
    pub scope: SkillScope,
    pub name: String,
    pub entrypoint: PathBuf,
    pub standing: Standing,
    /// None of one that is broken.
    pub manifest: Option<Arc<Manifest>>,
    /// What is wrong with it, and does not keep it from being offered.
    pub problems: Vec<String>,
    /// Its folder is a link.
    linked: bool,
}

/// Whether it is offered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    Offered,
    /// Another one of that name, or with the same file, is offered.
    Shadowed {
        by: String,
    },
    Broken {
        problem: String,
    },
    /// No operator trusts the workspace.
    Untrusted,
    /// There are too many.
    LeftOut,
}

impl fmt::Display for Standing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Offered => write!(formatter, "it is offered"),
            Self::Shadowed { by } => write!(formatter, "{by} comes before it"),
            Self::Broken { problem } => write!(formatter, "{problem}"),
            Self::Untrusted => write!(formatter, "no operator trusts its workspace"),
            Self::LeftOut => write!(formatter, "there are more than {OFFERED}"),
        }
    }
}

/// Everything that is there, by name, and what is wrong with roots.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    pub found: Vec<Found>,
    pub problems: Vec<String>,
}

/// Looks for the skills of an agent.
pub fn find(place: Place<'_>, cache: &Cache) -> Listing {
    let mut listing = Listing::default();
    for roots in place.roots() {
        let (first, behind) = roots.first();
        for folder in behind {
            let first = first.unwrap_or(folder).display();
            listing.problems.push(format!("{} is not looked at: {first} comes before it", folder.display()));
        }
        let Some(root) = first else { continue };
        let untrusted = place.untrusted && roots.scope == SkillScope::Workspace;
        let readable = match roots.scope {
            // The operator has chosen that folder.
            SkillScope::User => &place.readable.and(root),
            SkillScope::Workspace | SkillScope::Agent => place.readable,
        };
        match scan(root, roots.within.as_deref(), cache, readable) {
            Ok((scanned, more)) => {
                if more > 0 {
                    let root = root.display();
                    listing.problems.push(format!(
                        "{root} has {more} folders more than the {ENTRIES} that are looked at"
                    ));
                }
                listing.found.extend(scanned.into_iter().map(|one| found(roots.scope, one, untrusted)));
            }
            Err(problem) => listing.problems.push(unlisted(root, &problem)),
        }
    }
    arrange(&mut listing.found);
    listing
}

/// Which of them are offered, and in which order they are listed: the same in whichever order they were found.
fn arrange(found: &mut [Found]) {
    clash(found);
    bound(found);
    found.sort_by(|one, other| (&one.name, one.scope).cmp(&(&other.name, other.scope)));
}

fn unlisted(root: &Path, problem: &io::Error) -> String {
    format!("{} can't be listed: {problem}", root.display())
}

fn found(scope: SkillScope, scanned: Scanned, untrusted: bool) -> Found {
    let Scanned { dir, entrypoint, linked, read } = scanned;
    let folder = one_line(&dir);
    let mut problems = Vec::new();
    if !is_name(&dir) {
        problems.push(
            "the name of its folder is no name of a skill: a to z, 0 to 9 and single hyphens".to_owned(),
        );
    }
    let (standing, manifest) = match read {
        Ok(manifest) => {
            match &manifest.name {
                Some(name) if *name == dir => {}
                Some(name) => {
                    problems.push(format!("it names itself {name:?}, and its folder is {folder:?}"))
                }
                None => problems.push("it has no name: that of its folder stands in for it".to_owned()),
            }
            problems.extend(manifest.problems.iter().cloned());
            (if untrusted { Standing::Untrusted } else { Standing::Offered }, Some(manifest))
        }
        Err(problem) => (Standing::Broken { problem }, None),
    };
    let name = folder.chars().take(NAME_CHARS).collect();
    Found {
        skill_id: format!("{scope}:{folder}"),
        scope,
        name,
        entrypoint,
        standing,
        manifest,
        problems,
        linked,
    }
}

/// Whether it is a name by the standard.
pub(super) fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=NAME_CHARS).contains(&name.len())
        && name.bytes().all(fits)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--")
}

/// Of one name, and of one file, the first is offered; they are in the order of precedence.
fn clash(found: &mut [Found]) {
    // A folder comes before a link to it.
    found.sort_by(|one, other| {
        (one.scope, one.linked, &one.skill_id).cmp(&(other.scope, other.linked, &other.skill_id))
    });
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut files: HashMap<PathBuf, String> = HashMap::new();
    for one in found.iter_mut().filter(|one| one.standing == Standing::Offered) {
        let before = names.get(&one.name).or_else(|| files.get(&one.entrypoint));
        if let Some(by) = before {
            one.standing = Standing::Shadowed { by: by.clone() };
            continue;
        }
        names.insert(one.name.clone(), one.skill_id.clone());
        files.insert(one.entrypoint.clone(), one.skill_id.clone());
    }
}

/// The last ones of too many are left out.
fn bound(found: &mut [Found]) {
    let offered = found.iter_mut().filter(|one| one.standing == Standing::Offered);
    offered.skip(OFFERED).for_each(|one| one.standing = Standing::LeftOut);
}

impl Listing {
    /// What the core is given; none where there is nothing to offer.
    pub fn catalogue(&self, texts: &Texts) -> Option<Arc<SkillCatalogue>> {
        let count = |standing: &Standing| {
            let all = self.found.iter().filter(|one| one.standing == *standing).count();
            u32::try_from(all).unwrap_or(u32::MAX)
        };
        let catalogue = SkillCatalogue {
            skills: self.found.iter().filter_map(|one| one.offer(texts)).collect(),
            left_out: count(&Standing::LeftOut),
            untrusted: count(&Standing::Untrusted),
        };
        (!catalogue.is_empty()).then(|| Arc::new(catalogue))
    }
}

impl Found {
    fn offer(&self, texts: &Texts) -> Option<Skill> {
        let manifest = self.manifest.as_ref().filter(|_| self.standing == Standing::Offered)?;
        let description: String =
            texts.redact(&manifest.description).chars().take(DESCRIPTION_CHARS).collect();
        Some(Skill {
            skill_id: self.skill_id.clone(),
            name: self.name.clone(),
            scope: self.scope,
            description: texts.take(&description),
            entrypoint_path: self.entrypoint.display().to_string(),
            digest: manifest.digest,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use holon_supervise::confine::Readable;
    use holon_text::Secrets;

    use super::super::roots::Roots;
    use super::*;

    struct Folders(tempfile::TempDir);

    impl Folders {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn path(&self, path: &str) -> PathBuf {
            self.0.path().join(path)
        }

        fn skill(&self, folder: &str, name: &str, description: &str) {
            self.file(folder, format!("---\nname: {name}\ndescription: {description}\n---\nDo it.\n"));
        }

        fn file(&self, folder: &str, text: impl AsRef<[u8]>) {
            fs::create_dir_all(self.path(folder)).unwrap();
            fs::write(self.path(folder).join("SKILL.md"), text).unwrap();
        }

        /// Of the default agent, in a workspace.
        fn find(&self, cache: &Cache) -> Listing {
            let user = Roots::of_user(Some(&self.path("user")), None);
            let (home, anchor) = (self.path("home"), self.path("work"));
            let place = Place {
                agent_home: &home,
                anchor: &anchor,
                user: Some(&user),
                untrusted: false,
                readable: &Readable::default(),
            };
            find(place, cache)
        }
    }

    fn shown(listing: &Listing) -> Vec<(String, Standing)> {
        listing.found.iter().map(|one| (one.skill_id.clone(), one.standing.clone())).collect()
    }

    fn shadowed(by: &str) -> Standing {
        Standing::Shadowed { by: by.to_owned() }
    }

    fn one<'a>(listing: &'a Listing, id: &str) -> &'a Found {
        listing.found.iter().find(|one| one.skill_id == id).unwrap()
    }

    #[test]
    fn a_workspace_stands_before_an_agent_before_a_user() {
        let folders = Folders::new();
        folders.skill("work/.agents/skills/build", "build", "of the workspace");
        folders.skill("home/skills/build", "build", "of the agent");
        folders.skill("home/skills/own", "own", "of the agent");
        folders.skill("home/.claude/skills/late", "late", "nobody looks here");
        folders.skill("user/.codex/skills/own", "own", "of the user");
        folders.skill("user/.codex/skills/user", "user", "of the user");
        let listing = folders.find(&Cache::default());
        assert_eq!(
            shown(&listing),
            [
                ("workspace:build".into(), Standing::Offered),
                ("agent:build".into(), shadowed("workspace:build")),
                ("agent:own".into(), Standing::Offered),
                ("user:own".into(), shadowed("agent:own")),
                ("user:user".into(), Standing::Offered),
            ]
        );
        assert!(listing.problems[0].contains(".claude/skills is not looked at"), "{:?}", listing.problems);
        let texts = Texts::new(Secrets::default(), Box::new(|_| Ok(None)));
        let catalogue = listing.catalogue(&texts).unwrap();
        let names: Vec<_> = catalogue.skills.iter().map(|skill| skill.name.as_str()).collect();
        assert_eq!(names, ["build", "own", "user"]);
        assert!(Listing::default().catalogue(&texts).is_none());
    }

    #[test]
    fn one_file_is_one_skill_and_links_stay_in_the_workspace() {
        let folders = Folders::new();
        folders.skill("work/.agents/skills/zeta", "zeta", "real");
        folders.skill("elsewhere/out", "out", "outside");
        symlink("zeta", folders.path("work/.agents/skills/alias")).unwrap();
        symlink(folders.path("elsewhere/out"), folders.path("work/.agents/skills/out")).unwrap();
        symlink("nowhere", folders.path("work/.agents/skills/dangling")).unwrap();
        fs::create_dir_all(folders.path("home/skills")).unwrap();
        symlink(folders.path("elsewhere/out"), folders.path("home/skills/out")).unwrap();
        let listing = folders.find(&Cache::default());
        let broken = Standing::Broken { problem: "it leads out of the workspace".into() };
        assert_eq!(
            shown(&listing),
            [
                ("workspace:alias".into(), shadowed("workspace:zeta")),
                ("workspace:out".into(), broken),
                ("agent:out".into(), Standing::Offered),
                ("workspace:zeta".into(), Standing::Offered),
            ]
        );
    }

    #[test]
    fn what_is_broken_is_listed_with_its_error() {
        let folders = Folders::new();
        let at = |name: &str| format!("home/skills/{name}");
        folders.file(&at("big"), vec![b'x'; 10 << 20]);
        folders.file(&at("binary"), b"\x7fELF\0\0");
        folders.file(&at("latin"), b"---\ndescription: caf\xe9\n---\n");
        folders.file(&at("bomb"), "---\na: &a [x]\nb: [*a, *a]\n---\n");
        folders.file(&at("nothing"), "");
        folders.file(&at("bare"), "# Title\n\nFirst paragraph,\nin two lines.\n\nSecond.\n");
        folders.skill(&at("other"), "bare", "has the name of another");
        folders.skill(&at("Not A Name"), "x", "fits no standard");
        fs::create_dir_all(folders.path(&at("folder/SKILL.md"))).unwrap();
        fs::create_dir_all(folders.path(&at("no-skill"))).unwrap();
        let listing = folders.find(&Cache::default());
        let problem = |id: &str| {
            let Standing::Broken { problem } = &one(&listing, id).standing else { panic!("{id} is offered") };
            problem.clone()
        };
        assert!(problem("agent:big").contains("has 10485760 bytes, and may have 262144"));
        assert!(problem("agent:binary").contains("not a text file"));
        assert!(problem("agent:latin").contains("not UTF-8"));
        assert!(problem("agent:bomb").contains("anchors, aliases or tags"));
        assert!(problem("agent:nothing").contains("no description"));
        assert!(problem("agent:folder").contains("not a regular file"));
        let bare = one(&listing, "agent:bare");
        assert_eq!(bare.manifest.as_ref().unwrap().description, "First paragraph, in two lines.");
        assert_eq!((bare.standing.clone(), bare.problems.len()), (Standing::Offered, 3));
        let other = one(&listing, "agent:other");
        assert_eq!((other.name.as_str(), other.standing.clone()), ("other", Standing::Offered));
        assert!(other.problems[0].contains("names itself \"bare\""));
        assert!(one(&listing, "agent:Not A Name").problems[0].contains("no name of a skill"));
        assert!(!listing.found.iter().any(|one| one.skill_id == "agent:no-skill"));
    }

    #[test]
    fn too_many_are_left_out_and_the_workspace_comes_first() {
        let folders = Folders::new();
        for at in 0..ENTRIES + 3 {
            folders.skill(&format!("home/skills/a{at:03}"), &format!("a{at:03}"), "of the agent");
        }
        folders.skill("work/.claude/skills/zz", "zz", "of the workspace");
        let listing = folders.find(&Cache::default());
        let texts = Texts::new(Secrets::default(), Box::new(|_| Ok(None)));
        let catalogue = listing.catalogue(&texts).unwrap();
        assert_eq!((catalogue.skills.len(), catalogue.left_out), (OFFERED, 157));
        assert_eq!(catalogue.skills.last().unwrap().name, "zz");
        assert!(listing.problems[0].contains("3 folders more than the 256"), "{:?}", listing.problems);
    }

    #[test]
    fn a_file_that_has_changed_is_read_again() {
        let (folders, cache) = (Folders::new(), Cache::default());
        folders.skill("home/skills/b", "b", "same");
        let digest = |listing: &Listing| listing.found[0].manifest.as_ref().unwrap().digest;
        let before = digest(&folders.find(&cache));
        assert_eq!(before, digest(&folders.find(&cache)));
        folders.skill("home/skills/b", "b", "other");
        assert_ne!(before, digest(&folders.find(&cache)));
    }

    /// CX3: more skills than are offered, of one name in three places, and a folder with a link to it.
    #[test]
    fn in_whichever_order_skills_are_found_the_list_is_the_same() {
        let folders = Folders::new();
        for at in 0..OFFERED {
            folders.skill(&format!("home/skills/a{at:03}"), &format!("a{at:03}"), "of the agent");
        }
        for root in ["work/.agents/skills", "home/skills", "user/.agents/skills"] {
            folders.skill(&format!("{root}/build"), "build", root);
        }
        symlink("build", folders.path("home/skills/again")).unwrap();
        let listing = folders.find(&Cache::default());
        let texts = Texts::new(Secrets::default(), Box::new(|_| Ok(None)));
        let offered = listing.catalogue(&texts);
        assert!(offered.is_some() && listing.found.iter().any(|one| one.standing == Standing::LeftOut));
        let as_read = |one: Found| match one.standing {
            Standing::Shadowed { .. } | Standing::LeftOut => Found { standing: Standing::Offered, ..one },
            Standing::Offered | Standing::Broken { .. } | Standing::Untrusted => one,
        };
        let found: Vec<Found> = listing.found.iter().cloned().map(as_read).collect();
        // Steps that have no part in common with the number of skills: each is visited once.
        let count = found.len();
        for step in [1, 5, 31, 57, count - 1] {
            let mut other: Vec<Found> = (0..count).map(|at| found[at * step % count].clone()).collect();
            arrange(&mut other);
            let other = Listing { found: other, problems: Vec::new() };
            assert_eq!(shown(&other), shown(&listing), "in steps of {step}");
            assert_eq!(other.catalogue(&texts), offered, "in steps of {step}");
        }
    }

    #[test]
    fn an_untrusted_workspace_offers_nothing_and_hides_nothing() {
        let folders = Folders::new();
        folders.skill("work/.agents/skills/build", "build", "of the workspace");
        folders.skill("home/skills/build", "build", "of the agent");
        let (home, anchor) = (folders.path("home"), folders.path("work"));
        let place = Place {
            agent_home: &home,
            anchor: &anchor,
            user: None,
            untrusted: true,
            readable: &Readable::default(),
        };
        let listing = find(place, &Cache::default());
        assert_eq!(
            shown(&listing),
            [("workspace:build".into(), Standing::Untrusted), ("agent:build".into(), Standing::Offered)]
        );
    }
}
