//! What users write and keep: marks, key maps, settings and presets.

use ragscope::evidence::{
    ANNOTATION_SCHEMA, AnnotatedAnswer, AnnotationFile, Mark, MarkKind, ShownFlags, answer_hash,
};
use ragscope::tui::KeyMap;

use crate::engine::{Target, said, words};
use crate::importers::folder;
use crate::mutation::Kind;
use crate::sandbox::Sandbox;

fn annotations() -> Target {
    let place = folder();
    let path = place.path().join("data.annotations.jsonl");
    let answer = "It was 1932, \u{e9}\u{1f642}.";
    let marked = AnnotatedAnswer {
        schema: ANNOTATION_SCHEMA.to_owned(),
        id: "q1".to_owned(),
        row: 0,
        answer_hash: answer_hash(answer),
        shown: ShownFlags { detector: Some("cortex".to_owned()), token: 0.5, rho: 0.9, spans: vec![[7, 11]] },
        checked: true,
        marks: vec![Mark { start: 7, end: 11, kind: MarkKind::Missed, text: "1932".to_owned() }],
    };
    let line = serde_json::to_string(&marked).expect("JSON");
    Target {
        name: "annotations",
        kind: Kind::Json,
        seeds: vec![
            format!("{line}\n").into_bytes(),
            format!("{line}\n# a line of somebody else\n{line}\n").into_bytes(),
        ],
        words: words(&[
            "marks",
            "start",
            "end",
            "kind",
            "missed",
            "unsupported",
            "shown",
            "spans",
            ANNOTATION_SCHEMA,
        ]),
        read: Box::new(move |bytes| {
            let _kept = &place;
            std::fs::write(&path, bytes).expect("a file");
            match AnnotationFile::open(&path) {
                Ok((mut file, read, notices)) => {
                    file.save(&read).expect("it is written");
                    let (_, again, _) = AnnotationFile::open(&path).expect("what was written is read");
                    assert_eq!(again, read, "nothing is lost by saving");
                    format!("ok {} answers, {} notices", read.answers().count(), notices.len())
                }
                Err(error) => said(&error),
            }
        }),
    }
}

fn key_map() -> Target {
    let seeds = [
        "quit = \"q\"\nexample-down = [\"j\", \"Down\"]\n",
        "help = [\"?\", \"F1\", \"ctrl-h\"]\nquit = []\n",
    ];
    Target {
        name: "key-map",
        kind: Kind::Text,
        seeds: seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect(),
        words: words(&[
            "quit",
            "prompt-leave",
            "example-down",
            "ctrl-",
            "alt-",
            "shift-",
            "F12",
            "Space",
            "[",
            "]",
            "=",
            "[a]",
            "\"\"",
        ]),
        read: Box::new(|bytes| match KeyMap::parse(&String::from_utf8_lossy(bytes)) {
            Ok((map, notes)) => {
                let quit = map.entries().find(|(entry, _)| entry.name == "quit").expect("an action");
                assert!(!quit.1.is_empty(), "nobody gets out");
                format!("ok {} notes", notes.len())
            }
            Err(notes) => notes.iter().map(|note| said(&note.text)).collect(),
        }),
    }
}

/// The files of a configuration folder, read by the real binary.
fn configuration() -> Target {
    let sandbox = Sandbox::new();
    let folder = sandbox.cache().with_file_name("home").join(".config/ragscope");
    std::fs::create_dir_all(&folder).expect("a folder");
    let seeds = ["theme = \"dark\"\nalpha = 0.1\n", "[mine]\nalpha = 0.2\ntoken = 0.5\n", "quit = \"q\"\n"];
    Target {
        name: "configuration",
        kind: Kind::Text,
        seeds: seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect(),
        words: words(&[
            "theme",
            "alpha",
            "model",
            "token-threshold",
            "top-k",
            "rho",
            "[",
            "]",
            "=",
            "nan",
            "inf",
            "\"\"\"",
            "1979-05-27",
        ]),
        read: Box::new(move |bytes| {
            let mut outcome = String::new();
            for (name, command) in [("config.toml", "config"), ("keys.toml", "keys")] {
                std::fs::write(folder.join(name), bytes).expect("a file");
                let ran = sandbox.run(&[command]);
                std::fs::remove_file(folder.join(name)).expect("a file");
                assert!(ran.code.is_some_and(|code| [0, 2, 3].contains(&code)), "{ran}");
                assert!(!ran.stderr.contains("panicked") && ran.stderr.len() < 30_000, "{ran}");
                outcome += if ran.code == Some(0) { "ok " } else { "refused " };
                outcome += &ran.stderr;
                ran.harmless();
            }
            outcome
        }),
    }
}

pub fn targets() -> Vec<Target> {
    vec![annotations(), key_map(), configuration()]
}
