use super::*;

fn plain(text: &str, columns: usize) -> Vec<String> {
    render(text, columns, false).lines().map(ToOwned::to_owned).collect()
}

#[test]
fn blocks_are_separated_and_wrapped() {
    let text = "# Title\nSome *words* that **go** on\nand on.\n\n---\nSecond `code` paragraph.";
    assert_eq!(
        plain(text, 24),
        [
            "Title",
            "",
            "Some words that go on",
            "and on.",
            "",
            "────────────────────────",
            "",
            "Second `code` paragraph."
        ]
    );
    assert_eq!(plain("", 80), [] as [&str; 0]);
    assert_eq!(plain("one\\\ntwo", 80), ["one", "two"]);
}

#[test]
fn lists_hang_and_nest() {
    let text = "Steps:\n\n1. one two three four five\n2. second\n   - inner\n   - [x] done\n\nEnd.";
    assert_eq!(
        plain(text, 20),
        [
            "Steps:",
            "",
            "1. one two three",
            "   four five",
            "2. second",
            "   • inner",
            "   • [x] done",
            "",
            "End."
        ]
    );
    assert_eq!(plain("3. three\n\n4. four", 80), ["3. three", "", "4. four"]);
}

#[test]
fn code_and_quotes_stand_as_they_are() {
    let text = "Run:\n```sh\ncargo   test --all   # a long line that is not wrapped\n\n  indented\n```\n> a quote\n> of two";
    assert_eq!(
        plain(text, 24),
        [
            "Run:",
            "",
            "    cargo   test --all   # a long line that is not wrapped",
            "",
            "      indented",
            "",
            "│ a quote of two"
        ]
    );
    assert_eq!(plain("<div>x</div>", 80), ["<div>x</div>"]);
}

#[test]
fn links_show_where_they_lead() {
    assert_eq!(
        plain("See [the page](https://x.y/z) or <https://x.y>.", 80),
        ["See the page (https://x.y/z) or https://x.y."]
    );
}

#[test]
fn tables_take_the_width_that_there_is() {
    let text = "| name | what it does |\n| --- | --- |\n| a | one two three four |\n| 漢 | `x` |";
    assert_eq!(
        plain(text, 80),
        ["name  what it does", "────  ──────────────────", "a     one two three four", "漢    `x`"]
    );
    assert_eq!(
        plain(text, 20),
        ["name  what it does", "────  ──────────────", "a     one two three", "      four", "漢    `x`"]
    );
}

#[test]
fn colours_end_with_their_words() {
    let shown = render("## Head\na **b c** `d`", 80, true);
    assert_eq!(
        shown,
        "\u{1b}[1mHead\u{1b}[0m\n\na \u{1b}[1mb\u{1b}[0m \u{1b}[1mc\u{1b}[0m \u{1b}[36md\u{1b}[0m\n"
    );
}

#[test]
fn patches_are_coloured_line_by_line() {
    let shown = render("```diff\n@@ -1 +1 @@\n-old\n+new\n same\n```", 80, true);
    let expected = [
        "    \u{1b}[2m@@ -1 +1 @@\u{1b}[0m",
        "    \u{1b}[31m-old\u{1b}[0m",
        "    \u{1b}[32m+new\u{1b}[0m",
        "     same",
    ];
    assert_eq!(shown.lines().collect::<Vec<_>>(), expected);
}

/// Whatever a model writes ends, and loses no word.
#[test]
fn nothing_that_is_odd_breaks_it() {
    for text in ["> - 1. `", "|a|\n|-|\n||||", "***", "- \n- \n\n\n", "```\nnever closed", "[x](", "\t\ttab"]
    {
        drop(render(text, 0, true));
        drop(render(text, 7, false));
    }
    let deep = "> ".repeat(500) + "deep";
    assert!(render(&deep, 40, false).contains("deep"));
}
