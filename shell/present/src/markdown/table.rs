//! Tables in the width that there is: cells of columns that are too wide take several lines.

use anstyle::Style;

use super::Piece;
use super::inline::Inline;

/// Between two columns.
const GAP: &str = "  ";
/// No column is made narrower.
const NARROWEST: usize = 6;

/// The rows of a table, its head first.
#[derive(Debug, Default)]
pub(super) struct Table {
    rows: Vec<Vec<Inline>>,
}

impl Table {
    pub(super) fn begin_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub(super) fn cell(&mut self, cell: Inline) {
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    pub(super) fn lines(&self, columns: usize) -> Vec<Vec<Piece>> {
        let widths = self.widths(columns);
        let mut lines = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            lines.extend(self::row(row, &widths));
            if at == 0 {
                let rule: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(vec![(rule.join(GAP), Style::new().dimmed())]);
            }
        }
        lines
    }

    /// What each column needs, the widest ones made narrower until all fit.
    fn widths(&self, columns: usize) -> Vec<usize> {
        let count = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let natural = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.flat_map(|cell| cell.lines(usize::MAX)).map(|(_, width)| width).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = (0..count).map(natural).collect();
        let room = columns.saturating_sub(GAP.len() * count.saturating_sub(1));
        while widths.iter().sum::<usize>() > room {
            let Some(widest) = widths.iter_mut().max().filter(|width| **width > NARROWEST) else { break };
            *widest -= 1;
        }
        widths
    }
}

/// One row: as many lines as its highest cell.
fn row(cells: &[Inline], widths: &[usize]) -> Vec<Vec<Piece>> {
    let cells: Vec<_> = cells.iter().zip(widths).map(|(cell, width)| cell.lines(*width)).collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or_default();
    let line = |at: usize| {
        let mut line = Vec::new();
        for (number, (cell, width)) in cells.iter().zip(widths).enumerate() {
            let gap = if number > 0 { GAP } else { "" };
            line.push((gap.to_owned(), Style::new()));
            let (pieces, used) = cell.get(at).cloned().unwrap_or_default();
            line.extend(pieces);
            line.push((" ".repeat(width.saturating_sub(used)), Style::new()));
        }
        line
    };
    (0..height).map(line).collect()
}
