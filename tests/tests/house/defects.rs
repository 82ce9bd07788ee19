//! Planted defects: a promise that a test holds is held only if the test fails where it is broken. Each row is one wrong
//! change of the product, and the test that must notice it.
//!
//! Each run proves that every row still names what is there. `HOLON_DEFECTS=1` plants them one after the other in a copy
//! of the sources, with a target folder of its own: the tests pass without any, and with each its own fails.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Defect {
    /// As `docs/simulation.md` lists it.
    promise: &'static str,
    file: &'static str,
    /// What is there, once.
    was: &'static str,
    is: &'static str,
    /// Package, and the whole name of a test.
    caught_by: (&'static str, &'static str),
}

const DEFECTS: [Defect; 18] = [
    Defect {
        promise: "CX3",
        file: "shell/src/skills/scan.rs",
        was: "    names.sort();\n",
        is: "",
        caught_by: (
            "holon",
            "skills::scan::tests::in_whichever_order_a_disk_lists_them_the_first_by_name_are_looked_at",
        ),
    },
    Defect {
        promise: "CX3",
        file: "shell/src/skills/catalogue.rs",
        was: "(one.scope, one.linked, &one.skill_id).cmp(&(other.scope, other.linked, &other.skill_id))",
        is: "one.scope.cmp(&other.scope)",
        caught_by: (
            "holon",
            "skills::catalogue::tests::in_whichever_order_skills_are_found_the_list_is_the_same",
        ),
    },
    Defect {
        promise: "CX4",
        file: "core/src/agent/apply.rs",
        was: "Event::Skill(fact) => self.skills.apply(fact),",
        is: "Event::Skill(fact) => { self.skills.apply(fact); self.next.turn.0 += 1; }",
        caught_by: (
            "holon-core",
            "handler::skills_tests::activation_changes_no_schedule_no_tool_and_no_authority",
        ),
    },
    Defect {
        promise: "CX6",
        file: "shell/src/templates/apply.rs",
        was: "    copy_skills(&templates.kept(&template.hash).join(SKILLS), &path.join(SKILLS))?;\n",
        is: "    let copied = copy_skills(&templates.kept(&template.hash).join(SKILLS), &path.join(SKILLS));\n    drop(copied);\n",
        caught_by: ("holon", "templates::tests::a_home_is_called_whole_when_all_of_it_is_there"),
    },
    Defect {
        promise: "CX6",
        file: "shell/src/skills/install/mod.rs",
        was: "        copy::copy(&from.join(&name), &folder)?;\n        held.install",
        is: "        copy::copy(&from.join(&name), &to.join(&name))?;\n        copy::copy(&from.join(&name), &folder)?;\n        held.install",
        caught_by: ("holon", "templates::tests::a_home_is_called_whole_when_all_of_it_is_there"),
    },
    Defect {
        promise: "CX6",
        file: "shell/src/templates/store.rs",
        was: "            self.install(named, reach, &root).await?;\n",
        is: "            drop(self.install(named, reach, &root).await);\n",
        caught_by: (
            "holon",
            "templates::tests::skills_of_a_template_come_with_it_and_a_missing_one_leaves_nothing",
        ),
    },
    Defect {
        promise: "CX13",
        file: "shell/src/memory/filler.rs",
        was: "                reached = located.at;\n",
        is: "                reached = last;\n",
        caught_by: (
            "holon",
            "memory::tests::any_interleaving_of_appends_slices_crashes_and_deletions_ends_in_the_same_index",
        ),
    },
    Defect {
        promise: "CX13",
        file: "shell/src/memory/filler.rs",
        was: "    Ok(cursor == 0 || ledger.sum_at(LedgerSeq(cursor))? == Some(mark))\n",
        is: "    Ok(cursor == 0 || ledger.sum_at(LedgerSeq(cursor)).is_ok() || mark == 0)\n",
        caught_by: (
            "holon",
            "memory::tests::the_index_is_deleted_damaged_and_of_another_ledger_and_everything_is_found",
        ),
    },
    Defect {
        promise: "CX14",
        file: "shell/memory/src/store/search.rs",
        was: "format!(\"scope : ({OURS}a{agent}{places})\")",
        is: "format!(\"scope : ({OURS}a{agent})\")",
        caught_by: ("holon-memory", "scope::nothing_is_found_or_opened_outside_of_its_scope"),
    },
    Defect {
        promise: "CX14",
        file: "shell/memory/src/store/read.rs",
        was: "Ok(entry(&self.connection, agent, source_ref)?.map(|(_, entry)| entry))",
        is: "let agents = [agent.clone(), AgentId::new(\"main\").expect(\"a name\")];\n        for agent in &agents { if let Some((_, entry)) = entry(&self.connection, agent, source_ref)? { return Ok(Some(entry)); } }\n        Ok(None)",
        caught_by: ("holon-memory", "scope::nothing_is_found_or_opened_outside_of_its_scope"),
    },
    Defect {
        promise: "CX14",
        file: "shell/memory/src/store/search.rs",
        was: "format!(\"scope : ({OURS}a{agent}{places})\")",
        is: "{ let _ = agent; format!(\"scope : ({OURS}w0{places})\") }",
        caught_by: ("holon-memory", "scope::nothing_is_found_or_opened_outside_of_its_scope"),
    },
    Defect {
        promise: "CX15",
        file: "shell/src/memory/documents.rs",
        was: "        return Ok(of_operator.then(|| (source, Standing::Operator, vec![seq])));\n",
        is: "        return Ok((of_operator || !record.agent.as_str().is_empty()).then(|| (source, Standing::Operator, vec![seq])));\n",
        caught_by: ("holon", "memory::tests::what_others_wrote_is_not_remembered"),
    },
    Defect {
        promise: "E1",
        file: "core/src/handler/turn/model_round.rs",
        was: "Next::Retry { after } => tx.arm(Alarm::Backoff, after),",
        is: "Next::Retry { after } => tx.arm(Alarm::Backoff, holon_facts::time::Millis(after.0 / 2)),",
        caught_by: SWARM,
    },
    Defect {
        promise: "E1",
        file: "core/src/handler/turn/outage.rs",
        was: "tx.arm(Alarm::Backoff, pause);",
        is: "tx.arm(Alarm::Backoff, Millis(pause.0 / 2));",
        caught_by: SWARM,
    },
    Defect {
        promise: "E1",
        file: "core/src/handler/turn/begin.rs",
        was: "tx.arm(Alarm::TurnLimit, tx.env.config.turn.wall_time);",
        is: "tx.arm(Alarm::TurnLimit, Millis(tx.env.config.turn.wall_time.0 / 2));",
        caught_by: SWARM,
    },
    Defect {
        promise: "E1",
        file: "core/src/tx.rs",
        was: "self.alarms.insert(Alarm::Op(op), self.env.mono.after(timeout));",
        is: "self.alarms.insert(Alarm::Op(op), self.env.mono.after(Millis(timeout.0 / 2)));",
        caught_by: SWARM,
    },
    Defect {
        promise: "E1",
        file: "core/src/handler/task/stop.rs",
        was: "Millis(tx.env.config.tasks.stop_grace.0.saturating_add(REPORT.0))",
        is: "Millis((tx.env.config.tasks.stop_grace.0 / 2).saturating_add(REPORT.0))",
        caught_by: SWARM,
    },
    Defect {
        promise: "E1",
        file: "core/src/agent/turn/chain.rs",
        was: "                && attempt.failure_kind != Some(FailureKind::ContextLength)\n",
        is: "",
        caught_by: ("sim", "corpus::each_pinned_scenario_passes"),
    },
];

