//! How many tokens a model makes of a text, by classes of characters: words, code, JSON, listings and the scripts of the
//! world differ by a factor of four in characters a token. What a provider counts corrects it (`agent/requests.rs` of the core).

/// What a token counts here.
const TOKEN: u64 = 20;

/// Estimates the tokens of a text, without knowing its model.
pub fn estimate(text: &str) -> u64 {
    let mut run = Run { class: Class::Digit, length: 0, joins: false };
    let (mut word, mut parts) = (Word::default(), 0_u64);
    for character in text.chars() {
        let class = Class::of(character);
        if run.takes(class) {
            run = Run { class, length: run.length + 1, ..run };
        } else {
            parts = parts.saturating_add(word.after(run));
            run = Run { class, length: 1, joins: run.class.is_mark() && class.is_mark() };
        }
        word.capitals |= class == Class::Upper;
        word.vietnamese |= class == Class::Accented && is_vietnamese(character);
    }
    parts.saturating_add(word.after(run)).saturating_add(word.parts()).div_ceil(TOKEN)
}

/// Attempts at something that fits; each is made of less than the one before by as much as that was too long.
const ATTEMPTS: usize = 24;

/// What `make` makes of the most that has at most so many tokens, and what that is: `most`, or as little as it takes. A
/// character of Chinese is about a token, one of English a quarter: how much fits is known once it is made.
pub fn fitting<T>(
    allowed: u64,
    most: u64,
    make: impl Fn(u64) -> T,
    tokens_of: impl Fn(&T) -> u64,
) -> (T, u64) {
    let mut size = most;
    let mut made = make(size);
    for _ in 0..ATTEMPTS {
        let tokens = tokens_of(&made);
        if tokens <= allowed || size == 0 {
            break;
        }
        let part = u128::from(size) * u128::from(allowed) / u128::from(tokens);
        size = u64::try_from(part).unwrap_or(u64::MAX).min(size - 1);
        made = make(size);
    }
    (made, size)
}

/// Letters that no other language writes often; those with nothing but a dot below stand in others, too.
fn is_vietnamese(letter: char) -> bool {
    match letter {
        'ơ' | 'Ơ' | 'ư' | 'Ư' => true,
        'ẹ' | 'Ẹ' | 'ị' | 'Ị' | 'ọ' | 'Ọ' | 'ụ' | 'Ụ' => false,
        '\u{1ea0}'..='\u{1ef9}' => true,
        _ => false,
    }
}

/// Estimates the tokens of an image of so many pixels: whichever is more of what Anthropic documents, a token for 750 pixels
/// and 1,600 at most, and of what OpenAI does, 170 for each tile of 512 pixels and 85 for all. Smaller models of OpenAI count
/// patches and take up to three times that.
pub fn of_image(width: u32, height: u32) -> u64 {
    let (width, height) = (u64::from(width), u64::from(height));
    let area = (width.saturating_mul(height) / 750).min(1_600);
    // It is made to fit a square of 2,048 pixels, then its shorter side to have 768.
    let (wide, high) = within((width, height), width.max(height), 2_048);
    let (wide, high) = within((wide, high), wide.min(high), 768);
    let tiles = wide.div_ceil(512).saturating_mul(high.div_ceil(512));
    area.max(tiles.saturating_mul(170).saturating_add(85))
}

/// The sides of what is made smaller until one of them has so many pixels.
fn within((width, height): (u64, u64), side: u64, most: u64) -> (u64, u64) {
    let scaled = |length: u64| if side > most { (length.saturating_mul(most) / side).max(1) } else { length };
    (scaled(width), scaled(height))
}

