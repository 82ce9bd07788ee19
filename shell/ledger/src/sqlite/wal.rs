//! The write-ahead log as SQLite documents it, read before SQLite recovers it: SQLite takes the frames up to the first
//! bad one and drops the rest without a word, whether that is the torn end of an unfinished commit or a flipped bit in
//! the middle of acknowledged history. Nothing is written here but the cut of a torn end.
//!
//! A header of 32 bytes (magic, version, page size, checkpoint number, two salts, two sums) is followed by frames of a
//! 24 byte header (page, pages of the database after a commit or zero, the salts, two sums) and a page. The sums run on
//! from frame to frame. Frames of an earlier generation stay behind the newest ones, with other salts.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
/// The last bit says whether sums take words in big-endian order.
const MAGIC: u32 = 0x377f_0682;
const PAGE_SIZE: usize = 4_096;

/// A write-ahead log, frame by frame.
#[derive(Debug)]
pub(super) struct Wal {
    page_size: usize,
    header_holds: bool,
    salts: [u32; 2],
    frames: Vec<Frame>,
    /// Frames that SQLite takes: each is sound and continues the one before.
    valid: usize,
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    page: u32,
    /// Pages of the database, where a transaction ends.
    commit: u32,
    /// Its page is what its sum says, or what the sum of the next frame says.
    sound: bool,
    /// Written since the last reset of the log.
    current: bool,
}

/// A bad frame in front of transactions that were finished later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Damage {
    /// Counted from 1; zero is the header.
    frame: usize,
    offset: u64,
    /// Commits of the same generation from there on.
    commits: usize,
    salts: [u32; 2],
}

/// Which frames to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Take {
    /// All that are sound, past bad ones.
    Sound,
    /// Those that SQLite takes.
    Valid,
    None,
}

/// A page in the write-ahead log.
#[derive(Debug, Clone, Copy)]
pub(super) struct Page {
    /// Counted from 1.
    pub(super) number: u32,
    pub(super) offset: u64,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.frame {
            0 => write!(f, "at the header of its write-ahead log")?,
            frame => write!(f, "at frame {frame} of its write-ahead log (byte {})", self.offset)?,
        }
        write!(f, ", which is not what was written; {} commits from there on", self.commits)
    }
}

/// The write-ahead log of a ledger.
pub(super) fn path_of(ledger: &Path) -> PathBuf {
    sibling(ledger, "-wal")
}

/// The index of the write-ahead log, which every process shares.
pub(super) fn index_of(ledger: &Path) -> PathBuf {
    sibling(ledger, "-shm")
}

