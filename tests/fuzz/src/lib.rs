//! Inputs near to those of a corpus: files below `fixtures/` as they are, and then with some bytes changed. For whatever reads
//! what others write: it may refuse anything, and end at nothing.
//!
//! One seed gives the same inputs each time. `HOLON_FUZZ_SEED=7` takes others, `HOLON_FUZZ_TIMES=100` a hundred times as
//! many, and `HOLON_FUZZ_MINUTES=60` goes on with the next seeds for an hour. An input that breaks something is made as small as it goes and written into the corpus, where every run tries it
//! from then on: it is kept together with what mends it.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

/// Bytes of an input at most.
const LONGEST: usize = 1 << 20;
/// Attempts at making a failing input smaller.
const SHRINKS: u32 = 2_000;

/// What means something to one reader or another.
const WORDS: [&str; 32] = [
    "-1",
    "0",
    "18446744073709551616",
    "1e999",
    "null",
    "true",
    "\"\"",
    "{}",
    "[]",
    "[",
    "{\"a\":",
    "\\u0000",
    "\\ud800",
    "\"",
    "\\",
    "\u{feff}",
    "\r\n",
    "\n\n",
    "data: ",
    "event: ",
    "[DONE]",
    "---\n",
    "+++ ",
    "@@ -0,0 +1 @@\n",
    "*** ",
    "../",
    "/",
    "\0",
    "\u{1f600}",
    ": ",
    "- ",
    "&a *a ",
];

/// One change of an input.
#[derive(Debug, Clone)]
enum Edit {
    Flip {
        at: Index,
        bits: u8,
    },
    Word {
        at: Index,
        word: &'static str,
    },
    Insert {
        at: Index,
        bytes: Vec<u8>,
    },
    Remove {
        at: Index,
        len: usize,
    },
    Repeat {
        at: Index,
        len: usize,
        times: usize,
    },
    /// A part of another file of the corpus.
    Splice {
        at: Index,
        file: Index,
        from: Index,
        len: usize,
    },
}

fn edit() -> impl Strategy<Value = Edit> {
    let at = any::<Index>;
    prop_oneof![
        (at(), 1_u8..).prop_map(|(at, bits)| Edit::Flip { at, bits }),
        (at(), prop::sample::select(&WORDS[..])).prop_map(|(at, word)| Edit::Word { at, word }),
        (at(), prop::collection::vec(any::<u8>(), 1..9)).prop_map(|(at, bytes)| Edit::Insert { at, bytes }),
        (at(), 1_usize..200).prop_map(|(at, len)| Edit::Remove { at, len }),
        (at(), 1_usize..40, 2_usize..2_000).prop_map(|(at, len, times)| Edit::Repeat { at, len, times }),
        (at(), at(), at(), 1_usize..200).prop_map(|(at, file, from, len)| Edit::Splice {
            at,
            file,
            from,
            len
        }),
    ]
}

impl Edit {
    fn apply(&self, bytes: &mut Vec<u8>, corpus: &[Vec<u8>]) {
        let place = |at: &Index, bytes: &[u8]| at.index(bytes.len() + 1);
        let insert = |bytes: &mut Vec<u8>, at: &Index, piece: &[u8]| {
            let at = place(at, bytes);
            bytes.splice(at..at, piece.iter().copied());
        };
        match self {
            Self::Flip { at, bits } => {
                let at = place(at, bytes);
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= bits;
                }
            }
            Self::Word { at, word } => insert(bytes, at, word.as_bytes()),
            Self::Insert { at, bytes: piece } => insert(bytes, at, piece),
            Self::Remove { at, len } => {
                let at = place(at, bytes);
                bytes.drain(at..(at + len).min(bytes.len()));
            }
            Self::Repeat { at, len, times } => {
                let from = place(at, bytes);
                let piece = bytes[from..(from + len).min(bytes.len())].repeat(*times);
                bytes.splice(from..from, piece);
            }
            Self::Splice { at, file, from, len } => {
                let other = &corpus[file.index(corpus.len())];
                let from = place(from, other);
                let piece = other[from..(from + len).min(other.len())].to_vec();
                insert(bytes, at, &piece);
            }
        }
        bytes.truncate(LONGEST);
    }
}

/// The files of one subject.
#[derive(Debug)]
pub struct Corpus {
    subject: String,
    files: Vec<Vec<u8>>,
}

