//! Coverage of the core by files, as `cargo llvm-cov --json` writes it.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Where the core's sources lie.
const SOURCES: &str = "core/src/";

/// The files of the core, by their path below `core/src/`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Coverage {
    pub files: BTreeMap<String, Part>,
}

/// How many regions there are, and how many were entered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub struct Part {
    pub count: u64,
    pub covered: u64,
}

impl Part {
    pub fn per_mille(self) -> u64 {
        self.covered * 1_000 / self.count.max(1)
    }
}

#[derive(Deserialize)]
struct Export {
    data: Vec<Data>,
}

#[derive(Deserialize)]
struct Data {
    files: Vec<File>,
}

#[derive(Deserialize)]
struct File {
    filename: String,
    summary: Summary,
}

#[derive(Deserialize)]
struct Summary {
    regions: Part,
}

impl Coverage {
    /// # Errors
    /// When the text is no export, has no file of the core, or has one twice: then binaries of two checkouts were
    /// counted together, and one of them did not run.
    pub fn from_text(text: &str) -> Result<Self, String> {
        let export: Export = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let mut files = BTreeMap::new();
        for file in export.data.into_iter().flat_map(|data| data.files) {
            let name = file.filename.replace('\\', "/");
            if let Some(at) = name.rfind(SOURCES) {
                let below = name[at + SOURCES.len()..].to_owned();
                if files.insert(below, file.summary.regions).is_some() {
                    return Err(format!(
                        "{name} is in there twice, from two checkouts: run `cargo llvm-cov clean` and measure again"
                    ));
                }
            }
        }
        if files.is_empty() {
            return Err(format!("no file below {SOURCES} is in there"));
        }
        Ok(Self { files })
    }

    /// Laws and the replay of recorded ledgers check the rest, so they are counted apart.
    pub fn groups(&self) -> BTreeMap<&'static str, Part> {
        let mut groups: BTreeMap<&'static str, Part> = BTreeMap::new();
        for (name, part) in &self.files {
            let judges = ["law/", "replay/"].iter().any(|folder| name.starts_with(folder));
            let group = groups.entry(if judges { "judges" } else { "core" }).or_default();
            group.count += part.count;
            group.covered += part.covered;
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_export_is_read_by_files_and_groups() {
        let file = |name: &str, count: u64, covered: u64| {
            format!(
                r#"{{"filename":"/a/core/src/b/{name}","summary":{{"lines":{{}},"regions":{{"count":{count},
                "covered":{covered},"notcovered":1,"percent":1.0}}}}}}"#
            )
        };
        let files =
            [file("core/src/law/mod.rs", 10, 9), file("core/src/retry.rs", 20, 20), file("x.rs", 3, 0)];
        let text = format!(r#"{{"data":[{{"files":[{}],"totals":{{}}}}],"version":"2"}}"#, files.join(","));
        let coverage = Coverage::from_text(&text).unwrap();
        assert_eq!(coverage.files["retry.rs"], Part { count: 20, covered: 20 });
        let groups: Vec<(&str, u64)> =
            coverage.groups().into_iter().map(|(name, part)| (name, part.per_mille())).collect();
        assert_eq!(groups, [("core", 869), ("judges", 900)]);
        assert!(Coverage::from_text(r#"{"data":[]}"#).is_err());
        assert!(Coverage::from_text("{}").is_err());
        let twice = [file("core/src/retry.rs", 20, 20), file("other/core/src/retry.rs", 20, 0)].join(",");
        let refused = Coverage::from_text(&format!(r#"{{"data":[{{"files":[{twice}]}}]}}"#)).unwrap_err();
        assert!(refused.contains("twice"), "{refused}");
    }
}
