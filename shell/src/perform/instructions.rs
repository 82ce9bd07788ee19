//! Instruction files, and what they import (contract: context.md, Instructions). Files come from their stable roots only,
//! never from the folder that commands run in.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use holon_facts::content::clip;
use holon_facts::outcome::SourceScope;
use holon_platform::beneath;
use holon_supervise::confine::Readable;
use holon_text::Secrets;

/// Longest part of an instruction file that the model sees, in bytes.
const INSTRUCTION_BYTES: usize = 64 << 10;
/// Longest part of a memory file that the model sees, in characters, and the bytes that are read for it.
const MEMORY_CHARS: usize = 8_000;
const MEMORY_BYTES: usize = 4 * MEMORY_CHARS + 4;
/// Longest part of a file that one of them imports.
const IMPORT_BYTES: usize = 32 << 10;
/// Most bytes of all imports of a turn together.
const IMPORTS_BYTES: usize = 64 << 10;
/// Imports of a turn that are read, or shown with what is wrong with them.
const IMPORTS: usize = 16;
/// Lines of a turn that are looked at, most of which would be names of somebody.
const LINES: usize = 256;
/// Longest part of a name that a note has.
const NAME_BYTES: usize = 200;
/// Longest path that an import names.
const PATH_BYTES: usize = 4_096;

/// An instruction file that is there and can't be read.
#[derive(Debug, thiserror::Error)]
#[error("instructions at {} can't be read: {problem}; repair or remove the file, then try again", path.display())]
pub struct Unreadable {
    path: PathBuf,
    problem: io::Error,
}

/// An instruction file as it was read.
pub(super) struct Source {
    pub(super) scope: SourceScope,
    pub(super) path: PathBuf,
    pub(super) text: String,
    /// Of an import, the file that names it.
    pub(super) imported_by: Option<PathBuf>,
}

/// The instruction files of an agent, each followed by what it imports. An absent file is no instructions.
///
/// Links are followed to what the agent could read itself.
///
/// # Errors
/// A file that is there and can't be read: what it demands must not vanish. A link of the workspace that leads nowhere is
/// shown as one instead.
pub(super) fn read_sources(
    agent_home: &Path,
    anchor: &Path,
    readable: &Readable,
    secrets: &Secrets,
) -> Result<Vec<Source>, Unreadable> {
    let own = agent_home.join("AGENTS.md");
    let mut files = Vec::new();
    if let Some(text) = read(&own, readable, secrets)? {
        files.push((SourceScope::Agent, own.clone(), text));
    }
    for name in ["AGENTS.md", "CLAUDE.md"] {
        let path = anchor.join(name);
        if path == own {
            break;
        }
        match read(&path, readable, secrets) {
            Ok(Some(text)) => {
                files.push((SourceScope::Workspace, path, text));
                break;
            }
            Ok(None) => {}
            // A relative link that is fine in the checkout may lead nowhere in a worktree of it.
            Err(Unreadable { problem, .. }) if is_absent(&problem) => {
                let note = format!("[not shown: {} is a link that leads nowhere]\n", path.display());
                files.push((SourceScope::Workspace, path, note));
            }
            Err(error) => return Err(error),
        }
    }
    // Where nothing is imported, nobody asks which files these are.
    let imports_some = files.iter().any(|(_, _, text)| named(text).next().is_some());
    let known = files.iter().filter(|_| imports_some);
    let mut imports = Imports::beside(known.map(|(_, path, _)| path.as_path()), readable, secrets);
    let mut sources = Vec::new();
    for (scope, path, mut text) in files {
        let imported = imports.of(scope, &path, &mut text)?;
        sources.push(Source { scope, path, text, imported_by: None });
        sources.extend(imported);
    }
    Ok(sources)
}

/// What the agent wrote down for itself, as far as a prompt shows it. A file that is absent or blank is none; one that
/// can't be read shows why: the agent can repair it itself.
pub(super) fn read_memory(agent_home: &Path, secrets: &Secrets) -> Vec<Source> {
    let mut sources = Vec::new();
    for name in ["memory/self.md", "memory/operator.md"] {
        let path = agent_home.join(name);
        let file = beneath::open(agent_home, Path::new(name));
        let text = match file.and_then(|file| read_bounded(file, MEMORY_BYTES, secrets)) {
            Ok(Some(text)) => cut(text, &path, secrets),
            Ok(None) => "[not shown: it is no text file]".to_owned(),
            Err(error) if is_absent(&error) => continue,
            Err(problem) => format!("[not shown: {problem}]"),
        };
        if !text.trim().is_empty() {
            sources.push(Source { scope: SourceScope::Memory, path, text, imported_by: None });
        }
    }
    sources
}