/// Characters that follow each other and count together.
#[derive(Debug, Clone, Copy)]
struct Run {
    class: Class,
    length: u64,
    /// Marks before it, which often share its token.
    joins: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Lower,
    Upper,
    Digit,
    Space,
    Newline,
    /// One and the same.
    Mark(u8),
    Cyrillic,
    Kana,
    Hangul,
    /// Chinese characters, and symbols that are as wide.
    Wide,
    /// Thai and Lao, which put no spaces between words.
    Thai,
    /// Latin letters with something above, below or through them.
    Accented,
    /// Letters of other scripts.
    Other,
}

/// Letters and digits that nothing divides. Where capitals, small letters and digits change all the time, as in base64 and
/// hashes, no word is known to a vocabulary, and tokens are short.
#[derive(Debug, Clone, Copy, Default)]
struct Word {
    length: u64,
    runs: u64,
    /// Of its runs.
    parts: u64,
    capitals: bool,
    accents: bool,
    /// It, or one before it, has a letter of Vietnamese, and none since then was longer than a syllable of it.
    vietnamese: bool,
}

/// Shortest that is taken for base64 or a hash, and the most characters that its runs have on average.
const PACKED: u64 = 20;
const PACKED_RUN: u64 = 4;
/// Longest syllable of Vietnamese, which writes each by itself: most are known to a vocabulary, the longest less so.
const SYLLABLE: u64 = 7;
const KNOWN_SYLLABLE: u64 = 5;

impl Word {
    /// What is over with a run: nothing of a word that goes on.
    fn after(&mut self, run: Run) -> u64 {
        if matches!(run.class, Class::Lower | Class::Upper | Class::Digit | Class::Accented) {
            self.accents |= run.class == Class::Accented;
            self.length += run.length;
            self.runs += 1;
            self.parts += run.parts();
            return 0;
        }
        let vietnamese = self.vietnamese && self.length <= SYLLABLE;
        let word = core::mem::replace(self, Self { vietnamese, ..Self::default() });
        word.parts().saturating_add(run.parts())
    }

    fn parts(self) -> u64 {
        if self.accents {
            return match self.length {
                ..=KNOWN_SYLLABLE if self.vietnamese => 25,
                ..=SYLLABLE if self.vietnamese => 2 * TOKEN,
                _ => self.parts,
            };
        }
        let packed = self.length >= PACKED && self.runs * PACKED_RUN >= self.length;
        let each = if self.capitals { 14 } else { 12 };
        if packed { self.parts.max(self.length * each) } else { self.parts }
    }
}

impl Class {
    fn is_mark(self) -> bool {
        matches!(self, Self::Mark(_))
    }

    fn of(character: char) -> Self {
        match character {
            'a'..='z' => Self::Lower,
            'A'..='Z' => Self::Upper,
            '0'..='9' => Self::Digit,
            ' ' | '\t' => Self::Space,
            '\n' | '\r' => Self::Newline,
            '\0'..='\x7f' => Self::Mark(character as u8),
            // Dashes, quotes and the like.
            '\u{2000}'..='\u{206f}' => Self::Mark(0),
            '\u{400}'..='\u{52f}' => Self::Cyrillic,
            '\u{3040}'..='\u{30ff}' => Self::Kana,
            '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7af}' => Self::Hangul,
            '\u{e00}'..='\u{eff}' => Self::Thai,
            '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => Self::Accented,
            '\u{2070}'.. => Self::Wide,
            '\u{80}'..'\u{2000}' => Self::Other,
        }
    }
}

impl Run {
    /// A capital begins a word.
    fn takes(self, class: Class) -> bool {
        self.class == class || (class == Class::Lower && self.class == Class::Upper && self.length == 1)
    }

