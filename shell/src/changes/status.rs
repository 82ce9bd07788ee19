//! What `git status --porcelain=v2 -z` prints.

use std::collections::BTreeSet;
use std::path::Path;

/// A repository at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Status {
    /// The last commit; none before the first.
    pub(super) head: Option<String>,
    /// Paths from the top of the repository: modified, new, deleted, untracked, in conflict.
    pub(super) dirty: BTreeSet<String>,
}

/// Reads the whole of it; a line of an unknown kind is an error, since its file would be missing.
pub(super) fn parse(printed: &[u8]) -> Result<Status, String> {
    let mut status = Status::default();
    let mut entries = printed.split(|byte| *byte == 0).filter(|entry| !entry.is_empty());
    while let Some(entry) = entries.next() {
        let entry = String::from_utf8_lossy(entry);
        let (kind, rest) = entry.split_once(' ').unwrap_or((&entry, ""));
        // A path is the last field; it may hold spaces.
        let path = |fields: usize| rest.splitn(fields + 1, ' ').nth(fields).map(str::to_owned);
        let dirty = match kind {
            "#" => {
                if let Some(head) = rest.strip_prefix("branch.oid ") {
                    status.head = Some(head.to_owned()).filter(|head| head != "(initial)");
                }
                continue;
            }
            "1" => path(7),
            "u" => path(9),
            "2" => {
                // The name before a rename follows by itself.
                let before = entries.next().map(|name| String::from_utf8_lossy(name).into_owned());
                status.dirty.extend(before);
                path(8)
            }
            "?" | "!" => path(0),
            _ => None,
        };
        status.dirty.insert(dirty.ok_or_else(|| format!("git status printed {entry:?}"))?);
    }
    Ok(status)
}

/// Names that end with a zero byte each.
pub(super) fn names(printed: &[u8]) -> BTreeSet<String> {
    let names = printed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

/// A path of the repository as it is named from a folder inside it.
pub(super) fn relative(inside: &Path, path: &str) -> String {
    let mut folder: Vec<&str> = inside.iter().filter_map(|part| part.to_str()).collect();
    let mut parts: Vec<&str> = path.split('/').collect();
    while parts.len() > 1 && folder.first() == parts.first() && !folder.is_empty() {
        folder.remove(0);
        parts.remove(0);
    }
    let up = folder.iter().map(|_| "..");
    up.chain(parts).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_entry() {
        let printed = b"# branch.oid 1234\0# branch.head main\0\
            1 .M N... 100644 100644 100644 aa bb a file.txt\0\
            1 D. N... 100644 000000 000000 aa bb gone\0\
            2 R. N... 100644 100644 100644 aa bb R100 new name\0old name\0\
            u UU N... 100644 100644 100644 100644 aa bb cc conflict\0\
            ? sub/un tracked\0";
        let status = parse(printed).unwrap();
        assert_eq!(status.head.as_deref(), Some("1234"));
        let dirty: Vec<&str> = status.dirty.iter().map(String::as_str).collect();
        assert_eq!(dirty, ["a file.txt", "conflict", "gone", "new name", "old name", "sub/un tracked"]);
        assert_eq!(parse(b"# branch.oid (initial)\0").unwrap(), Status::default());
        assert!(parse(b"x what is this\0").unwrap_err().contains("what is this"));
        assert!(parse(b"1 .M short\0").is_err());
    }

    #[test]
    fn paths_seen_from_a_folder() {
        let from = |folder: &str, path: &str| relative(Path::new(folder), path);
        assert_eq!(from("", "a/b"), "a/b");
        assert_eq!(from("a", "a/b/c"), "b/c");
        assert_eq!(from("a/b", "a/c"), "../c");
        assert_eq!(from("a/b", "x"), "../../x");
        assert_eq!(from("a", "a"), "../a", "a file in place of the folder");
    }
}
