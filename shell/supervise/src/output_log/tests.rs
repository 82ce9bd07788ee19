use std::fs;
use std::path::{Path, PathBuf};

use holon_text::Secrets;
use proptest::prelude::*;

use super::*;
use crate::Log;
use crate::log_files::{Joined, pieces};

const SECRET: &str = "sk-canary-ß-123456";

fn texts() -> Texts {
    Texts::new(Secrets::new([("KEY".into(), SECRET.into())]), Box::new(|_| Ok(None)))
}

struct Place {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("op_1.log");
    Place { _folder: folder, path }
}

fn written(bytes: &[u8]) -> Place {
    let place = place();
    fs::write(&place.path, bytes).unwrap();
    place
}

/// Everything from `offset` on, in chunks of so many bytes, and how much is lost.
fn followed(path: &Path, mut offset: u64, max: usize, ended: bool) -> (String, u64, u64) {
    let (mut text, mut lost) = (String::new(), 0);
    loop {
        let chunk = from(&texts(), path, offset, max, ended).unwrap();
        assert_eq!(chunk.offset - offset, chunk.lost_bytes);
        assert!(chunk.text.len() <= max + SECRET.len() + "[redacted:KEY]".len() * (max + 1));
        if chunk.next_offset == offset {
            return (text, lost, offset);
        }
        text.push_str(&chunk.text);
        (offset, lost) = (chunk.next_offset, lost + chunk.lost_bytes);
    }
}

/// What is shown before and behind the marker, and how many bytes it counts. None when there is none.
fn head_and_tail(shown: &Preview) -> Option<(&str, u64, &str)> {
    let (head, rest) = shown.text.split_once("… [")?;
    let (missing, tail) = rest.split_once(" bytes left out] …")?;
    Some((head, missing.parse().unwrap(), tail))
}

/// Whether a part of the secret is shown that nothing else could be.
fn tells(text: &str) -> bool {
    let characters: Vec<char> = SECRET.chars().collect();
    characters.windows(5).any(|part| text.contains(&part.iter().collect::<String>()))
}

/// A command can put a link, or a pipe, in the place of a log, of a piece of it, and of the folder.
#[test]
fn what_a_link_leads_to_is_no_output() {
    let foreign = written(b"foreign");
    let place = place();
    let read = |log: &Path| {
        let shown = preview(&texts(), log, 100, true).map(|shown| shown.text);
        assert_eq!(shown.is_ok(), from(&texts(), log, 0, 100, true).is_ok());
        assert_eq!(shown.is_ok(), newest(&texts(), log, 100).is_ok());
        shown.map_err(|problem| problem.to_string())
    };
    std::os::unix::fs::symlink(&foreign.path, &place.path).unwrap();
    assert_eq!(read(&place.path), Err("it is a link".to_owned()));
    assert!(is_there(&place.path));
    let folder = place.path.with_file_name("folder");
    std::os::unix::fs::symlink(foreign.path.parent().unwrap(), &folder).unwrap();
    assert_eq!(read(&folder.join("op_1.log")), Err("it is a link".to_owned()));
    fs::remove_file(&place.path).unwrap();
    assert!(!is_there(&place.path));
    fs::write(&place.path, "own").unwrap();
    assert_eq!(read(&place.path), Ok("own".to_owned()));
    std::os::unix::fs::symlink(&foreign.path, &pieces(&place.path)[0]).unwrap();
    assert_eq!(read(&place.path), Err("it is a link".to_owned()));
    fs::remove_file(&pieces(&place.path)[0]).unwrap();
    fs::remove_file(&place.path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&place.path).status().unwrap().success());
    assert!(read(&place.path).unwrap_err().contains("a pipe"));
}

