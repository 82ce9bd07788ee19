//! Patches near to those that models write: each is applied or refused, and reaches nothing outside its folder.

use std::panic::{AssertUnwindSafe, catch_unwind};

use holon_fuzz::Corpus;

use super::*;

#[test]
fn patches_near_to_good_ones_are_applied_or_refused() {
    let outer = tempfile::tempdir().unwrap();
    fs::write(outer.path().join("outside.txt"), ONE).unwrap();
    let folder = outer.path().join("root");
    let fill = || {
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(folder.join("sub")).unwrap();
        fs::write(folder.join("a.txt"), ONE).unwrap();
        fs::write(folder.join("sub/b.txt"), "alpha\nbeta\n").unwrap();
        fs::write(folder.join("run.sh"), "echo one\n").unwrap();
        fs::set_permissions(folder.join("run.sh"), PermissionsExt::from_mode(0o755)).unwrap();
        symlink(outer.path().join("outside.txt"), folder.join("link")).unwrap();
    };
    let listed = |folder: &Path| {
        let mut all = Vec::new();
        list(folder, folder, &mut all);
        all.sort();
        all
    };
    fill();
    let (begun, outside) = (listed(&folder), fs::read_dir(outer.path()).unwrap().count());
    Corpus::of("patches", &[]).each(600, |input| {
        fill();
        // What one input leaves is not the next one's fault.
        let journals = tempfile::tempdir().unwrap();
        let root = Root::open(&folder.display().to_string(), false).unwrap();
        let patch = String::from_utf8_lossy(input);
        let applied = catch_unwind(AssertUnwindSafe(|| {
            apply(&root, &patch, journals.path(), &AtomicBool::new(false), false).is_ok()
        }));
        let applied = applied.map_err(|_| "it panicked")?;
        let there = listed(&folder);
        if !applied && there != begun {
            return Err("it was refused, and files have changed".into());
        }
        let untouched = fs::read_to_string(outer.path().join("outside.txt")).is_ok_and(|text| text == ONE);
        if !untouched || fs::read_dir(outer.path()).unwrap().count() != outside {
            return Err("something outside the folder has changed".into());
        }
        match fs::read_dir(journals.path()).unwrap().count() {
            0 => Ok(()),
            _ => Err("a journal stayed".into()),
        }
    });
}