fn sibling(ledger: &Path, suffix: &str) -> PathBuf {
    let mut path: OsString = ledger.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

impl Wal {
    /// Reads the log of a ledger; none where there is none, or nothing in it.
    pub(super) fn read(ledger: &Path) -> io::Result<Option<Self>> {
        let file = match File::open(path_of(ledger)) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let length = file.metadata()?.len();
        let mut file = BufReader::with_capacity(1 << 18, file.take(length));
        let mut header = [0_u8; HEADER];
        // It may be shorter by now: who had the ledger before cuts it off when it closes.
        if !read_whole(&mut file, &mut header)? {
            return Ok(None);
        }
        let word = |at: usize| be(&header, at);
        let magic = word(0);
        let holds_magic = magic & !1 == MAGIC;
        let sums = if holds_magic {
            Sums { big: magic & 1 == 1 }
        } else {
            Sums { big: cfg!(target_endian = "big") }
        };
        let computed = sums.on([0, 0], &header[..24]);
        let stored = [word(24), word(28)];
        let header_holds = holds_magic && computed == stored;
        let page_size = if header_holds { word(8) as usize } else { PAGE_SIZE };
        let mut wal =
            Self { page_size, header_holds, salts: [word(16), word(20)], frames: Vec::new(), valid: 0 };
        wal.read_frames(&mut file, sums, stored, computed)?;
        Ok(Some(wal))
    }

    fn read_frames(
        &mut self,
        file: &mut impl Read,
        sums: Sums,
        mut stored: [u32; 2],
        mut computed: [u32; 2],
    ) -> io::Result<()> {
        let mut frame = vec![0_u8; FRAME_HEADER + self.page_size];
        while read_whole(file, &mut frame)? {
            let salts = [be(&frame, 8), be(&frame, 12)];
            if self.frames.is_empty() && !self.header_holds {
                self.salts = salts;
            }
            let sum_of = |before| {
                let sum = sums.on(before, &frame[..8]);
                sums.on(sum, &frame[FRAME_HEADER..])
            };
            let own = [be(&frame, 16), be(&frame, 20)];
            let after_stored = sum_of(stored);
            // Where a frame is sound and its sum is not, the next one goes on from what the sum was.
            let vouches = computed != stored && after_stored != own && sum_of(computed) == own;
            let sound = after_stored == own || vouches;
            let before = self.frames.last_mut();
            if vouches && let Some(before) = before {
                before.sound = true;
            }
            let follows = self.frames.last().map_or(self.header_holds, |before| before.current);
            let current = salts == self.salts || (sound && follows);
            let goes_on = self.valid == self.frames.len() && self.header_holds;
            if goes_on && after_stored == own && salts == self.salts {
                self.valid += 1;
            }
            self.frames.push(Frame { page: be(&frame, 0), commit: be(&frame, 4), sound, current });
            (stored, computed) = (own, if sound { own } else { after_stored });
        }
        Ok(())
    }

    /// Damage that is not the torn end of one commit: SQLite begins a transaction only when the one before is on disk.
    pub(super) fn damage(&self) -> Option<Damage> {
        let behind = self.frames.get(self.valid..)?;
        let finished = if self.header_holds {
            behind.windows(2).any(|pair| {
                let [before, next] = pair else { return false };
                before.current && before.commit > 0 && next.current && next.sound
            })
        } else {
            behind.iter().any(|frame| frame.current && frame.sound && frame.commit > 0)
        };
        finished.then(|| Damage {
            frame: if self.header_holds { self.valid + 1 } else { 0 },
            offset: if self.header_holds { self.offset(self.valid) } else { 0 },
            commits: behind.iter().filter(|frame| frame.current && frame.commit > 0).count(),
            salts: self.salts,
        })
    }

    /// Whether a transaction was written to it.
    pub(super) fn has_commits(&self) -> bool {
        self.frames.iter().any(|frame| frame.current && frame.commit > 0)
    }

    /// Whether an unfinished commit left frames behind, which a later look could take for more than they are.
    pub(super) fn has_torn_end(&self) -> bool {
        let whole = self.whole();
        self.header_holds
            && self.frames.get(whole..).is_some_and(|rest| rest.iter().any(|frame| frame.current))
    }

    /// Cuts the torn end off.
    pub(super) fn cut(&self, ledger: &Path) -> io::Result<()> {
        let file = OpenOptions::new().write(true).open(path_of(ledger))?;
        file.set_len(self.offset(self.whole()))
    }

    /// The last page of each number among those of whole transactions, and how many pages the database has then.
    pub(super) fn pages(&self, take: Take) -> (Vec<Page>, Option<u32>) {
        let of = match take {
            Take::Sound => self.frames.len(),
            Take::Valid => self.valid,
            Take::None => 0,
        };
        let taken = |frame: &Frame| frame.sound && frame.current;
        let frames = self.frames.get(..of).unwrap_or_default();
        let end = frames.iter().rposition(|frame| taken(frame) && frame.commit > 0).map_or(0, |at| at + 1);
        let frames =
            frames.get(..end).unwrap_or_default().iter().enumerate().filter(|(_, frame)| taken(frame));
        let pages = frames
            .map(|(at, frame)| Page { number: frame.page, offset: self.offset(at) + FRAME_HEADER as u64 });
        (pages.collect(), end.checked_sub(1).and_then(|last| self.frames.get(last)).map(|last| last.commit))
    }

    pub(super) fn page_size(&self) -> usize {
        self.page_size
    }

    /// Frames of whole transactions among the valid ones.
    fn whole(&self) -> usize {
        let valid = self.frames.get(..self.valid).unwrap_or_default();
        valid.iter().rposition(|frame| frame.commit > 0).map_or(0, |at| at + 1)
    }

    fn offset(&self, frame: usize) -> u64 {
        (HEADER + frame * (FRAME_HEADER + self.page_size)) as u64
    }
}

/// How sums are made.
#[derive(Debug, Clone, Copy)]
struct Sums {
    big: bool,
}

impl Sums {
    fn on(self, [mut one, mut two]: [u32; 2], bytes: &[u8]) -> [u32; 2] {
        let word = |bytes: &[u8]| {
            let bytes = <[u8; 4]>::try_from(bytes).unwrap_or_default();
            if self.big { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
        };
        for pair in bytes.chunks_exact(8) {
            one = one.wrapping_add(word(&pair[..4])).wrapping_add(two);
            two = two.wrapping_add(word(&pair[4..])).wrapping_add(one);
        }
        [one, two]
    }
}

fn be(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).map_or(0, u32::from_be_bytes)
}

/// False at the end, also in the middle of a frame.
fn read_whole(file: &mut impl Read, frame: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(frame) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}
