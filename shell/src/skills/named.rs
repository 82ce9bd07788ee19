//! Which files of skills a command names: its entrypoint, or a script. Words are taken as a shell would take them, without
//! what it expands; what they name is looked up where the command ran.

use std::mem;
use std::path::Path;

use holon_facts::skill::FILES;
use holon_platform::Environment;

/// Bytes of a command that are looked at.
const BYTES: usize = 64 << 10;
/// Shells within each other.
const DEPTH: u32 = 3;

/// The files of skills that the words of a command name, without links.
pub(crate) fn named(cmd: &str, workdir: &Path, files: &mut Vec<String>) {
    let end = (0..=cmd.len().min(BYTES)).rev().find(|&at| cmd.is_char_boundary(at)).unwrap_or(0);
    let environment = Environment::of_process();
    look(&cmd[..end], (workdir, environment.get("HOME")), DEPTH, files);
}

/// The same of a text for a shell, which runs in that folder and stands for `~` by that other one.
fn look(cmd: &str, (workdir, home): (&Path, Option<&str>), depth: u32, files: &mut Vec<String>) {
    let mut base = workdir.to_owned();
    for command in commands(cmd, home) {
        // Whoever follows a skill goes into its folder first.
        if let Some(folder) = changes_to(&command) {
            base.push(folder);
            continue;
        }
        if let Some(script) = script(&command).filter(|_| depth > 1) {
            look(script, (&base, home), depth - 1, files);
        }
        for word in command.iter().filter(|word| word.contains("SKILL.md") || word.contains("scripts")) {
            let Some(file) = file(&base.join(word)) else { continue };
            if files.len() < FILES && !files.contains(&file) {
                files.push(file);
            }
        }
    }
}

/// The real path of a `SKILL.md`, or of a file below the `scripts` of a folder that has one.
fn file(path: &Path) -> Option<String> {
    let real = path.canonicalize().ok().filter(|real| real.is_file())?;
    let skill = |scripts: &Path| {
        scripts.file_name().is_some_and(|name| name == "scripts")
            && scripts.parent().is_some_and(|folder| folder.join("SKILL.md").is_file())
    };
    let is_entrypoint = real.file_name().is_some_and(|name| name == "SKILL.md");
    let known = is_entrypoint || real.ancestors().skip(1).any(skill);
    known.then(|| real.to_str().map(str::to_owned)).flatten()
}

/// The folder that a command goes into.
fn changes_to(command: &[String]) -> Option<&str> {
    let (name, words) = command.split_first()?;
    let words = if words.first().is_some_and(|word| word == "--") { &words[1..] } else { words };
    match words {
        // What follows is the file of a redirection.
        [folder, ..] if name == "cd" || name == "pushd" => Some(folder),
        [..] => None,
    }
}

/// What a command gives to a shell of its own: `sh -c TEXT`, also behind a program that starts it.
fn script(command: &[String]) -> Option<&str> {
    let is_shell = |word: &String| matches!(word.rsplit('/').next(), Some("sh" | "bash"));
    let options = &command[command.iter().position(is_shell)? + 1..];
    let is_text = |option: &str| option.starts_with('-') && !option.starts_with("--") && option.contains('c');
    let at = options.iter().take_while(|word| word.starts_with('-')).position(|option| is_text(option))?;
    options.get(at + 1).map(String::as_str)
}

