use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use holon_facts::AgentId;
use holon_facts::template::{AgentTemplate, TemplateOrigin};
use tempfile::TempDir;

use super::*;

struct World {
    folder: TempDir,
    home: Home,
    templates: Templates,
}

fn world() -> World {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::at(folder.path().join("home"));
    let user = folder.path().join("user");
    fs::create_dir(&user).unwrap();
    let environment = Environment::new([("HOME".to_owned(), user.to_str().unwrap().to_owned())]);
    let templates = Templates::new(&home, &environment);
    World { folder, home, templates }
}

impl World {
    fn template(&self, name: &str, files: &[(&str, &str)]) -> PathBuf {
        let folder = self.folder.path().join(name);
        fs::create_dir_all(&folder).unwrap();
        files.iter().for_each(|(file, text)| fs::write(folder.join(file), text).unwrap());
        folder
    }

    async fn problem(&self, folder: &Path) -> String {
        self.keep(&Selector::Folder(folder.to_owned())).await.unwrap_err().to_string()
    }

    async fn keep(&self, selector: &Selector) -> Result<AgentTemplate, TemplateError> {
        self.templates.keep(selector, Reach::Everywhere).await
    }
}

fn id(name: &str) -> Selector {
    Selector::parse(name).unwrap()
}

#[test]
fn a_selector_has_one_of_its_forms() {
    assert_eq!(id("holon-reviewer").to_string(), "holon-reviewer");
    assert_eq!(id("/srv/templates/mine"), Selector::Folder("/srv/templates/mine".into()));
    for wrong in ["", "Mine", "templates/mine", "../mine", "http://example.com/x"] {
        assert!(matches!(Selector::parse(wrong), Err(TemplateError::NoSelector { .. })), "{wrong}");
    }
}

#[tokio::test]
async fn each_built_in_template_can_be_kept_and_applied() {
    let world = world();
    let listed = world.templates.list().unwrap();
    assert_eq!(listed.len(), 4);
    for Listed { id, found } in listed {
        let found = found.unwrap();
        assert!(found.origin == TemplateOrigin::BuiltIn && !found.template.summary().is_empty());
        let kept = world.keep(&Selector::Id(id.clone())).await.unwrap();
        assert_eq!(kept, world.keep(&Selector::Id(id.clone())).await.unwrap(), "the same files, one copy");
        let agent = AgentId::new(&format!("of-{id}")).unwrap();
        let home = make_home((&world.templates, &world.home), &agent, Some(&kept), None).unwrap();
        let text = fs::read_to_string(home.join("AGENTS.md")).unwrap();
        assert!(text.starts_with(found.template.instructions.trim_end()) && text.contains("## Your home"));
        let state = fs::read_to_string(home.join(".holon/state/template.json")).unwrap();
        assert!(state.contains(&kept.hash.to_string()), "{state}");
    }
    let store = world.home.root().join("templates");
    assert!(
        store.read_dir().unwrap().all(|entry| !entry.unwrap().file_name().to_string_lossy().starts_with('.'))
    );
}

#[tokio::test]
async fn a_home_is_made_from_the_copy_whatever_becomes_of_the_template_and_never_again() {
    let world = world();
    let folder = world.template("mine", &[("AGENTS.md", "Be brief."), ("other.txt", "nobody's business")]);
    let kept = world.keep(&Selector::Folder(folder.clone())).await.unwrap();
    assert_eq!(kept.origin, TemplateOrigin::Folder);
    fs::write(folder.join("AGENTS.md"), "Be long.").unwrap();
    let agent = AgentId::new("one").unwrap();
    let make = || make_home((&world.templates, &world.home), &agent, Some(&kept), None);
    let home = make().unwrap();
    let own = home.join("AGENTS.md");
    assert!(fs::read_to_string(&own).unwrap().starts_with("Be brief.\n"));
    assert!(!home.join("other.txt").exists());
    fs::remove_file(&own).unwrap();
    make().unwrap();
    assert!(!own.exists(), "what its operator removed stays removed");
    assert_ne!(kept.hash, world.keep(&Selector::Folder(folder)).await.unwrap().hash);
}

