//! Installations from folders and repositories, in folders of their own.

use std::collections::BTreeMap;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Command;

use super::*;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn root(&self) -> PathBuf {
        self.path("root/skills")
    }

    fn file(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn skill(&self, folder: &str, name: &str) {
        self.file(&format!("{folder}/SKILL.md"), format!("---\nname: {name}\ndescription: d\n---\n"));
        self.file(&format!("{folder}/scripts/go.sh"), "echo went\n");
        let script = self.path(&format!("{folder}/scripts/go.sh"));
        fs::set_permissions(script, fs::Permissions::from_mode(0o700)).unwrap();
    }

    fn git(&self, repository: &str, words: &[&str]) -> String {
        let ended = Command::new("git")
            .arg("-C")
            .arg(self.path(repository))
            .args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"])
            .args(words)
            .output()
            .unwrap();
        assert!(ended.status.success(), "{ended:?}");
        String::from_utf8(ended.stdout).unwrap().trim().to_owned()
    }

    /// `hub/team/repo.git`, with a skill in `skills/pdf`.
    fn repository(&self) -> String {
        self.skill("hub/team/repo.git/skills/pdf", "pdf");
        self.file("hub/team/repo.git/large", vec![b'x'; 3 << 20]);
        self.git("hub/team/repo.git", &["init", "-q"]);
        self.git("hub/team/repo.git", &["add", "."]);
        self.git("hub/team/repo.git", &["commit", "-qm", "first"]);
        self.git("hub/team/repo.git", &["config", "uploadpack.allowFilter", "true"]);
        self.git("hub/team/repo.git", &["rev-parse", "HEAD"])
    }

    fn source(&self, text: &str) -> Result<Source, InstallError> {
        let hub = format!("file://{}", self.path("hub").display());
        Source::parse(text, Some(self.0.path()), &hub)
    }

    async fn install(&self, text: &str, name: Option<&str>) -> Result<Installed, InstallError> {
        let environment = Environment::of_process();
        let (root, scratch) = (self.root(), tempfile::tempdir().unwrap());
        let to = Destination { root: &root, scratch: scratch.path(), bound: None };
        install(&environment, &self.source(text)?, name, to).await
    }

    /// Everything below the root, and the bytes of files.
    fn below(&self) -> BTreeMap<PathBuf, usize> {
        fn walk(folder: &Path, found: &mut BTreeMap<PathBuf, usize>) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if path.is_dir() {
                    walk(&path, found);
                } else {
                    found.insert(path.clone(), fs::read(&path).unwrap().len());
                }
            }
        }
        let mut found = BTreeMap::new();
        walk(&self.root(), &mut found);
        found
    }
}

#[tokio::test]
async fn a_folder_is_copied_checked_and_removed() {
    let place = Place::new();
    place.skill("from/pdf", "pdf");
    place.file("from/pdf/.git/config", "secret");
    let installed = place.install("from/pdf", None).await.unwrap();
    assert_eq!((installed.name.as_str(), installed.entry.commit.as_deref()), ("pdf", None));
    let script = installed.folder.join("scripts/go.sh");
    assert_eq!(fs::metadata(&script).unwrap().permissions().mode() & 0o111, 0o111);
    assert!(!installed.folder.join(".git").exists());
    let checked = || {
        check(&place.root()).unwrap().into_iter().map(|(name, is, _)| (name, is.name())).collect::<Vec<_>>()
    };
    assert_eq!(checked(), [("pdf".to_owned(), "ok")]);
    assert!(matches!(place.install("from/pdf", None).await, Err(InstallError::Exists { .. })));
    place.install("from/pdf", Some("pdf-2")).await.unwrap();
    fs::write(&script, "changed").unwrap();
    fs::remove_dir_all(place.root().join("pdf-2")).unwrap();
    place.skill("root/skills/mine", "mine");
    let expected = [("mine", "unmanaged"), ("pdf", "modified"), ("pdf-2", "missing")];
    assert_eq!(checked(), expected.map(|(name, is)| (name.to_owned(), is)));
    assert!(matches!(remove(&place.root(), "pdf", false), Err(InstallError::Modified { .. })));
    remove(&place.root(), "pdf", true).unwrap();
    remove(&place.root(), "pdf-2", false).unwrap();
    assert!(matches!(remove(&place.root(), "pdf", false), Err(InstallError::Unknown { .. })));
    assert!(matches!(remove(&place.root(), "mine", true), Err(InstallError::Unmanaged { .. })));
    assert!(matches!(remove(&place.root(), "../mine", true), Err(InstallError::Invalid { .. })));
    assert_eq!(checked(), [("mine".to_owned(), "unmanaged")]);
    assert_eq!(place.below().len(), 3, "{:?}", place.below());
}

