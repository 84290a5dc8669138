//! Lines, blocks and marks in ASCII, for terminals that draw them wrongly or at another width.

use std::str::FromStr;

use ratatui::buffer::{Buffer, CellWidth};

/// What the user asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Borders {
    /// Unicode, unless the terminal or the locale says that it has none.
    #[default]
    Auto,
    Unicode,
    Ascii,
}

impl FromStr for Borders {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "auto" => Ok(Self::Auto),
            "unicode" => Ok(Self::Unicode),
            "ascii" => Ok(Self::Ascii),
            other => Err(format!("there are no borders {other:?}: choose auto, unicode or ascii")),
        }
    }
}

impl Borders {
    /// Whether lines and marks are drawn in ASCII, and why, where nobody asked for it.
    pub fn in_ascii(self, variable: &dyn Fn(&str) -> Option<String>) -> (bool, Option<String>) {
        match self {
            Self::Unicode => (false, None),
            Self::Ascii => (true, None),
            Self::Auto => match why_ascii(variable) {
                None => (false, None),
                Some(why) => {
                    (true, Some(format!("lines are drawn in ASCII, since {why}: --borders unicode")))
                }
            },
        }
    }
}

fn why_ascii(variable: &dyn Fn(&str) -> Option<String>) -> Option<String> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty());
    if let Some(term) = set("TERM")
        && matches!(term.as_str(), "dumb" | "linux" | "ansi" | "vt100" | "vt102" | "vt220" | "cons25")
    {
        return Some(format!("TERM is {term}"));
    }
    // A locale that nobody set says nothing: containers have none, and their terminals are UTF-8.
    let (name, locale) =
        ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| Some((name, set(name)?)))?;
    let lower = locale.to_lowercase();
    let is_utf8 = lower.contains("utf-8") || lower.contains("utf8");
    (!is_utf8).then(|| format!("{name} is {}", crate::text::visible_line(&locale)))
}

/// The ASCII form of a line, block or mark; `None`: letters of any script, which stay.
fn ascii_form(glyph: char) -> Option<char> {
    Some(match glyph {
        '─' | '▁' | '╴' | '╶' | '–' | '—' => '-',
        '━' | '═' => '=',
        '│' | '┃' | '║' | '▏' | '▎' | '▍' | '╎' | '┊' | '┆' => '|',
        '╌' | '┄' | '┈' | '·' | '▂' => '.',
        '░' | '▃' => ':',
        '\u{250c}'..='\u{254b}' | '╒'..='╬' | '╭'..='╰' | '▒' | '▄' => '+',
        '▅' | '○' | '◌' | '◇' | '□' => 'o',
        '▓' | '▇' => '%',
        '█' | '■' | '▀' => '#',
        '▌' | '▋' | '▊' | '▉' | '▐' | '▶' | '▸' | '→' | '›' | '≥' => '>',
        '◀' | '◂' | '←' | '‹' | '≤' => '<',
        '▔' | '▲' | '▴' | '↑' => '^',
        '▼' | '▾' | '↓' | '✓' | '✔' => 'v',
        '●' | '◉' | '◆' => 'O',
        '×' | '✗' | '✘' => 'x',
        '…' => '~',
        '“' | '”' | '„' => '"',
        '‘' | '’' => '\'',
        '⠀' | '\u{a0}' => ' ',
        // Control pictures of hostile text, and whatever other sign a view draws with.
        '\u{2400}'..='\u{243f}' | '\u{fffd}' => '?',
        '•' | '‣' | '\u{2190}'..='\u{2bff}' => '*',
        _ => return None,
    })
}

/// Writes every line, block and mark of a drawn screen in ASCII; each keeps its one column.
pub fn write_in_ascii(buffer: &mut Buffer) {
    for cell in &mut buffer.content {
        let mut glyphs = cell.symbol().chars();
        if let (Some(glyph), None) = (glyphs.next(), glyphs.next())
            && !glyph.is_ascii()
            && cell.symbol().cell_width() == 1
            && let Some(form) = ascii_form(glyph)
        {
            cell.set_char(form);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn automatic(variables: &[(&str, &str)]) -> (bool, Option<String>) {
        Borders::Auto.in_ascii(&|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn lines_are_ascii_where_the_terminal_or_the_locale_says_so_and_it_is_said_why() {
        assert_eq!(automatic(&[]), (false, None));
        assert_eq!(automatic(&[("TERM", "xterm-256color"), ("LANG", "en_GB.UTF-8")]), (false, None));
        assert_eq!(automatic(&[("LANG", "C.utf8")]), (false, None));
        let (ascii, why) = automatic(&[("TERM", "linux")]);
        assert!(ascii && why.is_some_and(|why| why.contains("TERM is linux")));
        // The first of the three that is set counts, as everywhere.
        let (ascii, why) = automatic(&[("LC_ALL", "C"), ("LANG", "en_GB.UTF-8")]);
        assert!(ascii && why.is_some_and(|why| why.contains("LC_ALL is C")));
        assert!(!automatic(&[("LC_ALL", ""), ("LANG", "de_DE.UTF-8")]).0);
    }

    #[test]
    fn an_explicit_choice_needs_no_reason() {
        let dumb = |name: &str| (name == "TERM").then(|| "dumb".to_owned());
        assert_eq!("unicode".parse::<Borders>().unwrap().in_ascii(&dumb), (false, None));
        assert_eq!("ascii".parse::<Borders>().unwrap().in_ascii(&|_| None), (true, None));
        assert!("double".parse::<Borders>().unwrap_err().contains("auto, unicode or ascii"));
    }

    #[test]
    fn letters_of_every_script_stay_what_they_are() {
        for letter in ['a', 'é', 'ש', '市', 'ж', '€', '\u{301}'] {
            assert_eq!(ascii_form(letter), None, "{letter}");
        }
        for sign in ['─', '╭', '█', '▌', '●', '→', '…', '␛', '⠿'] {
            assert!(ascii_form(sign).is_some_and(|form| form.is_ascii_graphic()), "{sign}");
        }
    }
}
