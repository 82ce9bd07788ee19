//! Lines of bounded length.

use std::io::{self, BufRead};

/// Reads line by line. Of a line that is too long, nothing is kept.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    most: usize,
    number: u64,
    ended: bool,
}

/// One line, without its end.
#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    Read(Vec<u8>),
    /// It has so many bytes, which were skipped.
    TooLong(usize),
}

impl<R: BufRead> Lines<R> {
    /// Lines of at most so many bytes.
    pub fn new(reader: R, most: usize) -> Self {
        Self { reader, most, number: 0, ended: false }
    }

    /// Number of the last line, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The next line that is not blank; none at the end.
    ///
    /// # Errors
    /// An input that can't be read. Nothing more is read after that.
    pub fn next_line(&mut self) -> io::Result<Option<Line>> {
        while !self.ended {
            let mut line = Vec::new();
            let length = self.line(&mut line).inspect_err(|_| self.ended = true)?;
            if length > self.most {
                return Ok(Some(Line::TooLong(length)));
            }
            if !line.trim_ascii().is_empty() {
                return Ok(Some(Line::Read(line)));
            }
        }
        Ok(None)
    }

    /// Reads to the end of a line, and keeps no more of it than a line may have. Gives its length.
    fn line(&mut self, line: &mut Vec<u8>) -> io::Result<usize> {
        self.number += 1;
        let mut length = 0;
        loop {
            let bytes = match self.reader.fill_buf() {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            if bytes.is_empty() {
                self.ended = true;
                return Ok(length);
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let part = &bytes[..end.unwrap_or(bytes.len())];
            length += part.len();
            if length <= self.most {
                line.extend_from_slice(part);
            }
            let used = part.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                return Ok(length);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;

    fn read(text: &[u8]) -> Vec<(u64, Line)> {
        let mut lines = Lines::new(BufReader::with_capacity(3, text), 5);
        std::iter::from_fn(|| lines.next_line().unwrap().map(|line| (lines.number(), line))).collect()
    }

    #[test]
    fn lines_are_numbered_blank_ones_left_out_and_long_ones_skipped() {
        let line = |text: &[u8]| Line::Read(text.to_vec());
        assert_eq!(
            read(b"\nab\r\n  \n123456789\n12345\nlast"),
            [(2, line(b"ab\r")), (4, Line::TooLong(9)), (5, line(b"12345")), (6, line(b"last"))]
        );
        assert!(read(b"").is_empty() && read(b"\n\n").is_empty());
    }
}
