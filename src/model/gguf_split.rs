//! GGUF models in several files: `name-00001-of-00003.gguf` and so on, as llama.cpp's splitter names them.

use std::path::{Path, PathBuf};

/// The most files one model may claim; real ones have a few dozen.
const MOST_FILES: usize = 1000;

/// One file of a split model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SplitName {
    /// From 1.
    pub number: usize,
    /// All files, the first one first.
    pub files: Vec<PathBuf>,
}

/// What the name of a file says of being a part; `None` for a file that is a model of its own.
pub(crate) fn split_name(path: &Path) -> Option<SplitName> {
    let stem = path.file_name()?.to_str()?.strip_suffix(".gguf")?;
    let (rest, count) = stem.rsplit_once("-of-")?;
    let (base, number) = rest.rsplit_once('-')?;
    let five_digits = |text: &str| {
        let digits = text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<usize>().ok()).flatten()
    };
    let (number, count) = (five_digits(number)?, five_digits(count)?);
    if !(1..=MOST_FILES).contains(&count) || !(1..=count).contains(&number) {
        return None;
    }
    let file = |number| path.with_file_name(format!("{base}-{number:05}-of-{count:05}.gguf"));
    Some(SplitName { number, files: (1..=count).map(file).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_part_names_all_parts() {
        let found = split_name(Path::new("dir/my-model-00002-of-00003.gguf")).unwrap();
        assert_eq!(found.number, 2);
        assert_eq!(found.files.len(), 3);
        assert_eq!(found.files[0], Path::new("dir/my-model-00001-of-00003.gguf"));
        for name in [
            "model.gguf",
            "state-of-the-art.gguf",
            "m-00001-of-00003.bin",
            "m-1-of-3.gguf",
            "m-00004-of-00003.gguf",
            "m-00000-of-00003.gguf",
            "m-00001-of-99999.gguf",
        ] {
            assert_eq!(split_name(Path::new(name)), None, "{name}");
        }
    }
}
