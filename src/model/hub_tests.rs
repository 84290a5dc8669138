//! The hub is a listener in this process that speaks as much HTTP as is needed.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use sha2::{Digest, Sha256};

use super::*;
use crate::text::hexadecimal;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const BLOB: &str = "89abcdef0123456789abcdef0123456789abcdef";

/// Files by name, and how the server misbehaves.
#[derive(Default)]
struct Served {
    files: BTreeMap<String, Vec<u8>>,
    /// Bytes of a file after which the connection ends, once for each entry.
    cuts: Vec<usize>,
    /// Answers that it gives instead, by status.
    status: Option<u16>,
    ignores_ranges: bool,
    /// What is published in place of the hash of the weights.
    published: Option<String>,
    /// First line, range and token of each request.
    heard: Vec<(String, Option<String>, Option<String>)>,
}

fn sha256(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

fn list(served: &Served) -> Vec<u8> {
    let siblings: Vec<serde_json::Value> = served
        .files
        .iter()
        .map(|(name, bytes)| {
            let mut one = serde_json::json!({"rfilename": name, "size": bytes.len(), "blobId": BLOB});
            one["blobId"] = sha256(name.as_bytes())[..40].into();
            if name.ends_with(".safetensors") {
                let hash = served.published.clone().unwrap_or_else(|| sha256(bytes));
                one["lfs"] = serde_json::json!({"sha256": hash, "size": bytes.len()});
            }
            one
        })
        .collect();
    serde_json::json!({"sha": COMMIT, "siblings": siblings}).to_string().into_bytes()
}

/// Serves until the test ends; the address and what it holds.
fn serve(served: Served) -> (String, Arc<Mutex<Served>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let shared = Arc::new(Mutex::new(served));
    let held = Arc::clone(&shared);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { break };
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            let first = lines.next().and_then(Result::ok).unwrap_or_default();
            let (mut range, mut token) = (None, None);
            for line in lines.map_while(Result::ok).take_while(|line| !line.is_empty()) {
                let lower = line.to_lowercase();
                if lower.starts_with("range: ") {
                    range = Some(line["range: ".len()..].to_owned());
                } else if lower.starts_with("authorization: ") {
                    token = Some(line["authorization: ".len()..].to_owned());
                }
            }
            let mut served = held.lock().unwrap();
            served.heard.push((first.clone(), range.clone(), token));
            let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
            let is_list = path.starts_with("/api/");
            let body = if is_list {
                Some(list(&served))
            } else {
                path.rsplit('/').next().and_then(|name| served.files.get(name).cloned())
            };
            let (status, body, cut) = match (served.status, body) {
                (Some(status), _) => (status, Vec::new(), None),
                (None, None) => (404, Vec::new(), None),
                (None, Some(body)) if is_list => (200, body, None),
                (None, Some(body)) => {
                    let from = range.filter(|_| !served.ignores_ranges).and_then(|range| {
                        range.strip_prefix("bytes=")?.strip_suffix('-')?.parse::<usize>().ok()
                    });
                    let cut = if body.len() > 100 { served.cuts.pop() } else { None };
                    (if from.is_some() { 206 } else { 200 }, body[from.unwrap_or(0)..].to_vec(), cut)
                }
            };
            let head =
                format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(head.as_bytes());
            let _ = stream.write_all(&body[..cut.unwrap_or(body.len())]);
        }
    });
    (address, shared)
}

fn model() -> Served {
    let weights: Vec<u8> = (0..1_000_000u32).map(|n| (n * 31 % 251) as u8).collect();
    let files = [
        ("config.json", b"{}".to_vec()),
        ("tokenizer.json", b"{\"a\":1}".to_vec()),
        ("model.safetensors", weights),
        ("consolidated.safetensors", vec![1; 500]),
        ("README.md", b"#".to_vec()),
        ("..json", b"out".to_vec()),
    ];
    Served { files: files.map(|(name, bytes)| (name.to_owned(), bytes)).into(), ..Served::default() }
}