#[test]
fn short_output_is_shown_whole_and_none_without_a_log() {
    let found = |bytes: &[u8], ended| preview(&texts(), &written(bytes).path, 100, ended).unwrap();
    let whole = found("a\u{e4}\u{20ac} b\n".as_bytes(), true);
    assert_eq!((whole.text.as_str(), whole.truncated, whole.bytes), ("a\u{e4}\u{20ac} b\n", false, 9));
    assert_eq!(found(b"\xFF\xFEx\xE2\x82", true).text, "\u{FFFD}\u{FFFD}x\u{FFFD}");
    assert_eq!(found(b"x\xE2\x82", false).text, "x", "the rest of the character may come");
    let none = preview(&texts(), Path::new("/nowhere/op.log"), 100, false).unwrap();
    assert_eq!(none, Preview::default());
    assert_eq!(from(&texts(), Path::new("/nowhere/op.log"), 0, 10, false).unwrap(), Chunk::default());
    assert!(preview(&texts(), Path::new("/dev/null/op.log"), 100, true).is_err());
}

#[test]
fn long_output_is_head_and_tail_around_a_marker_that_counts() {
    let text = "\u{20ac}uro ".repeat(10_000) + "END";
    let shown = preview(&texts(), &written(text.as_bytes()).path, 1_000, true).unwrap();
    assert!(shown.truncated && shown.bytes == 70_003);
    assert!(shown.text.chars().count() <= 1_000 && shown.text.chars().count() > 960, "{}", shown.text);
    let (head, missing, tail) = head_and_tail(&shown).unwrap();
    assert!(text.starts_with(head) && text.ends_with(tail) && tail.ends_with("END"));
    assert_eq!((head.len() + tail.len()) as u64 + missing, shown.bytes);
}

#[test]
fn the_end_of_an_output_that_goes_on_shows_no_part_of_a_secret() {
    let shown =
        |text: &str, characters| newest(&texts(), &written(text.as_bytes()).path, characters).unwrap();
    assert_eq!(shown("one\ntwo\n", 100), "one\ntwo\n");
    assert_eq!(shown("one\ntwo\n", 4), "two\n");
    assert_eq!(newest(&texts(), Path::new("/nowhere/op.log"), 10).unwrap(), "");
    for end in 0..=SECRET.chars().count() {
        let begun: String = SECRET.chars().take(end).collect();
        let text = shown(&format!("{}{begun}", "x".repeat(200)), 40);
        assert!(!tells(&text) && text.chars().count() <= 40, "{end}: {text}");
    }
}

/// Wherever a cut falls, and whatever is beyond it.
#[test]
fn no_cut_shows_a_part_of_a_secret() {
    let place = place();
    for at in 0..60 {
        let text = format!("{}{SECRET}{}{SECRET}{}", "x".repeat(at), "y".repeat(500), "z".repeat(60 - at));
        fs::write(&place.path, &text).unwrap();
        for characters in [0, 60, 100, 120, 140, 160, 200] {
            let shown = preview(&texts(), &place.path, characters, true).unwrap();
            assert!(!tells(&shown.text), "{at} {characters}: {}", shown.text);
            assert!(shown.text.chars().count() <= characters.max(MARKER), "{}", shown.text);
        }
        for offset in at..at + SECRET.len() {
            let chunk = from(&texts(), &place.path, offset as u64, 40, true).unwrap();
            assert!(!tells(&chunk.text), "{at} {offset}: {}", chunk.text);
        }
    }
}

#[test]
fn what_may_become_a_secret_waits_until_it_is_known() {
    let place = written(b"yes");
    let live = |offset, ended| from(&texts(), &place.path, offset, 100, ended).unwrap();
    assert_eq!((live(0, false).text.as_str(), live(0, false).next_offset), ("ye", 2));
    assert_eq!((live(0, true).text.as_str(), live(2, false).text.as_str()), ("yes", ""));
    assert_eq!(preview(&texts(), &place.path, 100, false).unwrap().text, "ye");
    fs::write(&place.path, format!("ye{SECRET}!")).unwrap();
    assert_eq!(live(2, false).text, "[redacted:KEY]!");
    // In the middle of it: what follows is known to be the rest.
    assert_eq!(live(7, false).text, "[redacted:KEY]!");
    assert_eq!(live(100, true), Chunk { offset: 100, next_offset: 100, ..Chunk::default() });
}

