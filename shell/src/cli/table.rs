//! Rows in columns, for the terminal that shows them: lists are cut at its right edge, facts are wrapped in their column.
//! Where nobody looks, each row is one whole line.

use unicode_width::UnicodeWidthStr;

use crate::screen::{Look, painted, within, wrapped_by};

/// Between two columns.
const GAP: &str = "  ";
/// The last column of a list is never cut to less.
const NARROWEST: usize = 8;

/// Where rows are shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Width {
    /// How wide the terminal is; none where there is none.
    pub(super) columns: Option<usize>,
    pub(super) colour: bool,
}

/// Rows with a name and a value are facts; any others are a list, whose first row may be its heads.
pub(super) fn lines(rows: &[Vec<String>], shown: Width) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.width()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let before: usize = widths.iter().rev().skip(1).map(|width| width + GAP.len()).sum();
    // The last column stays free: some terminals go to the next line when it is taken.
    let room = shown.columns.map(|all| all.saturating_sub(before + 1));
    rows.iter().enumerate().map(|(at, row)| line(row, &widths, (at, columns, room), shown)).collect()
}

fn line(
    row: &[String],
    widths: &[usize],
    (at, columns, room): (usize, usize, Option<usize>),
    shown: Width,
) -> String {
    let heads = columns > 2 && at == 0 && row.iter().all(|cell| cell.to_uppercase() == *cell);
    let mut cells = Vec::new();
    for (column, cell) in row.iter().enumerate() {
        let last = column + 1 == columns;
        let before = widths.iter().take(column).map(|width| width + GAP.len()).sum();
        let cell = match (last, room) {
            (true, Some(room)) if columns > 2 && room >= NARROWEST => within(cell, room),
            (true, Some(room)) if columns == 2 => wrapped_by(cell, room, before),
            _ => cell.clone(),
        };
        let padding = if last { 0 } else { widths[column].saturating_sub(cell.width()) };
        let look = if heads || (columns == 2 && column == 0) { Look::Aside } else { of(&cell) };
        cells.push(painted(look, &cell, shown.colour) + &" ".repeat(padding));
    }
    cells.join(GAP).trim_end().to_owned()
}

/// Words that say how something stands, as the first one of a cell.
fn of(cell: &str) -> Look {
    let word = cell.split([' ', ':', ',']).next().unwrap_or_default();
    match word {
        "failed" | "damaged" | "aborted" | "waiting_for_operator" | "budget_exhausted" => Look::Bad,
        "completed" | "running" | "awake_running" => Look::Good,
        _ => Look::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&[&str]]) -> Vec<Vec<String>> {
        rows.iter().map(|row| row.iter().map(ToString::to_string).collect()).collect()
    }

    const PIPED: Width = Width { columns: None, colour: false };

    #[test]
    fn a_list_is_cut_at_the_edge_of_a_terminal_alone() {
        let list = rows(&[&["A", "B", "SUMMARY"], &["one", "漢", "a summary that is long"]]);
        let narrow = Width { columns: Some(24), ..PIPED };
        assert_eq!(lines(&list, narrow), ["A    B   SUMMARY", "one  漢  a summary tha…"]);
        assert_eq!(lines(&list, PIPED)[1], "one  漢  a summary that is long");
        assert_eq!(lines(&list, Width { columns: Some(10), ..PIPED }), lines(&list, PIPED), "too narrow");
    }

    #[test]
    fn facts_are_wrapped_in_their_column() {
        let facts = rows(&[&["agent", "main"], &["run", "one two three four five six"]]);
        let narrow = Width { columns: Some(28), ..PIPED };
        assert_eq!(lines(&facts, narrow), ["agent  main", "run    one two three four\n       five six"]);
        assert_eq!(lines(&facts, PIPED)[1], "run    one two three four five six");
    }

    #[test]
    fn colours_take_no_room() {
        let coloured = Width { columns: Some(80), colour: true };
        let list = rows(&[&["A", "B", "C"], &["x", "failed", "y"]]);
        let shown = lines(&list, coloured);
        assert_eq!(shown[0], "\u{1b}[2mA\u{1b}[0m  \u{1b}[2mB\u{1b}[0m       \u{1b}[2mC\u{1b}[0m");
        assert_eq!(shown[1], "x  \u{1b}[31mfailed\u{1b}[0m  y");
    }
}