fn variables(pairs: Vec<(&'static str, String)>) -> impl Fn(&str) -> Option<OsString> {
    move |name| pairs.iter().find(|pair| pair.0 == name).map(|pair| OsString::from(&pair.1))
}

fn environment(address: &str, cache: &Path) -> Vec<(&'static str, String)> {
    vec![("HF_ENDPOINT", format!("{address}/")), ("HF_HUB_CACHE", cache.display().to_string())]
}

fn fetch(address: &str, cache: &Path) -> Result<PathBuf, HubError> {
    let hub = Hub::from_environment(&variables(environment(address, cache)))?;
    hub.fetch("org/tiny", &AtomicBool::new(false), &mut |_| ())
}

#[test]
fn a_repository_comes_into_the_layout_of_the_hubs_own_tools_and_is_found_there() {
    let (address, shared) = serve(model());
    let cache = tempfile::tempdir().unwrap();
    let mut pairs = environment(&address, cache.path());
    pairs.push(("HF_TOKEN", " secret ".to_owned()));
    let variable = variables(pairs);
    let hub = Hub::from_environment(&variable).unwrap();
    let mut told = Vec::new();
    let snapshot =
        hub.fetch("org/tiny", &AtomicBool::new(false), &mut |progress| told.push(progress)).unwrap();
    assert_eq!(snapshot, cache.path().join("models--org--tiny/snapshots").join(COMMIT));
    assert_eq!(Repository::parse("org/tiny").unwrap().find(&variable).unwrap(), snapshot);
    let mut names: Vec<String> = fs::read_dir(&snapshot)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    assert_eq!(names, ["config.json", "model.safetensors", "tokenizer.json"]);
    let weights = shared.lock().unwrap().files["model.safetensors"].clone();
    assert!(fs::read(snapshot.join("model.safetensors")).unwrap() == weights);
    #[cfg(unix)]
    assert_eq!(
        fs::read_link(snapshot.join("model.safetensors")).unwrap(),
        Path::new("../../blobs").join(sha256(&weights))
    );
    assert!(told.windows(2).all(|pair| pair[0].bytes <= pair[1].bytes));
    let last = told.last().unwrap();
    assert_eq!((last.stage, last.bytes, last.total), (FetchStage::Done, 1_000_009, 1_000_009));
    let heard = std::mem::take(&mut shared.lock().unwrap().heard);
    assert!(heard.iter().all(|(_, _, token)| token.as_deref() == Some("Bearer secret")), "{heard:?}");
    assert!(heard[0].0.contains("/api/models/org/tiny/revision/main?blobs=true"), "{heard:?}");
    assert_eq!(heard.len(), 4);
    // A second time nothing but the list is asked for.
    hub.fetch("org/tiny@main", &AtomicBool::new(false), &mut |_| ()).unwrap();
    assert_eq!(shared.lock().unwrap().heard.len(), 1);
}

#[test]
fn a_download_that_broke_off_goes_on_where_it_stopped() {
    for ignores_ranges in [false, true] {
        let (address, shared) = serve(Served { cuts: vec![300_000], ignores_ranges, ..model() });
        let cache = tempfile::tempdir().unwrap();
        let error = fetch(&address, cache.path()).unwrap_err();
        assert!(matches!(error, HubError::Network { .. }), "{error}");
        assert!(error.to_string().contains("goes on from there"));
        let variable = variables(environment(&address, cache.path()));
        assert!(Repository::parse("org/tiny").unwrap().find(&variable).is_err(), "nothing to be seen yet");
        let snapshot = fetch(&address, cache.path()).unwrap();
        let served = shared.lock().unwrap();
        assert!(fs::read(snapshot.join("model.safetensors")).unwrap() == served.files["model.safetensors"]);
        let ranges: Vec<&str> = served.heard.iter().filter_map(|heard| heard.1.as_deref()).collect();
        let [range] = ranges[..] else { panic!("{ranges:?}") };
        let from: usize = range["bytes=".len()..].trim_end_matches('-').parse().unwrap();
        assert!((1..=300_000).contains(&from), "{range}");
    }
}

#[test]
fn a_file_with_another_hash_or_size_is_thrown_away_and_never_resumed() {
    let (address, shared) = serve(Served { published: Some("ab".repeat(32)), ..model() });
    let cache = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        let error = fetch(&address, cache.path()).unwrap_err();
        assert!(matches!(error, HubError::Wrong { .. }), "{error}");
        assert!(error.to_string().contains("model.safetensors of org/tiny"), "{error}");
    }
    let left: Vec<_> = fs::read_dir(cache.path().join("models--org--tiny/blobs"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 1, "config.json alone: {left:?}");
    assert!(shared.lock().unwrap().heard.iter().all(|heard| heard.1.is_none()));
}

#[test]
fn what_the_hub_refuses_is_told_with_the_next_step() {
    let refused = |served: Served, pairs: &[(&'static str, &str)]| {
        let (address, _) = serve(served);
        let cache = tempfile::tempdir().unwrap();
        let mut all = environment(&address, cache.path());
        all.extend(pairs.iter().map(|(name, value)| (*name, (*value).to_owned())));
        let hub = Hub::from_environment(&variables(all))?;
        hub.fetch("org/tiny", &AtomicBool::new(false), &mut |_| ())
    };
    let status = |status| Served { status: Some(status), ..model() };
    let gated = refused(status(401), &[]).unwrap_err().to_string();
    assert!(gated.contains("/org/tiny") && gated.contains("HF_TOKEN") && !gated.contains("was refused"));
    let gated = refused(status(403), &[("HF_TOKEN", "hf_x")]).unwrap_err().to_string();
    assert!(gated.contains("was refused") && !gated.contains("hf_x"), "a secret is never printed: {gated}");
    assert!(matches!(refused(status(404), &[]), Err(HubError::Missing { .. })));
    assert!(matches!(refused(status(500), &[]), Err(HubError::Status { status: 500, .. })));
    assert!(matches!(refused(model(), &[("HF_HUB_OFFLINE", "1")]), Err(HubError::Offline)));
    assert!(refused(model(), &[("HF_HUB_OFFLINE", "0")]).is_ok());
    // A header cannot hold this; it is an error, not a panic.
    assert!(refused(model(), &[("HF_TOKEN", "a\nb")]).is_err());
    for missing in ["config.json", "tokenizer.json", "model.safetensors"] {
        let mut served = model();
        served.files.remove(missing);
        let error = refused(served, &[]).unwrap_err();
        assert!(matches!(error, HubError::NoModel { .. }), "{error}");
    }
    let nobody =
        Hub::from_environment(&variables(environment("http://127.0.0.1:1", Path::new("x")))).unwrap();
    let error = nobody.fetch("org/tiny", &AtomicBool::new(false), &mut |_| ()).unwrap_err();
    assert!(matches!(error, HubError::Network { .. }), "{error}");
    assert!(matches!(nobody.fetch("tiny", &AtomicBool::new(false), &mut |_| ()), Err(HubError::Name(_))));
}

#[test]
fn a_cancelled_download_leaves_what_came_and_no_model() {
    let (address, _) = serve(model());
    let cache = tempfile::tempdir().unwrap();
    let hub = Hub::from_environment(&variables(environment(&address, cache.path()))).unwrap();
    let error = hub.fetch("org/tiny", &AtomicBool::new(true), &mut |_| ()).unwrap_err();
    assert!(matches!(error, HubError::Cancelled));
    assert!(!cache.path().join("models--org--tiny/snapshots").exists());
    assert!(fetch(&address, cache.path()).is_ok());
}

#[test]
fn names_that_would_leave_the_folder_are_not_files_of_a_model() {
    for name in
        ["../model.safetensors", "a/model.safetensors", "/config.json", ".json", "model\u{1b}.json", "x.bin"]
    {
        assert!(!is_read(name), "{name}");
    }
    for name in ["config.json", "model-00001-of-00002.safetensors", "chat_template.jinja"] {
        assert!(is_read(name), "{name}");
    }
}