impl Corpus {
    /// The files of `fixtures/corpus/<subject>`, and those of other folders below `fixtures/` whose paths end like that.
    ///
    /// # Panics
    /// When there is none, or one can't be read.
    #[must_use]
    pub fn of(subject: &str, others: &[(&str, &str)]) -> Self {
        let mut paths = Vec::new();
        below(&fixtures().join("corpus").join(subject), &mut paths);
        for (folder, ending) in others {
            let mut found = Vec::new();
            below(&fixtures().join(folder), &mut found);
            paths.extend(found.into_iter().filter(|path| path.to_string_lossy().ends_with(ending)));
        }
        let files: Vec<Vec<u8>> = paths.iter().map(|path| read(path)).collect();
        assert!(!files.is_empty(), "{subject} has no corpus");
        Self { subject: subject.to_owned(), files }
    }

    /// Inputs that were made for it, and the files of `fixtures/corpus/<subject>`.
    ///
    /// # Panics
    /// When a file can't be read.
    #[must_use]
    pub fn with(subject: &str, mut made: Vec<Vec<u8>>) -> Self {
        let mut paths = Vec::new();
        below(&fixtures().join("corpus").join(subject), &mut paths);
        made.extend(paths.iter().map(|path| read(path)));
        Self { subject: subject.to_owned(), files: made }
    }

    /// Tries every file as it is, and so many inputs near to them.
    ///
    /// # Panics
    /// When `check` panics or fails for one.
    #[expect(clippy::print_stderr, reason = "who tries for an hour wants to know how many")]
    pub fn each(&self, cases: u32, check: impl Fn(&[u8]) -> Result<(), String>) {
        for file in &self.files {
            if let Err(problem) = check(file) {
                panic!("{}: {problem}: {}", self.subject, excerpt(file));
            }
        }
        let patience = Duration::from_secs(60 * u64::from(number("HOLON_FUZZ_MINUTES").unwrap_or(0)));
        let cases = cases.saturating_mul(number("HOLON_FUZZ_TIMES").unwrap_or(1));
        let first = u64::from(number("HOLON_FUZZ_SEED").unwrap_or(0));
        let begun = Instant::now();
        for seed in first.. {
            self.near_ones(seed, cases, &check);
            if begun.elapsed() >= patience {
                let tried = (seed - first + 1) * u64::from(cases);
                eprintln!("{}: {tried} inputs in {} s", self.subject, begun.elapsed().as_secs());
                return;
            }
        }
    }

    /// Tries the inputs that a seed gives.
    fn near_ones(&self, seed: u64, cases: u32, check: impl Fn(&[u8]) -> Result<(), String>) {
        let config =
            Config { cases, failure_persistence: None, max_shrink_iters: SHRINKS, ..Config::default() };
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
        let inputs = (any::<Index>(), prop::collection::vec(edit(), 1..6));
        let tried = runner
            .run(&inputs, |(file, edits)| check(&self.near(&file, &edits)).map_err(TestCaseError::fail));
        match tried {
            Ok(()) => {}
            Err(TestError::Fail(reason, (file, edits))) => {
                let input = self.near(&file, &edits);
                let kept = self.keep(&input);
                panic!("{}: seed {seed}: {reason}: {} in {}", self.subject, excerpt(&input), kept.display());
            }
            Err(TestError::Abort(reason)) => panic!("{}: seed {seed}: {reason}", self.subject),
        }
    }

    fn near(&self, file: &Index, edits: &[Edit]) -> Vec<u8> {
        let mut bytes = self.files[file.index(self.files.len())].clone();
        for edit in edits {
            edit.apply(&mut bytes, &self.files);
        }
        bytes
    }

    fn keep(&self, input: &[u8]) -> PathBuf {
        let mut sum = DefaultHasher::new();
        input.hash(&mut sum);
        let folder = fixtures().join("corpus").join(&self.subject);
        let path = folder.join(format!("found-{:016x}", sum.finish()));
        let written = fs::create_dir_all(&folder).and_then(|()| fs::write(&path, input));
        written.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures")
}

fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every file below a folder, by name; none where there is no such folder.
fn below(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() { below(&path, found) } else { found.push(path) }
    }
}

fn number(variable: &str) -> Option<u32> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is no number: {text}")))
}

fn excerpt(input: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(input).chars().take(300).collect();
    format!("{} bytes, {text:?}", input.len())
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[test]
    fn a_seed_gives_the_same_inputs_and_they_differ_from_the_files() {
        let corpus = Corpus { subject: "none".to_owned(), files: vec![b"one".to_vec(), b"another".to_vec()] };
        let inputs = || {
            let seen = RefCell::new(Vec::new());
            corpus.each(50, |input| {
                seen.borrow_mut().push(input.to_vec());
                Ok(())
            });
            seen.into_inner()
        };
        let first = inputs();
        assert_eq!(first, inputs());
        assert_eq!(first[..2], corpus.files[..]);
        assert!(first[2..].iter().filter(|input| !corpus.files.contains(input)).count() > 40);
    }
}
