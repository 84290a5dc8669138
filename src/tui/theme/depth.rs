//! How many colours a terminal shows, found out from its environment.

/// How many colours the terminal shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColourDepth {
    True,
    Indexed,
    Ansi,
    Mono,
}

impl ColourDepth {
    /// What a user calls it; `None` for `auto`.
    pub fn named(name: &str) -> Result<Option<Self>, String> {
        Ok(Some(match name {
            "auto" => return Ok(None),
            "true" => Self::True,
            "256" => Self::Indexed,
            "16" => Self::Ansi,
            "none" => Self::Mono,
            other => {
                return Err(format!("there are no colours {other:?}: choose auto, true, 256, 16 or none"));
            }
        }))
    }

    /// Reads `NO_COLOR`, `FORCE_COLOR`, `CLICOLOR_FORCE`, `COLORTERM` and `TERM` through `variable`.
    ///
    /// `NO_COLOR` wins over everything but an explicit choice of the user.
    pub fn detect(variable: &dyn Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        if set("NO_COLOR").is_some() {
            return Self::Mono;
        }
        let term = set("TERM").unwrap_or_default();
        let by_terminal = if matches!(set("COLORTERM").as_deref(), Some("truecolor" | "24bit"))
            || term.ends_with("-direct")
            || set("WT_SESSION").is_some()
        {
            Self::True
        } else if term.contains("256color") {
            Self::Indexed
        } else if term.is_empty() || term == "dumb" {
            Self::Mono
        } else {
            Self::Ansi
        };
        match set("FORCE_COLOR").as_deref() {
            Some("0") => Self::Mono,
            Some("1") => Self::Ansi,
            Some("2") => Self::Indexed,
            Some("3") => Self::True,
            Some(_) if by_terminal == Self::Mono => Self::Ansi,
            _ if set("CLICOLOR_FORCE").is_some_and(|value| value != "0") && by_terminal == Self::Mono => {
                Self::Ansi
            }
            _ => by_terminal,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(variables: &[(&str, &str)]) -> ColourDepth {
        ColourDepth::detect(&|name| {
            variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_depth_follows_the_environment_and_no_color_wins() {
        assert_eq!(depth(&[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")]), ColourDepth::True);
        assert_eq!(depth(&[("TERM", "xterm-256color")]), ColourDepth::Indexed);
        assert_eq!(depth(&[("TERM", "screen")]), ColourDepth::Ansi);
        assert_eq!(depth(&[("TERM", "dumb")]), ColourDepth::Mono);
        assert_eq!(depth(&[("TERM", "dumb"), ("CLICOLOR_FORCE", "1")]), ColourDepth::Ansi);
        assert_eq!(depth(&[("TERM", "screen"), ("FORCE_COLOR", "3")]), ColourDepth::True);
        assert_eq!(depth(&[("NO_COLOR", "1"), ("FORCE_COLOR", "3")]), ColourDepth::Mono);
        assert_eq!(depth(&[("NO_COLOR", ""), ("TERM", "screen")]), ColourDepth::Ansi);
    }
}