/// The beginning of a memory file, with a line about the rest.
fn cut(text: String, path: &Path, secrets: &Secrets) -> String {
    let Some((end, _)) = text.char_indices().nth(MEMORY_CHARS) else { return text };
    let path = path.display();
    format!(
        "{}\n[… cut here: {path} is longer; the first {MEMORY_CHARS} characters are shown …]",
        secrets.redact_head(&text[..end])
    )
}

fn read(path: &Path, readable: &Readable, secrets: &Secrets) -> Result<Option<String>, Unreadable> {
    match readable.open(path).and_then(|file| read_bounded(file, INSTRUCTION_BYTES, secrets)) {
        Ok(Some(text)) => Ok(Some(text)),
        Ok(None) => Err(unreadable(path, io::Error::other("it is not a text file"))),
        Err(error) if is_absent(&error) && !is_link(path) => Ok(None),
        Err(error) if is_absent(&error) => {
            Err(unreadable(path, io::Error::new(error.kind(), "it is a link that leads nowhere")))
        }
        Err(problem) => Err(unreadable(path, problem)),
    }
}

fn unreadable(path: &Path, problem: io::Error) -> Unreadable {
    Unreadable { path: path.to_owned(), problem }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// A link that leads nowhere is there all the same: somebody means a file by it.
fn is_link(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|about| about.is_symlink())
}

/// The beginning of a file, with a line about the rest. None where it is no text.
///
/// A secret that the cut goes through is left out: the part of it that is shown would be known to nobody as one.
fn read_bounded(file: File, most: usize, secrets: &Secrets) -> io::Result<Option<String>> {
    let about = file.metadata()?;
    let expected = usize::try_from(about.len()).unwrap_or(most).min(most);
    let mut bytes = Vec::with_capacity(expected + 1);
    file.take(most as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.contains(&0) {
        return Ok(None);
    }
    if bytes.len() <= most {
        return Ok(Some(without_mark(&String::from_utf8_lossy(&bytes)).to_owned()));
    }
    let end = (0..=most).rev().find(|&at| bytes[at] & 0xC0 != 0x80).unwrap_or(0);
    let shown = secrets.redact_head(without_mark(&String::from_utf8_lossy(&bytes[..end])));
    let bytes = about.len();
    Ok(Some(format!("{shown}\n[… cut here: the file has {bytes} bytes, the first {end} are shown …]\n")))
}

/// Without the mark that some editors begin a text with: it is no part of the first line.
fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// What a line `@path` comes to.
enum Import {
    /// It means no file, or one that is shown already.
    None,
    Text(String),
    Refused(&'static str),
}

/// What lines `@path` of instruction files come to, once for all files of a turn.
struct Imports<'r> {
    readable: &'r Readable,
    secrets: &'r Secrets,
    /// Files that are shown already, as they really are.
    shown: Vec<PathBuf>,
    lines: usize,
    looked_at: usize,
    bytes: usize,
}

impl<'r> Imports<'r> {
    fn beside<'a>(
        files: impl Iterator<Item = &'a Path>,
        readable: &'r Readable,
        secrets: &'r Secrets,
    ) -> Self {
        let shown = files.filter_map(|path| path.canonicalize().ok()).collect();
        Self { readable, secrets, shown, lines: 0, looked_at: 0, bytes: 0 }
    }

    /// What a file imports, in the order of its lines. What can't be imported is named at its end, with the reason.
    fn of(&mut self, scope: SourceScope, by: &Path, text: &mut String) -> Result<Vec<Source>, Unreadable> {
        let Some(root) = by.parent() else { return Ok(Vec::new()) };
        let (mut imported, mut refused) = (Vec::new(), String::new());
        for named in named(text) {
            if self.looked_at > IMPORTS || self.lines > LINES {
                break;
            }
            self.lines += 1;
            match self.read(root, named)? {
                Import::None => continue,
                Import::Text(text) => {
                    let imported_by = Some(by.to_owned());
                    imported.push(Source { scope, path: root.join(named), text, imported_by });
                }
                Import::Refused(why) => {
                    refused += &format!("\n[not imported: @{}: {why}]", shown_name(named, self.secrets))
                }
            }
            self.looked_at += 1;
        }
        if !refused.is_empty() {
            *text += &(refused + "\n");
        }
        Ok(imported)
    }

    fn read(&mut self, root: &Path, named: &str) -> Result<Import, Unreadable> {
        let refused = |why| Ok(Import::Refused(why));
        if self.looked_at == IMPORTS || self.lines > LINES {
            return refused("there are too many; this one and all below it are left out");
        }
        if named.starts_with(['/', '~']) {
            return refused("only paths relative to this folder are");
        }
        let path = root.join(named);
        let (real, root) = match path.canonicalize().and_then(|real| Ok((real, root.canonicalize()?))) {
            Ok(both) => both,
            Err(error) if is_absent(&error) && (looks_like_a_path(named) || is_link(&path)) => {
                return refused("there is no such file");
            }
            Err(error) if is_absent(&error) || error.kind() == ErrorKind::InvalidFilename => {
                return Ok(Import::None);
            }
            Err(problem) => return Err(unreadable(&path, problem)),
        };
        if !real.starts_with(&root) {
            return refused("it leads out of this folder");
        }
        if self.shown.contains(&real) {
            return Ok(Import::None);
        }
        if !real.is_file() {
            return refused("it is not a regular file");
        }
        let left = IMPORTS_BYTES - self.bytes;
        if left == 0 {
            return refused("all imports together have 64 KiB at most");
        }
        // By where it really is: a link that has come in between could lead out of the folder.
        let most = left.min(IMPORT_BYTES);
        let read = self.readable.open_real(&real).and_then(|file| read_bounded(file, most, self.secrets));
        let Some(text) = read.map_err(|it| unreadable(&real, it))? else {
            return refused("it is not a text file");
        };
        self.bytes += text.len().min(left);
        self.shown.push(real);
        Ok(Import::Text(with_what_is_left_out(text, self.secrets)))
    }
}

