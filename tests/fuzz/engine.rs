//! Runs a target over mutations of its seeds and tells what happened.

use std::collections::{BTreeMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once};
use std::time::{Duration, Instant};

use ragscope::metrics::Random;

use crate::mutation::{Kind, Mutator};

/// One execution may take so long, in the slowest build.
const LONGEST: Duration = Duration::from_secs(60);
/// Inputs kept because their outcome was new.
const MOST_KEPT: usize = 3000;
const MOST_CRASHES: usize = 8;

/// What reads.
pub struct Target {
    pub name: &'static str,
    pub kind: Kind,
    pub seeds: Vec<Vec<u8>>,
    /// Words that mean something to this reader.
    pub words: Vec<Vec<u8>>,
    /// Reads an input; the outcome in a few words. A broken promise is a panic.
    pub read: Box<dyn Fn(&[u8]) -> String + Send + Sync>,
}

#[derive(Clone, Copy)]
pub enum Limit {
    Executions(u64),
    Seconds(u64),
}

pub struct Run {
    pub executions: u64,
    pub outcomes: usize,
    pub accepted: u64,
    pub crashes: Vec<String>,
    seconds: f64,
}

impl Run {
    /// A row of the table in `docs/trust.md`.
    pub fn line(&self, target: &Target) -> String {
        format!(
            "FUZZ\t{}\t{}\t{}\t{}\t{}\t{:.0}\t{}",
            target.name,
            self.executions,
            self.accepted,
            self.outcomes,
            self.crashes.len(),
            self.seconds,
            peak_memory()
        )
    }
}

/// Most memory that the process had, in MiB.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|number| number.parse::<u64>().ok()).unwrap_or(0) / 1024
}

/// What the last panic of this thread said.
static SAID: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());

fn thread() -> String {
    format!("{:?}", std::thread::current().id())
}

fn listen_to_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let quiet =
                SAID.lock().unwrap_or_else(std::sync::PoisonError::into_inner).contains_key(&thread());
            if !quiet {
                return before(panic);
            }
            let place = panic.location().map_or_else(String::new, ToString::to_string);
            let payload = panic.payload();
            let text = payload
                .downcast_ref::<&str>()
                .map(|text| (*text).to_owned())
                .or_else(|| payload.downcast_ref::<String>().cloned())
                .unwrap_or_default();
            let mut said = SAID.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            said.insert(thread(), format!("{place}: {text}"));
        }));
    });
}

/// Ends the process when one execution takes too long: the input lies in the file of the last one.
struct Watch(Arc<AtomicBool>, Arc<AtomicU64>);

impl Watch {
    fn begin(name: &'static str) -> Self {
        let watch = Self(Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (ended, count) = (Arc::clone(&watch.0), Arc::clone(&watch.1));
        std::thread::spawn(move || {
            let (mut last, mut since) = (0, Instant::now());
            while !ended.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(50));
                let now = count.load(Ordering::Relaxed);
                if now != last {
                    (last, since) = (now, Instant::now());
                } else if since.elapsed() > LONGEST {
                    eprintln!("{name}: one input took more than {LONGEST:?}");
                    std::process::abort();
                }
            }
        });
        watch
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Inputs that once broke something.
fn regressions(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzz/regressions").join(name);
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().filter_map(|path| std::fs::read(path).ok()).collect()
}

pub fn run(target: &Target, limit: Limit, seed: u64) -> Run {
    listen_to_panics();
    let started = Instant::now();
    let last = std::env::var_os("RAGSCOPE_FUZZ_LAST").map(PathBuf::from);
    let kept_in = std::env::var_os("RAGSCOPE_FUZZ_CRASHES").map(PathBuf::from);
    let watch = Watch::begin(target.name);
    let mut random = Random::new(seed);
    let mut run = Run { executions: 0, outcomes: 0, accepted: 0, crashes: Vec::new(), seconds: 0.0 };
    let mut seen: HashSet<String> = HashSet::new();
    let mut places: HashSet<String> = HashSet::new();
    let known = regressions(target.name);
    let mut corpus: Vec<Vec<u8>> = target.seeds.clone();
    assert!(!corpus.is_empty(), "{} has no seeds", target.name);
    let first: Vec<Vec<u8>> = known.into_iter().chain(corpus.iter().cloned()).collect();
    let mut first = first.into_iter();
    SAID.lock().unwrap_or_else(std::sync::PoisonError::into_inner).insert(thread(), String::new());
    loop {
        let over = match limit {
            Limit::Executions(most) => run.executions >= most,
            Limit::Seconds(most) => started.elapsed().as_secs() >= most,
        };
        if over || run.crashes.len() >= MOST_CRASHES {
            break;
        }
        let input = first.next().unwrap_or_else(|| {
            let mut mutator = Mutator {
                random: &mut random,
                kind: target.kind,
                words: &target.words,
                seeds: target.seeds.len(),
            };
            mutator.mutate(&corpus)
        });
        if let Some(path) = &last {
            let _ = std::fs::write(path, &input);
        }
        watch.1.fetch_add(1, Ordering::Relaxed);
        run.executions += 1;
        match catch_unwind(AssertUnwindSafe(|| (target.read)(&input))) {
            Ok(outcome) => {
                run.accepted += u64::from(outcome.starts_with("ok"));
                let new = seen.insert(skeleton(&outcome));
                if new && corpus.len() < MOST_KEPT && input.len() < (1 << 18) {
                    corpus.push(input);
                }
            }
            Err(_) => {
                let said = SAID.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                let said = said.get(&thread()).cloned().unwrap_or_default();
                // One report for each place.
                let place: String = skeleton(said.split(": ").next().unwrap_or_default());
                if places.insert(place) {
                    if let Some(folder) = &kept_in {
                        let name = format!("{}-{}", target.name, run.crashes.len());
                        let _ = std::fs::create_dir_all(folder);
                        let _ = std::fs::write(folder.join(name), &input);
                    }
                    let shown: String = String::from_utf8_lossy(&input).escape_debug().take(400).collect();
                    run.crashes.push(format!("{said} (input of {} bytes: {shown})", input.len()));
                }
            }
        }
    }
    SAID.lock().unwrap_or_else(std::sync::PoisonError::into_inner).remove(&thread());
    run.outcomes = seen.len();
    run.seconds = started.elapsed().as_secs_f64();
    run
}

/// An outcome without what differs from input to input: numbers and quoted text.
fn skeleton(outcome: &str) -> String {
    let mut out = String::new();
    let mut quote = None;
    for c in outcome.chars().take(600) {
        match quote {
            Some(end) if c == end => quote = None,
            Some(_) => {}
            None if matches!(c, '`' | '"') => quote = Some(c),
            None if c.is_ascii_digit() => {
                if !out.ends_with('#') {
                    out.push('#');
                }
            }
            None => out.push(c),
        }
    }
    out
}

/// Words that mean something to a reader.
pub fn words(words: &[&str]) -> Vec<Vec<u8>> {
    words.iter().map(|word| word.as_bytes().to_vec()).collect()
}

/// What an error says: never a file full of it.
pub fn said(error: &dyn std::fmt::Display) -> String {
    let said = error.to_string();
    assert!(said.len() < 30_000, "an error of {} bytes", said.len());
    assert!(!said.chars().any(|c| c.is_control() && c != '\n'), "a control character in {said:?}");
    said
}