/// The whole of a log is never read: this one would not fit into memory.
#[test]
fn only_what_is_shown_is_read() {
    let place = place();
    let file = fs::File::create(&place.path).unwrap();
    file.set_len(1 << 40).unwrap();
    let shown = preview(&texts(), &place.path, 8_000, true).unwrap();
    assert!(shown.truncated && shown.bytes == 1 << 40 && shown.text.contains("1099511619828 bytes left out"));
    let chunk = from(&texts(), &place.path, 1 << 39, usize::MAX, true).unwrap();
    assert_eq!((chunk.text.len(), chunk.next_offset), (CHUNK, (1 << 39) + CHUNK as u64));
}

/// Secrets and characters lie across every step, and what is shown is what redaction makes of the whole.
#[test]
fn what_is_read_in_steps_is_as_if_it_were_read_at_once() {
    for shift in (0..SECRET.len()).step_by(5) {
        let text = format!("{}{}", "x".repeat(shift), format!("{SECRET}€uro").repeat(6_000));
        let place = written(text.as_bytes());
        let redacted = texts().redact(&text);
        let whole = preview(&texts(), &place.path, redacted.chars().count(), true).unwrap();
        assert!(!whole.truncated && whole.text == redacted);
        for characters in [redacted.chars().count() - 1, 100_000 + shift] {
            let shown = preview(&texts(), &place.path, characters, true).unwrap();
            assert!(
                shown.truncated
                    && (characters - 2 * MARKER..=characters).contains(&shown.text.chars().count())
            );
            let (head, missing, tail) = head_and_tail(&shown).unwrap();
            assert!(redacted.starts_with(head) && redacted.ends_with(tail));
            let middle = &redacted[head.len()..redacted.len() - tail.len()];
            let missing_text = middle.replace("[redacted:KEY]", SECRET);
            assert_eq!(missing_text.len() as u64, missing);
        }
    }
}

#[test]
fn a_preview_has_its_bound_whatever_is_asked_for() {
    let text = "x".repeat(PREVIEW * 3);
    let shown = preview(&texts(), &written(text.as_bytes()).path, usize::MAX, true).unwrap();
    assert!(shown.truncated && (PREVIEW - MARKER..=PREVIEW).contains(&shown.text.chars().count()));
}

/// While it is written, in the middle of being joined, and afterwards.
#[test]
fn past_its_bound_a_log_reads_the_same_in_every_state() {
    let place = place();
    let mut log = Log::new(&place.path, 2_000);
    let mut offset = 0;
    let mut seen = String::new();
    for number in 0..1_000 {
        log.push(format!("{number:09}\n").as_bytes());
        let chunk = from(&texts(), &place.path, offset, 100, false).unwrap();
        assert_eq!(chunk.lost_bytes, 0, "who keeps up loses nothing");
        (offset, seen) = (chunk.next_offset, seen + &chunk.text);
    }
    let all: String = (0..1_000).map(|number| format!("{number:09}\n")).collect();
    assert_eq!(seen, all);
    let states = |place: &Place| {
        let shown = preview(&texts(), &place.path, 300, true).unwrap();
        (shown, [1, 7, 64, 5_000].map(|max| followed(&place.path, 0, max, true)))
    };
    let live = states(&place);
    assert!(live.0.text.starts_with("000000000\n") && live.0.text.ends_with("000000999\n"), "{:?}", live.0);
    let (text, lost, end) = &live.1[0];
    assert_eq!((text.len() as u64 + lost, *end), (10_000, 10_000));
    assert!(text.ends_with("000000999\n") && text.starts_with(&all[..1_000]));
    let asked_for_lost = from(&texts(), &place.path, 2_000, 10, true).unwrap();
    assert_eq!(asked_for_lost.lost_bytes, asked_for_lost.offset - 2_000);

    // A joining that was cut short: the log has more than its head, the pieces are still there.
    let beside = pieces(&place.path).map(|piece| fs::read(piece).unwrap());
    assert_eq!(log.finish(), None);
    let joined = states(&place);
    assert_eq!(joined, live);
    for (piece, bytes) in pieces(&place.path).iter().zip(beside) {
        fs::write(piece, bytes).unwrap();
    }
    assert_eq!(states(&place), live, "put together, the pieces are not gone yet");
    fs::remove_file(place.path.with_extension("log.joined")).unwrap();
    assert_eq!(Joined::read(&place.path).unwrap(), None);
    assert_eq!(states(&place), live, "put together, nobody knows yet");
    remove(&place.path).unwrap();
    assert_eq!(preview(&texts(), &place.path, 300, true).unwrap().bytes, 0);
}