/// One level deep alone: so no import leads back, and what it costs can be seen in one file.
fn with_what_is_left_out(mut text: String, secrets: &Secrets) -> String {
    let further = named(&text).filter(|named| looks_like_a_path(named)).take(IMPORTS);
    let further: Vec<String> = further.map(|named| shown_name(named, secrets)).collect();
    if !further.is_empty() {
        let further = further.join(", ");
        text = format!("{text}\n[not imported, because an imported file imports nothing: {further}]\n");
    }
    text
}

/// A name as a note has it.
fn shown_name(named: &str, secrets: &Secrets) -> String {
    clip(&secrets.redact(named), NAME_BYTES)
}

/// What lines outside of code fences name that are nothing but `@path`.
fn named(text: &str) -> impl Iterator<Item = &str> {
    let mut fence: Option<&str> = None;
    text.lines().filter_map(move |line| {
        let line = line.trim();
        let marker = ["```", "~~~"].into_iter().find(|marker| line.starts_with(marker));
        match (fence, marker) {
            (None, Some(_)) => fence = marker,
            (Some(open), Some(marker)) if open == marker => fence = None,
            (Some(_) | None, _) => {}
        }
        let named = line.strip_prefix('@').filter(|_| fence.is_none())?;
        let good = !named.is_empty() && named.len() <= PATH_BYTES && !named.starts_with(['@', ' ']);
        good.then_some(named)
    })
}

