//! A link that changes places with a folder while a patch is worked out leads out of the root in vain.

use std::sync::atomic::Ordering;
use std::thread;

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::*;

#[test]
fn nothing_is_copied_from_where_a_link_leads_meanwhile() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("file"), "foreign\n").unwrap();
    let place = Place::with(&[("d/file", "own\n")]);
    symlink(outside.path(), place.path("l")).unwrap();
    let over = AtomicBool::new(false);
    let copied = thread::scope(|scope| {
        scope.spawn(|| {
            let (one, other) = (place.path("d"), place.path("l"));
            while !over.load(Ordering::Relaxed) {
                renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).ok();
            }
        });
        let root = place.root();
        let patch = "diff --git a/d/file b/copy\nsimilarity index 100%\ncopy from d/file\ncopy to copy\n";
        let files = parse::parse(patch).unwrap();
        let planned = (0..20_000).filter_map(|_| plan::plan(&root, &files).ok());
        let copies = planned.flat_map(|plan| plan.changes).filter_map(|change| change.after);
        let copied: std::collections::BTreeSet<Vec<u8>> = copies.map(|file| file.bytes).collect();
        over.store(true, Ordering::Relaxed);
        copied
    });
    assert_eq!(copied.into_iter().collect::<Vec<_>>(), [b"own\n".to_vec()]);
}