/// The first 200 seeds.
const SWARM: (&str, &str) = ("sim", "swarm::the_seeds_pass_and_reach_what_they_have_reached_before");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the folder of the project").to_owned()
}

#[test]
fn every_defect_can_still_be_planted() {
    for Defect { promise, file, was, is, caught_by: (package, test) } in &DEFECTS {
        let text = fs::read_to_string(root().join(file)).expect("a source file");
        assert_eq!(text.matches(was).count(), 1, "{promise}: {file} has once\n{was}");
        assert_ne!(was, is);
        let (_, name) = test.rsplit_once("::").expect("a module and a name");
        let folder = match *package {
            "holon" => "shell",
            "holon-core" => "core",
            "holon-memory" => "shell/memory",
            "sim" => "sim/tests",
            other => panic!("no place is known for {other}"),
        };
        assert!(
            sources(&root().join(folder)).iter().any(|text| text.contains(&format!("fn {name}("))),
            "{test}"
        );
    }
}

fn sources(folder: &Path) -> Vec<String> {
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            texts.extend(sources(&path));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            texts.push(fs::read_to_string(path).expect("a source file"));
        }
    }
    texts
}

#[test]
fn every_defect_is_caught() {
    if std::env::var_os("HOLON_DEFECTS").is_none() {
        println!("skipped: HOLON_DEFECTS is not set");
        return;
    }
    let place = root().join("target/defects");
    let copy = place.join("sources");
    if copy.exists() {
        fs::remove_dir_all(&copy).expect("the copy of before");
    }
    fs::create_dir_all(&copy).expect("a folder");
    let archive = Command::new("sh")
        .args(["-c", "git ls-files -z | tar --null -T - -cf - | tar -C \"$0\" -xmf -"])
        .arg(&copy)
        .current_dir(root())
        .status()
        .expect("git and tar");
    assert!(archive.success());
    let run = |(package, test): (&str, &str)| {
        Command::new(env!("CARGO"))
            .args(["test", "--locked", "-p", package])
            .args(match package {
                "holon-memory" => &["--test", "index"][..],
                "sim" => &["--test", "worlds"],
                _ => &["--lib"],
            })
            .args(["--", "--exact", test])
            .env("CARGO_TARGET_DIR", place.join("target"))
            .current_dir(&copy)
            .output()
            .expect("cargo")
    };
    let shown = |output: &Output| {
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    for Defect { caught_by, .. } in &DEFECTS {
        let output = run(*caught_by);
        let text = shown(&output);
        assert!(
            output.status.success() && text.contains("1 passed"),
            "{caught_by:?} without a defect: {text}"
        );
    }
    for Defect { promise, file, was, is, caught_by } in &DEFECTS {
        let path = copy.join(file);
        let text = fs::read_to_string(&path).expect("a source file");
        fs::write(&path, text.replacen(was, is, 1)).expect("a defect");
        let output = run(*caught_by);
        let said = shown(&output);
        fs::write(&path, text).expect("the source as it was");
        let failed = said.contains("test result: FAILED") && !said.contains("could not compile");
        assert!(failed, "{promise} in {file}: {caught_by:?} does not notice it\n{said}");
        println!("{promise} in {file}: caught by {}", caught_by.1);
    }
}
