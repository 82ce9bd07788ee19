//! An SVG picture of boxes and words.

use std::fmt::Write;

/// A picture under construction, which tracks its own size.
#[derive(Debug, Default)]
pub(super) struct Svg {
    body: String,
    width: u32,
    height: u32,
}

/// A box by its upper left corner and its size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Area {
    pub(super) x: u32,
    pub(super) y: u32,
    pub(super) width: u32,
    pub(super) height: u32,
}

/// The alignment of words to their point.
#[derive(Debug, Clone, Copy)]
pub(super) enum Words {
    Title,
    Right,
    Left,
    /// Upwards, from the point on.
    Up,
}

impl Svg {
    /// Adds a box; `title` is its tooltip.
    pub(super) fn area(&mut self, area: Area, colour: &str, title: &str) {
        let Area { x, y, width, height } = area;
        self.reach(x + width, y + height);
        self.push(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{colour}\"><title>{}</title></rect>",
            escaped(title)
        ));
    }

    pub(super) fn words(&mut self, x: u32, y: u32, how: Words, text: &str) {
        let text = escaped(text);
        let length = u32::try_from(text.len()).unwrap_or(u32::MAX).saturating_mul(7);
        match how {
            Words::Title => {
                self.reach(x + length, y);
                self.push(format_args!("<text x=\"{x}\" y=\"{y}\" class=\"t\">{text}</text>"));
            }
            Words::Right => {
                self.reach(x + length, y);
                self.push(format_args!("<text x=\"{x}\" y=\"{y}\">{text}</text>"));
            }
            Words::Left => {
                self.reach(x, y);
                self.push(format_args!("<text x=\"{x}\" y=\"{y}\" text-anchor=\"end\">{text}</text>"));
            }
            Words::Up => {
                self.reach(x, y);
                self.push(format_args!("<text transform=\"translate({x} {y}) rotate(-90)\">{text}</text>"));
            }
        }
    }

    fn push(&mut self, what: std::fmt::Arguments<'_>) {
        // Writing to a string can't fail.
        writeln!(self.body, "{what}").unwrap_or_default();
    }

    fn reach(&mut self, x: u32, y: u32) {
        self.width = self.width.max(x + 20);
        self.height = self.height.max(y + 20);
    }

    pub(super) fn finish(self) -> String {
        let Self { body, width, height } = self;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} \
             {height}\">\n<style>text{{font:11px sans-serif;fill:#222}}.t{{font:bold 15px \
             sans-serif}}</style>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n{body}</svg>\n"
        )
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// From pale to dark by orders of magnitude; none for zero.
pub(super) fn shade(times: u64) -> &'static str {
    match times {
        0 => "#f2f2f2",
        1..10 => "#c6dbef",
        10..100 => "#9ecae1",
        100..1_000 => "#6baed6",
        1_000..10_000 => "#3182bd",
        _ => "#08519c",
    }
}

/// From red to green, by the covered part of a thousand.
pub(super) fn heat(per_mille: u64) -> &'static str {
    match per_mille {
        0..500 => "#d73027",
        500..700 => "#f46d43",
        700..850 => "#fdae61",
        850..950 => "#d9ef8b",
        950..1_000 => "#91cf60",
        _ => "#1a9850",
    }
}
