//! How what is shown looks: the 16 colours that each terminal has, or none, and a weight that needs no colour.

use anstyle::{AnsiColor, Color as Colour, Effects};
use holon_present::Look;
use holon_present::markdown::of_patch;
use ratatui::style::{Color, Modifier, Style};

use crate::row::Voice;

/// Of whoever speaks.
pub(crate) fn of(voice: Voice, colour: bool) -> Style {
    let plain = Style::new();
    let coloured = |shade: Color| if colour { plain.fg(shade) } else { plain };
    match voice {
        Voice::Message => coloured(Color::Cyan).add_modifier(Modifier::BOLD),
        Voice::Brief => plain,
        Voice::Ask => coloured(Color::Yellow).add_modifier(Modifier::BOLD),
        Voice::Alarm => coloured(Color::Red),
        Voice::Activity => coloured(Color::Green),
        Voice::Aside => plain.add_modifier(Modifier::DIM),
    }
}

/// Of a line of a call, of its result or of a patch.
pub(crate) fn of_detail(look: Look, colour: bool) -> Style {
    of_piece(of_patch(look), colour)
}

/// Of a piece of a rendered text.
pub(crate) fn of_piece(piece: anstyle::Style, colour: bool) -> Style {
    const WEIGHTS: [(Effects, Modifier); 5] = [
        (Effects::BOLD, Modifier::BOLD),
        (Effects::DIMMED, Modifier::DIM),
        (Effects::ITALIC, Modifier::ITALIC),
        (Effects::UNDERLINE, Modifier::UNDERLINED),
        (Effects::STRIKETHROUGH, Modifier::CROSSED_OUT),
    ];
    let mut style = Style::new();
    if let Some(Colour::Ansi(shade)) = piece.get_fg_color().filter(|_| colour) {
        style = style.fg(of_shade(shade));
    }
    for (effect, modifier) in WEIGHTS {
        if piece.get_effects().contains(effect) {
            style = style.add_modifier(modifier);
        }
    }
    style
}

fn of_shade(shade: AnsiColor) -> Color {
    match shade {
        AnsiColor::Black => Color::Black,
        AnsiColor::Red => Color::Red,
        AnsiColor::Green => Color::Green,
        AnsiColor::Yellow => Color::Yellow,
        AnsiColor::Blue => Color::Blue,
        AnsiColor::Magenta => Color::Magenta,
        AnsiColor::Cyan => Color::Cyan,
        AnsiColor::White => Color::Gray,
        AnsiColor::BrightBlack => Color::DarkGray,
        AnsiColor::BrightRed => Color::LightRed,
        AnsiColor::BrightGreen => Color::LightGreen,
        AnsiColor::BrightYellow => Color::LightYellow,
        AnsiColor::BrightBlue => Color::LightBlue,
        AnsiColor::BrightMagenta => Color::LightMagenta,
        AnsiColor::BrightCyan => Color::LightCyan,
        AnsiColor::BrightWhite => Color::White,
    }
}