/// A disk that was full just then leaves such a one.
#[test]
fn a_piece_without_a_head_hides_nothing() {
    let place = written(b"everything\n");
    fs::write(&pieces(&place.path)[0], "").unwrap();
    assert_eq!(preview(&texts(), &place.path, 100, true).unwrap().text, "everything\n");
    assert_eq!(from(&texts(), &place.path, 4, 100, true).unwrap().text, "ything\n");
}

#[test]
fn a_secret_that_a_gap_goes_through_is_not_shown() {
    for shift in 0..40 {
        let place = place();
        let mut log = Log::new(&place.path, 1_024);
        log.push("x".repeat(490 + shift % 20).as_bytes());
        for _ in 0..100 {
            log.push(SECRET.as_bytes());
        }
        log.push(&vec![b'y'; 200 + shift]);
        for max in [1, 10, 1_000] {
            let (text, lost, end) = followed(&place.path, 0, max, true);
            assert!(!tells(&text), "{shift} {max}: {text}");
            assert!(lost > 0 && end > 2_000);
        }
        let shown = preview(&texts(), &place.path, 1_024, true).unwrap();
        assert!(!tells(&shown.text), "{}", shown.text);
        assert_eq!(log.finish(), None);
        assert_eq!(preview(&texts(), &place.path, 1_024, true).unwrap(), shown);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// However it comes and is asked for, a follower gets what redaction makes of the whole.
    #[test]
    fn chunks_are_the_whole_in_pieces(
        words in proptest::collection::vec(
            prop_oneof![
                Just(SECRET), Just("sk-can"), Just("\u{20ac}\u{e4}"), Just("plain text\n"), Just("s"), Just("56")
            ],
            0..40,
        ),
        max in 1_usize..80,
        cuts in proptest::collection::vec(0_usize..600, 0..6),
    ) {
        let all = words.concat();
        let place = place();
        let (mut seen, mut offset) = (String::new(), 0);
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut < all.len()).collect();
        cuts.sort_unstable();
        for cut in cuts {
            fs::write(&place.path, &all.as_bytes()[..cut]).unwrap();
            let (text, lost, end) = followed(&place.path, offset, max, false);
            prop_assert_eq!(lost, 0);
            (seen, offset) = (seen + &text, end);
        }
        fs::write(&place.path, &all).unwrap();
        let (text, _, end) = followed(&place.path, offset, max, true);
        prop_assert_eq!(end, all.len() as u64);
        prop_assert_eq!(seen + &text, texts().redact(&all));
        let shown = preview(&texts(), &place.path, 200, true).unwrap();
        // The words themselves have its beginning and its end, the marker has a number.
        let (head, tail) = head_and_tail(&shown).map_or((shown.text.as_str(), ""), |(head, _, tail)| (head, tail));
        let told = ["nar", "ary", "-12", "234"].iter().any(|part| head.contains(part) || tail.contains(part));
        prop_assert!(!told, "{}", shown.text);
    }
}