/// The root has more folders than are looked at for skills, and the one that was installed is the last of them.
#[tokio::test]
async fn an_installed_skill_is_compared_wherever_it_is_in_its_root() {
    let place = Place::new();
    place.skill("from/zeta", "zeta");
    let folder = place.install("from/zeta", None).await.unwrap().folder;
    (0..300).for_each(|at| fs::create_dir(place.root().join(format!("a{at:03}"))).unwrap());
    let checked =
        || check(&place.root()).unwrap().into_iter().map(|(name, is, _)| (name, is)).collect::<Vec<_>>();
    assert_eq!(checked(), [("zeta".to_owned(), InstalledState::Ok)]);
    fs::write(folder.join("more"), "").unwrap();
    assert_eq!(checked(), [("zeta".to_owned(), InstalledState::Modified)]);
}

#[tokio::test]
async fn a_part_of_a_repository_is_fetched_at_a_commit() {
    let place = Place::new();
    let commit = place.repository();
    place.git("hub/team/repo.git", &["branch", "feature/one"]);
    let hub = place.path("hub").display().to_string();
    let named = [
        ("a", "https://github.com/team/repo/tree/main/skills/pdf".to_owned()),
        ("b", "https://github.com/team/repo/tree/feature/one/skills/pdf".to_owned()),
        ("c", format!("file://{hub}/team/repo.git#main:skills/pdf")),
        ("d", format!("https://github.com/team/repo/tree/{commit}/skills/pdf")),
    ];
    for (name, source) in named {
        let installed = place.install(&source, Some(name)).await.unwrap();
        assert_eq!(installed.entry.commit.as_deref(), Some(commit.as_str()), "{source}");
        assert_eq!(fs::read_to_string(installed.folder.join("scripts/go.sh")).unwrap(), "echo went\n");
    }
    let lock = Lock::read(&place.root()).unwrap();
    assert_eq!(lock.skills.len(), 4);
    assert_eq!(lock.skills["a"].source, "https://github.com/team/repo/tree/main/skills/pdf");
    assert!(place.below().len() == 9, "{:?}", place.below());
}

#[tokio::test]
async fn what_can_not_be_fetched_leaves_nothing() {
    let place = Place::new();
    place.repository();
    place.git("hub/team/repo.git", &["checkout", "-q", "-b", "links"]);
    symlink("/etc/passwd", place.path("hub/team/repo.git/skills/pdf/link")).unwrap();
    place.git("hub/team/repo.git", &["add", "."]);
    place.git("hub/team/repo.git", &["commit", "-qm", "link"]);
    place.file("from/no-skill/readme", "");
    place.skill("from/links", "links");
    symlink("SKILL.md", place.path("from/links/link")).unwrap();
    place.skill("from/large", "large");
    place.file("from/large/data", vec![0; (1 << 20) + 1]);
    place.skill("from/many", "many");
    (0..500).for_each(|at| place.file(&format!("from/many/{at}"), ""));
    place.skill("from/pipe", "pipe");
    assert!(Command::new("mkfifo").arg(place.path("from/pipe/pipe")).status().unwrap().success());
    place.file("from/broken/SKILL.md", "---\nname: [\n---\n");
    let cases = [
        ("from/none", "is not there"),
        ("from/no-skill", "no SKILL.md"),
        ("from/links", "link is a link"),
        ("from/large", "data has more than 1048576 bytes"),
        ("from/many", "more than 500 files"),
        ("from/pipe", "neither a file nor a folder"),
        ("from/broken", "the SKILL.md of "),
        ("https://github.com/team/none/tree/main/x", "git"),
        ("https://github.com/team/repo/tree/none/skills/pdf", "none of these: none"),
        ("https://github.com/team/repo/tree/main/skills/none", "no folder"),
        ("https://github.com/team/repo/tree/links/skills/pdf", "link, and only files"),
        ("https://github.com/team/repo", "link"),
    ];
    place.git("hub/team/repo.git", &["checkout", "-q", "links"]);
    for (source, expected) in cases {
        let error = place.install(source, None).await.expect_err(source).to_string();
        assert!(error.contains(expected), "{source}: {error}");
    }
    assert_eq!(place.below(), BTreeMap::new());
    assert!(!place.root().exists(), "git has run in a folder that agents can write to");
    let error = place.install("from/links", Some("Not A Name")).await.unwrap_err().to_string();
    assert!(error.contains("no name of a skill"), "{error}");
}