#[tokio::test]
async fn what_a_death_has_left_unfinished_is_removed_and_what_is_whole_stays() {
    let world = world();
    world.templates.remove_drafts().unwrap();
    let kept = world.keep(&id("holon-watcher")).await.unwrap();
    let store = world.home.root().join("templates");
    fs::create_dir_all(store.join(".draft-left/skills")).unwrap();
    world.templates.remove_drafts().unwrap();
    let names: Vec<_> = store.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, [std::ffi::OsString::from(kept.hash.to_string())]);
}

#[tokio::test]
async fn a_home_without_its_copy_waits_for_instructions_of_the_operator() {
    let world = world();
    let kept = world.keep(&id("holon-watcher")).await.unwrap();
    fs::remove_dir_all(world.home.root().join("templates")).unwrap();
    let agent = AgentId::new("one").unwrap();
    let make = || make_home((&world.templates, &world.home), &agent, Some(&kept), None);
    let problem = make().unwrap_err().to_string();
    assert!(problem.contains("holon-watcher") && problem.contains("AGENTS.md"), "{problem}");
    fs::write(world.home.agent(&agent).join("AGENTS.md"), "mine").unwrap();
    assert_eq!(fs::read_to_string(make().unwrap().join("AGENTS.md")).unwrap(), "mine");
}

