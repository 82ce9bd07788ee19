//! Where a skill comes from, as somebody writes it.

use std::fmt;
use std::path::{Component, Path, PathBuf};

use url::Url;

use super::InstallError;

const GITHUB: &str = "https://github.com/";
/// Longest address.
const BYTES: usize = 4_096;

/// A folder, or a part of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Folder(PathBuf),
    Git(Remote),
}

/// A part of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    /// As it was written, for people and for the lock file.
    pub named: String,
    /// What git is given.
    pub url: String,
    /// The names of branches, tags or commits that may be meant, each with the path that follows; the first that is there
    /// counts. A branch may have a slash in its name.
    pub candidates: Vec<(String, String)>,
}

impl Source {
    /// Reads `FOLDER`, `https://github.com/OWNER/REPO[/tree/REF[/PATH]]`, or the address of a repository with `#REF[:PATH]`.
    /// A relative folder is taken from `cwd`.
    ///
    /// # Errors
    /// What is neither, in words.
    pub fn parse(text: &str, cwd: Option<&Path>, github_url: &str) -> Result<Self, InstallError> {
        let invalid =
            |problem: &str| Err(InstallError::Source { named: shown(text), problem: problem.to_owned() });
        if text.is_empty() || text.len() > BYTES || text.contains(char::is_control) {
            return invalid("it is empty, too long, or has control characters");
        }
        if text.starts_with('-') {
            return invalid("it begins with a hyphen");
        }
        if let Some(rest) = text.strip_prefix(GITHUB) {
            return github(text, rest, github_url);
        }
        if !is_remote(text) {
            let path = Path::new(text);
            return match (path.is_absolute(), cwd) {
                (true, _) => Ok(Self::Folder(path.to_owned())),
                (false, Some(cwd)) => Ok(Self::Folder(cwd.join(path))),
                (false, None) => invalid("a folder has to be named by its absolute path"),
            };
        }
        let (url, rest) = text.split_once('#').unwrap_or((text, ""));
        let (reference, path) = rest.split_once(':').unwrap_or((rest, ""));
        let reference = if reference.is_empty() { "HEAD" } else { reference };
        if !is_reference(reference) || !is_inside(path) {
            return invalid("what follows # is no REF or REF:PATH");
        }
        if let Ok(parsed) = Url::parse(url)
            && (parsed.password().is_some()
                || (parsed.scheme().starts_with("http") && !parsed.username().is_empty()))
        {
            return invalid("it has a name or a password in it, which would be kept in the lock file");
        }
        let candidates = vec![(reference.to_owned(), path.trim_end_matches('/').to_owned())];
        Ok(Self::Git(Remote { named: text.to_owned(), url: url.to_owned(), candidates }))
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => write!(f, "{}", folder.display()),
            Self::Git(remote) => f.write_str(&remote.named),
        }
    }
}

fn github(text: &str, rest: &str, base: &str) -> Result<Source, InstallError> {
    let invalid =
        |problem: &str| Err(InstallError::Source { named: shown(text), problem: problem.to_owned() });
    let rest = rest.split(['?', '#']).next().unwrap_or(rest);
    let parts: Vec<&str> = rest.trim_end_matches('/').split('/').collect();
    let [owner, repository, further @ ..] = &parts[..] else {
        return invalid("expected https://github.com/OWNER/REPO/tree/REF/PATH");
    };
    let repository = repository.strip_suffix(".git").unwrap_or(repository);
    let plain = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['-', '.'])
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    if !plain(owner) || !plain(repository) || !is_inside(&parts.join("/")) {
        return invalid("expected https://github.com/OWNER/REPO/tree/REF/PATH");
    }
    let candidates = match further {
        [] => vec![("HEAD".to_owned(), String::new())],
        ["tree", named @ ..] if !named.is_empty() => {
            let split = |at: usize| (named[..at].join("/"), named[at..].join("/"));
            (1..=named.len().min(4)).map(split).filter(|(reference, _)| is_reference(reference)).collect()
        }
        _ => {
            return invalid(
                "only addresses of folders are taken: https://github.com/OWNER/REPO/tree/REF/PATH",
            );
        }
    };
    let url = format!("{}/{owner}/{repository}.git", base.trim_end_matches('/'));
    Ok(Source::Git(Remote { named: text.to_owned(), url, candidates }))
}

/// Addresses with a scheme, and `user@host:path`.
fn is_remote(text: &str) -> bool {
    let known = ["https://", "http://", "ssh://", "git://", "file://"];
    let before = text.split('/').next().unwrap_or(text);
    known.iter().any(|scheme| text.starts_with(scheme)) || (before.contains('@') && before.contains(':'))
}

/// Whether git can take it for a name and for nothing else.
fn is_reference(text: &str) -> bool {
    let fits = |char: char| char.is_ascii_alphanumeric() || "-_./+".contains(char);
    (1..=200).contains(&text.len())
        && text.chars().all(fits)
        && !text.starts_with(['-', '/', '.'])
        && !text.ends_with(['/', '.'])
        && !text.contains("..")
        && !text.contains("//")
}

/// Whether a path leads to something inside, and not into git's own folder.
pub(super) fn is_inside(path: &str) -> bool {
    let plain = |part: Component<'_>| match part {
        Component::Normal(name) => !name.eq_ignore_ascii_case(".git"),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => false,
    };
    !path.starts_with('-') && Path::new(path).components().all(plain)
}

fn shown(text: &str) -> String {
    holon_facts::content::clip(&text.replace(char::is_control, " "), 200)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Source, String> {
        Source::parse(text, Some(Path::new("/work")), "file:///srv/hub/").map_err(|error| error.to_string())
    }

    fn git(url: &str, candidates: &[(&str, &str)], named: &str) -> Source {
        let candidates =
            candidates.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned())).collect();
        Source::Git(Remote { named: named.to_owned(), url: url.to_owned(), candidates })
    }

    #[test]
    fn folders_and_repositories() {
        assert_eq!(parse("skills/pdf"), Ok(Source::Folder("/work/skills/pdf".into())));
        assert_eq!(parse("/abs"), Ok(Source::Folder("/abs".into())));
        let named = "https://github.com/anthropics/skills/tree/main/skills/pdf";
        let candidates = [("main", "skills/pdf"), ("main/skills", "pdf"), ("main/skills/pdf", "")];
        assert_eq!(parse(named), Ok(git("file:///srv/hub/anthropics/skills.git", &candidates, named)));
        let named = "https://github.com/a/b/";
        assert_eq!(parse(named), Ok(git("file:///srv/hub/a/b.git", &[("HEAD", "")], named)));
        let named = "git@host:team/skills.git#v1:skills/pdf";
        assert_eq!(parse(named), Ok(git("git@host:team/skills.git", &[("v1", "skills/pdf")], named)));
        let named = "https://host/skills.git";
        assert_eq!(parse(named), Ok(git(named, &[("HEAD", "")], named)));
    }

    #[test]
    fn what_is_neither_is_refused() {
        for bad in [
            "",
            "-x",
            "a\nb",
            "--upload-pack=touch",
            "https://github.com/a",
            "https://github.com/a/b/blob/main/SKILL.md",
            "https://github.com/a/b/tree",
            "https://github.com/a/b/tree/main/../../x",
            "https://github.com/-a/b",
            "https://host/x.git#-r",
            "https://host/x.git#main:../x",
            "https://host/x.git#main:/etc",
            "https://host/x.git#main:.git/hooks",
            "https://user:secret@host/x.git",
            "https://user@host/x.git",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
        assert!(Source::parse("relative", None, "https://github.com").is_err());
    }
}