    /// In twentieths of a token, as measured with the vocabularies of OpenAI's models.
    fn parts(self) -> u64 {
        let n = self.length;
        match self.class {
            Class::Lower | Class::Upper if n <= 1 => 18 * n,
            Class::Lower if n <= 3 => 18,
            Class::Lower if n <= 8 => 21,
            Class::Lower => TOKEN * n.div_ceil(6),
            Class::Upper | Class::Digit | Class::Accented | Class::Other => TOKEN * n.div_ceil(3),
            // A space belongs to the word after it.
            Class::Space if n == 1 => 1,
            Class::Space => 17,
            Class::Newline => 11,
            Class::Mark(_) if self.joins => 7 * n.min(3),
            Class::Mark(_) if n < 3 => 13 * n,
            Class::Mark(_) => TOKEN + n,
            Class::Cyrillic => TOKEN * n.div_ceil(5),
            Class::Thai => 8 * n,
            Class::Kana => 14 * n,
            Class::Hangul => 14 * n,
            Class::Wide => 15 * n,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{estimate, of_image};

    /// Counts of the vocabulary `o200k_base`, by its own program.
    const COUNTED: [(&str, u64); 13] = [
        ("The runtime keeps its agents over months, and wakes them when something is to be done.", 18),
        (
            "    let room = tokens.saturating_sub(estimate(&heading));\n    if room == 0 { return None; }\n",
            25,
        ),
        (r#"{"agent_id":"main","event_seq":4711,"kind":"turn_started","run_id":"run_12"}"#, 24),
        ("-rw-r--r-- 1 root root 13424 Nov 25 20:55 api-build.txt\n", 24),
        ("Агент просыпается, когда есть что делать, и спит всё остальное время.", 20),
        ("智能体在有事情要做的时候醒来,其余时间都在睡觉。", 19),
        ("エージェントは、何かすることがあるときに目を覚まします。", 21),
        ("에이전트는 할 일이 있을 때 깨어나고 나머지 시간에는 잠을 잡니다.", 23),
        ("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", 43),
        (
            "OLTmUuRNp/I3DZ4mDicTZVCko6bQf1wMMy+LEiQIP9IrkC+JEegYGPjJnV1dmDGVdQTZDpRd4uj1TueBzHX2NthQmQlaowAWWmcDb5tUDWuP",
            72,
        ),
        ("เอเจนต์จะตื่นขึ้นมาเมื่อมีสิ่งที่ต้องทำ และจะหลับตลอดเวลาที่เหลือ", 26),
        ("Tác nhân thức dậy khi có việc cần làm và ngủ suốt thời gian còn lại.", 20),
        ("let name = getUserNameFromDatabase(userId2, HTTPServerErrorResponse); MAX_RETRY_COUNT_1", 23),
    ];

    #[test]
    fn each_class_is_near_its_count() {
        for (text, counted) in COUNTED {
            let near = counted * 3 / 4..=counted * 5 / 4 + 2;
            assert!(near.contains(&estimate(text)), "{} and not {counted}: {text}", estimate(text));
        }
    }

    #[test]
    fn vietnamese_ends_with_a_word_that_is_longer_than_its_syllables() {
        let (german, before) = ("für später übrig", "ngủ ");
        let after = |words: &str| estimate(&alloc::format!("{words}{german}")) - estimate(words);
        assert_eq!([after(""), after(before), after("ngủ nachmittags ")], [8, 4, 8]);
    }

    /// The examples that the providers give: 1,334 and 1,590 tokens, then 765 and 1,105.
    #[test]
    fn an_image_takes_what_providers_document_or_more() {
        assert_eq!([of_image(1_000, 1_000), of_image(1_092, 1_092)], [1_333, 1_589]);
        assert_eq!([of_image(1_024, 1_024), of_image(2_048, 4_096)], [1_398, 1_600]);
        assert_eq!([of_image(1, 1), of_image(8_000, 8_000), of_image(8_000, 1)], [255, 1_600, 765]);
    }

    #[test]
    fn nothing_takes_nothing_and_anything_takes_something() {
        assert_eq!(estimate(""), 0);
        for character in ['a', '\u{0}', '\u{10ffff}', ' ', '字', 'é'] {
            assert_eq!(estimate(&alloc::string::String::from(character)), 1, "{character:?}");
        }
    }
}