#[tokio::test]
async fn what_is_no_template_is_named_with_its_file() {
    let world = world();
    let cases = [
        (world.template("empty", &[]), "it has no AGENTS.md"),
        (world.template("blank", &[("AGENTS.md", " \n")]), "AGENTS.md: it is empty"),
        (world.template("long", &[("AGENTS.md", &"x".repeat(70_000))]), "more than 65276 bytes"),
        (world.template("binary", &[("AGENTS.md", "a\0b")]), "no text in UTF-8"),
        (world.template("odd", &[("AGENTS.md", "x"), ("skills.json", "[]")]), "skills.json: expected"),
        (
            world.template("key", &[("AGENTS.md", "x"), ("skills.json", r#"{"skill_refs":[],"more":1}"#)]),
            "unknown field `more`",
        ),
        (world.folder.path().join("nowhere"), "can't be read or written"),
    ];
    for (folder, problem) in cases {
        let said = world.problem(&folder).await;
        assert!(said.contains(problem) && said.contains(folder.to_str().unwrap()), "{said}");
    }
    let leaves = world.template("leaves", &[]);
    fs::write(world.folder.path().join("outside.md"), "x").unwrap();
    symlink(world.folder.path().join("outside.md"), leaves.join("AGENTS.md")).unwrap();
    assert!(world.problem(&leaves).await.contains("a link that leaves the template"));
    assert!(!world.home.root().join("agents").exists(), "nothing was made of an agent");
    let drafts = world.home.root().join("templates");
    assert!(!drafts.exists() || drafts.read_dir().unwrap().next().is_none());
}

#[test]
fn one_of_the_user_comes_before_one_of_the_build_and_a_wrong_id_names_the_nearest() {
    let world = world();
    let place = world.templates.folder().unwrap().join("holon-reviewer");
    fs::create_dir_all(&place).unwrap();
    fs::write(place.join("AGENTS.md"), "Mine.").unwrap();
    let found = world.templates.find(&id("holon-reviewer")).unwrap();
    assert!(found.origin == TemplateOrigin::User && found.path.as_deref() == Some(&*place));
    let problem = world.templates.find(&id("holon-reviewr")).unwrap_err().to_string();
    assert!(problem.contains("did you mean holon-reviewer"), "{problem}");
}

#[test]
fn seeding_refreshes_what_nobody_has_changed_and_nothing_else() {
    let world = world();
    let folder = world.templates.folder().unwrap().to_owned();
    assert_eq!(seed(&world.templates).unwrap().written.len(), 4);
    assert_eq!(seed(&world.templates).unwrap(), Seeded::default());
    // As an earlier build would have left them: one as it was written, one that was changed, one that was removed.
    let file = |name: &str| folder.join(name).join("AGENTS.md");
    let manifest = folder.join(".holon-templates.json");
    let mut known: serde_json::Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    fs::write(file("holon-default"), "as the earlier build wrote it").unwrap();
    known["holon-default"] = serde_json::Value::String(sha256("as the earlier build wrote it"));
    fs::write(&manifest, known.to_string()).unwrap();
    fs::write(file("holon-developer"), "changed").unwrap();
    fs::remove_dir_all(folder.join("holon-watcher")).unwrap();
    let seeded = seed(&world.templates).unwrap();
    assert_eq!(seeded.written, ["holon-default"]);
    assert_eq!(seeded.left, ["holon-developer", "holon-watcher"]);
    assert_eq!(fs::read_to_string(file("holon-default")).unwrap(), built_in::DEFAULT);
    assert_eq!(fs::read_to_string(file("holon-developer")).unwrap(), "changed");
    assert!(!folder.join("holon-watcher").exists());
    fs::write(&manifest, "{").unwrap();
    seed(&world.templates).unwrap();
    assert_eq!(fs::read_to_string(file("holon-developer")).unwrap(), "changed");
}

/// A pipe would be waited for without end.
#[test]
fn seeding_leaves_alone_what_is_no_file_and_writes_the_others() {
    let world = world();
    let folder = world.templates.folder().unwrap().to_owned();
    let pipe = |path: &Path| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    };
    pipe(&folder.join("holon-default/AGENTS.md"));
    symlink("nowhere", folder.join("holon-developer")).unwrap();
    fs::write(folder.join("holon-reviewer"), "a file").unwrap();
    let seeded = seed(&world.templates).unwrap();
    assert_eq!(seeded.written, ["holon-watcher"]);
    assert_eq!(seeded.left, ["holon-default", "holon-developer", "holon-reviewer"]);
    let manifest = folder.join(".holon-templates.json");
    fs::remove_file(&manifest).unwrap();
    pipe(&manifest);
    let problem = seed(&world.templates).unwrap_err().to_string();
    assert!(problem.contains(".holon-templates.json") && problem.contains("a pipe"), "{problem}");
}

#[tokio::test]
async fn the_longest_template_is_shown_whole_in_each_prompt() {
    let world = world();
    let text = "x".repeat(65_276);
    let kept = world.keep(&Selector::Folder(world.template("long", &[("AGENTS.md", &text)]))).await.unwrap();
    let agent = AgentId::new("one").unwrap();
    let home = make_home((&world.templates, &world.home), &agent, Some(&kept), None).unwrap();
    let text = fs::read_to_string(home.join("AGENTS.md")).unwrap();
    assert!(text.len() == 64 << 10 && text.contains("memory/operator.md"), "{} bytes", text.len());
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_template() {
    let world = world();
    let files = [("AGENTS.md", "\u{feff}Be brief."), ("skills.json", "\u{feff}{\"skill_refs\": [\"/x\"]}")];
    let template = Template::in_folder(&world.template("marked", &files)).unwrap();
    assert_eq!(
        (template.instructions.as_str(), &*template.skill_refs),
        ("Be brief.", &["/x".to_owned()][..])
    );
}

fn sha256(text: &str) -> String {
    use sha2::{Digest, Sha256};
    holon_facts::ContentId(Sha256::digest(text).into()).to_string()
}

fn skill(folder: &Path, name: &str) -> PathBuf {
    let skill = folder.join(name);
    fs::create_dir_all(skill.join("scripts")).unwrap();
    let text = format!("---\nname: {name}\ndescription: What {name} is for.\n---\nDo it.\n");
    fs::write(skill.join("SKILL.md"), text).unwrap();
    fs::write(skill.join("scripts/do.sh"), "true\n").unwrap();
    skill
}

#[tokio::test]
async fn skills_of_a_template_come_with_it_and_a_missing_one_leaves_nothing() {
    let world = world();
    let (one, other) = (skill(world.folder.path(), "sort"), skill(world.folder.path(), "merge"));
    let list = |skills: &[&Path]| serde_json::json!({ "skill_refs": skills }).to_string();
    let folder = world.template("mine", &[("AGENTS.md", "x"), ("skills.json", &list(&[&one, &other]))]);
    let named = Selector::Folder(folder.clone());
    let kept = world.keep(&named).await.unwrap();
    assert_eq!(kept.hash, world.keep(&named).await.unwrap().hash, "whenever it is taken in");
    let agent = AgentId::new("one").unwrap();
    for _ in 0..2 {
        let home = make_home((&world.templates, &world.home), &agent, Some(&kept), None).unwrap();
        assert!(
            home.join("skills/sort/scripts/do.sh").is_file() && home.join("skills/merge/SKILL.md").is_file()
        );
        let lock = fs::read_to_string(home.join("skills/skills.lock.json")).unwrap();
        assert!(lock.contains(one.to_str().unwrap()), "{lock}");
        // As if the process had died before the home was whole.
        fs::remove_dir_all(home.join("skills/merge")).unwrap();
        fs::write(home.join("skills/skills.lock.json"), lock.replace("merge", "gone")).unwrap();
        fs::remove_file(home.join(".holon/state/template.json")).unwrap();
    }
    fs::write(one.join("scripts/do.sh"), "false\n").unwrap();
    assert_ne!(kept.hash, world.keep(&named).await.unwrap().hash);
    fs::remove_dir_all(&other).unwrap();
    let problem = world.keep(&named).await.unwrap_err().to_string();
    assert!(problem.contains("the skill") && problem.contains("merge"), "{problem}");
    let remote = list(&[Path::new("https://github.com/somebody/skills/tree/main/sort")]);
    let far = world.template("far", &[("AGENTS.md", "x"), ("skills.json", &remote)]);
    let refused = world.templates.keep(&Selector::Folder(far), Reach::ThisMachine).await.unwrap_err();
    assert!(refused.to_string().contains("only an operator can ask for"), "{refused}");
    let store = world.home.root().join("templates");
    let drafts = store.read_dir().unwrap().map(|entry| entry.unwrap().file_name());
    assert!(drafts.into_iter().all(|name| !name.to_string_lossy().starts_with('.')));
}

/// CX6: what says that a home is whole comes last, and what is in its way is never half done.
#[tokio::test]
async fn a_home_is_called_whole_when_all_of_it_is_there() {
    let world = world();
    let one = skill(world.folder.path(), "sort");
    let list = serde_json::json!({ "skill_refs": [&one] }).to_string();
    let folder = world.template("mine", &[("AGENTS.md", "x"), ("skills.json", &list)]);
    let kept = world.keep(&Selector::Folder(folder)).await.unwrap();
    let agent = AgentId::new("one").unwrap();
    let make = || make_home((&world.templates, &world.home), &agent, Some(&kept), None);
    let copy = world.home.root().join("templates").join(kept.hash.to_string()).join("skills/sort/SKILL.md");
    let text = fs::read(&copy).unwrap();
    fs::remove_file(&copy).unwrap();
    symlink("/nowhere", &copy).unwrap();
    let problem = make().unwrap_err().to_string();
    assert!(problem.contains("the skills in"), "{problem}");
    let home = world.home.agent(&agent);
    assert!(!home.join(".holon/state/template.json").exists(), "it is not whole");
    assert!(!home.join("skills/sort").exists(), "a skill is there whole or not at all");
    fs::remove_file(&copy).unwrap();
    fs::write(&copy, text).unwrap();
    make().unwrap();
    assert!(home.join(".holon/state/template.json").exists());
    assert!(home.join("skills/sort/scripts/do.sh").is_file() && home.join("skills/sort/SKILL.md").is_file());
}