/// The words of each simple command. A `~` without quotes that begins a path is the home.
fn commands(cmd: &str, home: Option<&str>) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = cmd.chars().peekable();
    let end = |word: &mut Option<String>, commands: &mut Vec<Vec<String>>| {
        if let (Some(word), Some(last)) = (word.take(), commands.last_mut()) {
            last.push(word);
        }
    };
    while let Some(char) = chars.next() {
        match (quote, char) {
            (Some(open), _) if char == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => match chars.next() {
                Some('\n') | None => {}
                Some(escaped) => word.get_or_insert_default().push(escaped),
            },
            (None, '\n' | ';' | '|' | '&' | '(' | ')' | '{' | '}' | '`') => {
                end(&mut word, &mut commands);
                commands.push(Vec::new());
            }
            // The file of a redirection is a word, too.
            (None, '<' | '>') => end(&mut word, &mut commands),
            (None, _) if char.is_whitespace() => end(&mut word, &mut commands),
            (None, '~') if word.is_none() && chars.peek().is_none_or(|next| "/; &)\n".contains(*next)) => {
                word.get_or_insert_default().push_str(home.unwrap_or("~"));
            }
            (None, '#') if word.is_none() => while chars.next_if(|char| *char != '\n').is_some() {},
            _ => word.get_or_insert_default().push(char),
        }
    }
    end(&mut word, &mut commands);
    commands.retain(|words| !words.is_empty());
    mem::take(&mut commands)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn words_are_those_of_a_shell() {
        let words = |cmd: &str| commands(cmd, Some("/home/ada")).concat();
        assert_eq!(
            words("cat 'a b'/\"c\\\"d\" e\\ f; x=$(cat g)|h <i # j\nk"),
            ["cat", "a b/c\"d", "e f", "x=$", "cat", "g", "h", "i", "k"]
        );
        assert_eq!(words("a 'open"), ["a", "open"]);
        assert!(words("").is_empty() && words("''") == [""]);
        assert_eq!(
            words("cd ~ ; a ~/b '~/c' \"~/d\" \\~/e f~/g ~bob/h"),
            ["cd", "/home/ada", "a", "/home/ada/b", "~/c", "~/d", "~/e", "f~/g", "~bob/h"]
        );
    }

    #[test]
    fn a_command_names_files_by_any_path() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for (path, text) in [
            ("skills/pdf/SKILL.md", ""),
            ("skills/pdf/scripts/deep/fill.py", ""),
            ("skills/pdf/reference.md", ""),
            ("repo/scripts/build.sh", ""),
        ] {
            let file = root.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        std::os::unix::fs::symlink("pdf", root.join("skills/link")).unwrap();
        let named = |cmd: &str| {
            let mut files = Vec::new();
            named(cmd, &root.join("repo"), &mut files);
            let short = |file: &String| file.strip_prefix(root.to_str().unwrap()).unwrap().to_owned();
            files.iter().map(short).collect::<Vec<_>>()
        };
        assert_eq!(
            named("cat ../skills/link/SKILL.md|head; cat ../skills/pdf/SKILL.md"),
            ["/skills/pdf/SKILL.md"]
        );
        assert_eq!(
            named("cd ../skills/pdf && python3 scripts/deep/fill.py x"),
            ["/skills/pdf/scripts/deep/fill.py"]
        );
        assert_eq!(named("python3 $SKILL/scripts/deep/fill.py; cat ../skills/pdf/reference.md"), [""; 0]);
        assert_eq!(named("sh scripts/build.sh; cat ../skills/pdf/scripts SKILL.md"), [""; 0]);
        assert_eq!(named(&"cat ../skills/pdf/SKILL.md ".repeat(10_000)).len(), 1);
        for cmd in [
            "cd -- ../skills/pdf; cat SKILL.md",
            "pushd ../skills/pdf >/dev/null; cat SKILL.md",
            "bash -c 'cat ../skills/pdf/SKILL.md'",
            "timeout 9 /bin/sh -e -uc \"cd ../skills/pdf && sh -c 'cat SKILL.md'\"",
            "bash -c 'cd /'; cat ../skills/pdf/SKILL.md",
        ] {
            assert_eq!(named(cmd), ["/skills/pdf/SKILL.md"], "{cmd}");
        }
        assert_eq!(named("bash --norc '../skills/pdf/none'; cd - ../skills/pdf; cat SKILL.md"), [""; 0]);
        let mut files = Vec::new();
        look("cat ~/skills/pdf/SKILL.md", (Path::new("/"), root.to_str()), DEPTH, &mut files);
        assert_eq!(files, [root.join("skills/pdf/SKILL.md").display().to_string()]);
    }
}