/// A line may begin with somebody's name.
fn looks_like_a_path(named: &str) -> bool {
    named.contains(['/', '.']) && !named.contains(char::is_whitespace)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn sources_of(place: &Path) -> Result<Vec<Source>, Unreadable> {
        read_sources(Path::new("/nowhere"), place, &Readable::default(), &Secrets::default())
    }

    /// What a `CLAUDE.md` with these lines comes to: what is added to it, and the imports, by their names.
    fn shown(place: &Path, lines: &str) -> (String, Vec<(String, String)>) {
        fs::write(place.join("CLAUDE.md"), lines).unwrap();
        let sources = sources_of(place).unwrap();
        let one = |source: &Source| {
            assert_eq!(source.imported_by.as_deref(), Some(&*place.join("CLAUDE.md")));
            let path = source.path.strip_prefix(place).unwrap().display().to_string();
            (path, source.text.clone())
        };
        let added = sources[0].text.strip_prefix(lines).unwrap().to_owned();
        (added, sources[1..].iter().map(one).collect())
    }

    fn pair(path: &str, text: &str) -> (String, String) {
        (path.into(), text.into())
    }

    #[test]
    fn imports_are_lines_of_their_own_outside_of_code() {
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("docs")).unwrap();
        fs::write(place.path().join("docs/a b.md"), "spaces\n").unwrap();
        fs::write(place.path().join("rules"), "rules\n").unwrap();
        let lines = "See @rules.\n  @rules  \n@docs/a b.md\n@rules\n@./rules\n```\n@docs/none.md\n~~~\n```\n\
                     @alice\n@alice reads docs/x.md\n@@rules\n@ rules\n@CLAUDE.md\n@docs/none.md\n";
        let (added, imports) = shown(place.path(), lines);
        assert_eq!(imports, [pair("rules", "rules\n"), pair("docs/a b.md", "spaces\n")]);
        assert_eq!(added, "\n[not imported: @docs/none.md: there is no such file]\n");
    }

    #[test]
    fn imports_stay_in_their_folder() {
        let place = tempfile::tempdir().unwrap();
        let (inside, outside) = (place.path().join("inside"), place.path().join("outside.md"));
        fs::create_dir(&inside).unwrap();
        fs::write(&outside, "secret").unwrap();
        fs::write(inside.join("here.md"), "here").unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("out.md")).unwrap();
        std::os::unix::fs::symlink("here.md", inside.join("link.md")).unwrap();
        let lines = "@../outside.md\n@out.md\n@/etc/passwd\n@~/x.md\n@link.md\n@here.md\n";
        let (added, imports) = shown(&inside, lines);
        assert_eq!(imports, [pair("link.md", "here")]);
        for left_out in [
            "@../outside.md: it leads out of this folder]",
            "@out.md: it leads out of this folder]",
            "@/etc/passwd: only paths relative to this folder are]",
            "@~/x.md: only paths relative to this folder are]",
        ] {
            assert!(added.contains(left_out), "{added}");
        }
        std::os::unix::fs::symlink("round.md", inside.join("round.md")).unwrap();
        fs::write(inside.join("CLAUDE.md"), "@round.md\n").unwrap();
        let error = sources_of(&inside).err().expect("a loop of links").to_string();
        assert!(error.contains("round.md can't be read: ") && error.contains("repair or remove"), "{error}");
    }

    #[test]
    fn one_level_deep_and_bounded() {
        let place = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(place.path().join(name), text).unwrap();
        write("a.md", "a\n@b.md\n");
        write("b.md", "b\n@a.md\n");
        write("big1.md", &"1".repeat(10 << 20));
        write("big2.md", &"2".repeat(40_000));
        write("late.md", "late\n");
        write("logo.png", "\u{89}PNG\0");
        let (added, imports) =
            shown(place.path(), "@logo.png\n@.\n@a.md\n@b.md\n@big1.md\n@big2.md\n@late.md\n");
        let texts: Vec<&str> = imports.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(texts[0], "a\n@b.md\n\n[not imported, because an imported file imports nothing: b.md]\n");
        assert!(texts[2].ends_with("the file has 10485760 bytes, the first 32768 are shown …]\n"));
        assert!(
            texts[3].contains("[… cut here: the file has 40000 bytes, the first 32"),
            "{:.200}",
            texts[3]
        );
        assert_eq!(texts.len(), 4);
        assert!(texts.iter().map(|text| text.len()).sum::<usize>() <= IMPORTS_BYTES + 1_000);
        assert_eq!(
            added,
            "\n[not imported: @logo.png: it is not a text file]\n[not imported: @.: it is not a regular file]\n\
             [not imported: @late.md: all imports together have 64 KiB at most]\n"
        );
    }

    #[test]
    fn too_many_are_left_out_in_the_open() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("a.md"), "a\n").unwrap();
        let many: String = (0..300).map(|at| format!("@x/{at}\n")).collect();
        let (added, _) = shown(place.path(), &many);
        assert_eq!(added.matches("[not imported: ").count(), IMPORTS + 1);
        assert!(
            added.contains("@x/16: there are too many; this one and all below it are left out]"),
            "{added}"
        );
        let names: String = (0..300).map(|at| format!("@somebody{at}\n")).collect();
        let (added, imports) = shown(place.path(), &(names + "@a.md\n"));
        assert!(added.contains("@somebody256: there are too many") && imports.is_empty(), "{added}");
    }

    #[test]
    fn a_file_that_is_no_text_is_refused_by_its_path() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("AGENTS.md"), b"\x7fELF\0\0").unwrap();
        let error = sources_of(place.path()).err().expect("a binary").to_string();
        assert!(error.contains("AGENTS.md can't be read: it is not a text file; repair"), "{error}");
    }

    #[test]
    fn a_link_that_leads_nowhere_is_no_absent_file() {
        let place = tempfile::tempdir().unwrap();
        assert!(sources_of(place.path()).unwrap().is_empty());
        let link = place.path().join("AGENTS.md");
        std::os::unix::fs::symlink("rules.md", &link).unwrap();
        let note = format!("[not shown: {} is a link that leads nowhere]\n", link.display());
        let texts = || -> Vec<String> {
            sources_of(place.path()).unwrap().into_iter().map(|source| source.text).collect()
        };
        assert_eq!(texts(), [note.as_str()]);
        fs::write(place.path().join("CLAUDE.md"), "second choice").unwrap();
        assert_eq!(texts(), [note.as_str(), "second choice"]);
        // The agent's own file is not one of a checkout.
        let own =
            read_sources(place.path(), Path::new("/nowhere"), &Readable::default(), &Secrets::default());
        let error = own.err().expect("a link").to_string();
        assert!(
            error.contains("AGENTS.md can't be read: it is a link that leads nowhere; repair"),
            "{error}"
        );
        fs::write(place.path().join("rules.md"), "rules").unwrap();
        assert_eq!(sources_of(place.path()).unwrap()[0].text, "rules");
        std::os::unix::fs::symlink("gone", place.path().join("more")).unwrap();
        fs::write(place.path().join("rules.md"), "@more\n").unwrap();
        let text = sources_of(place.path()).unwrap().remove(0).text;
        assert_eq!(text, "@more\n\n[not imported: @more: there is no such file]\n");
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("rules.md"), "\u{feff}rules\n").unwrap();
        fs::write(place.path().join("CLAUDE.md"), "\u{feff}@rules.md\n").unwrap();
        let texts: Vec<String> =
            sources_of(place.path()).unwrap().into_iter().map(|source| source.text).collect();
        assert_eq!(texts, ["@rules.md\n", "rules\n"]);
    }

    /// Redaction comes later, and would not know a part of a secret.
    #[test]
    fn no_part_of_a_secret_that_a_cut_goes_through_is_shown() {
        const SECRET: &str = "canary-0123456789-0123456789-end";
        const TOKEN: &str = "ghp_0123456789abcdefghijABCDEFGHIJ012345";
        let secrets = Secrets::new([("KEY".to_owned(), SECRET.to_owned())]);
        let place = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("memory")).unwrap();
        for secret in [SECRET, TOKEN] {
            for shown in [5, 20, secret.len() - 1] {
                let write = |name: &str, most: usize| {
                    let text = format!("{} {secret} and more\n", ".".repeat(most - shown - 1));
                    fs::write(place.path().join(name), text).unwrap();
                };
                write("big.md", IMPORT_BYTES);
                fs::write(place.path().join("AGENTS.md"), "@big.md\n").unwrap();
                write("memory/self.md", MEMORY_CHARS);
                let sources =
                    read_sources(Path::new("/nowhere"), place.path(), &Readable::default(), &secrets)
                        .unwrap();
                let mut texts: Vec<String> = sources.into_iter().map(|source| source.text).collect();
                write("AGENTS.md", INSTRUCTION_BYTES);
                texts.extend(read(&place.path().join("AGENTS.md"), &Readable::default(), &secrets).unwrap());
                texts.extend(read_memory(place.path(), &secrets).into_iter().map(|source| source.text));
                assert_eq!(texts.len(), 4);
                for text in &texts[1..] {
                    assert!(text.contains(". \n[… cut here: "), "{shown} of {secret}: {:?}", text.len());
                }
            }
        }
    }
}