#[tokio::test]
async fn what_a_process_that_died_has_left_is_finished_or_goes() {
    let place = Place::new();
    place.skill("from/pdf", "pdf");
    let entry = place.install("from/pdf", None).await.unwrap().entry;
    let root = place.root();
    // It died after the rename, and before the lock file.
    fs::remove_file(Lock::path(&root)).unwrap();
    let note = serde_json::json!({ "change": "install", "name": "pdf", "entry": entry });
    place.file("root/skills/.staging-a/note.json", note.to_string());
    // Another one before its rename, and one in the middle of fetching.
    let note = serde_json::json!({ "change": "install", "name": "half", "entry": entry });
    place.file("root/skills/.staging-b/note.json", note.to_string());
    place.skill("root/skills/.staging-b/folder", "half");
    place.file("root/skills/.staging-c/repository/x", "");
    let names = |checked: Vec<(String, InstalledState, Option<Entry>)>| {
        checked.into_iter().map(|(name, is, _)| (name, is)).collect::<Vec<_>>()
    };
    assert_eq!(names(check(&root).unwrap()), [("pdf".to_owned(), InstalledState::Ok)]);
    // A removal that had happened, but for the lock file.
    let note = serde_json::json!({ "change": "remove", "name": "pdf" });
    place.file("root/skills/.staging-d/note.json", note.to_string());
    fs::rename(root.join("pdf"), root.join(".staging-d/removed")).unwrap();
    assert_eq!(names(check(&root).unwrap()), []);
    assert_eq!(place.below().len(), 1, "the lock file: {:?}", place.below());
    fs::write(Lock::path(&root), "{").unwrap();
    let error = place.install("from/pdf", None).await.unwrap_err().to_string();
    assert!(error.contains("skills.lock.json") && error.contains("move it away"), "{error}");
}

/// A name, and what somebody does to the folder of a skill.
type Change = (&'static str, fn(&Path));

#[tokio::test]
async fn a_skill_that_can_not_be_compared_counts_as_changed() {
    let place = Place::new();
    place.skill("from/pdf", "pdf");
    let changes: [Change; 4] = [
        ("a large file", |skill| fs::write(skill.join("data"), vec![0; (1 << 20) + 1]).unwrap()),
        ("a link", |skill| symlink("SKILL.md", skill.join("link")).unwrap()),
        ("many files", |skill| (0..500).for_each(|at| fs::write(skill.join(at.to_string()), "").unwrap())),
        ("a link in its place", |skill| {
            fs::rename(skill, skill.with_extension("mine")).unwrap();
            symlink("nowhere", skill).unwrap();
        }),
    ];
    for (name, change) in changes {
        let folder = place.install("from/pdf", None).await.unwrap().folder;
        change(&folder);
        let refused = remove(&place.root(), "pdf", false);
        assert!(matches!(refused, Err(InstallError::Modified { .. })), "{name}: {refused:?}");
        assert!(fs::symlink_metadata(&folder).is_ok(), "{name}");
        remove(&place.root(), "pdf", true).unwrap();
    }
}

/// A pipe would be waited for without end, and a file can't be removed as a folder.
#[tokio::test]
async fn what_only_has_the_name_of_an_unfinished_change_is_in_nobodys_way() {
    let place = Place::new();
    place.skill("from/pdf", "pdf");
    place.install("from/pdf", None).await.unwrap();
    let pipe = |path: PathBuf| assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    pipe(place.root().join(".staging-pipe"));
    pipe(place.root().join(".skills.lock.draft"));
    place.file("root/skills/.staging-file", "");
    symlink("/", place.root().join(".staging-link")).unwrap();
    fs::create_dir(place.root().join(".staging-left")).unwrap();
    pipe(place.root().join(".staging-left/note.json"));
    finish(&place.root()).unwrap();
    place.install("from/pdf", Some("pdf-2")).await.unwrap();
    assert_eq!(check(&place.root()).unwrap().len(), 2);
    remove(&place.root(), "pdf-2", false).unwrap();
    assert!(!place.root().join(".staging-left").exists());
    fs::remove_file(Lock::path(&place.root())).unwrap();
    pipe(Lock::path(&place.root()));
    let error = check(&place.root()).unwrap_err().to_string();
    assert!(error.contains("not a file"), "{error}");
}

/// Whoever tidies the root would otherwise take the folder of a change for one that was left, before it is locked.
#[test]
fn a_change_begins_only_when_nobody_tidies() {
    let place = Place::new();
    fs::create_dir_all(place.root()).unwrap();
    let held = Root::hold(&place.root()).unwrap();
    std::thread::scope(|scope| {
        let begun = scope.spawn(|| Staging::begin(&place.root()).map(drop));
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert_eq!(fs::read_dir(place.root()).unwrap().count(), 0);
        drop(held);
        begun.join().unwrap().unwrap();
    });
}
