//! What servers answer: a search server, and the hub that models come from. Both are a listener in this process.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ragscope::model::Hub;
use ragscope::retrieval::{RetrievalState, Retriever, SearchServer, SearchServerSettings};

use crate::engine::{Target, said, words};
use crate::importers::folder;
use crate::mutation::Kind;

/// Answers every request to an address that holds `about` with what is set, every other one with `{}`.
struct Server {
    address: String,
    answer: Arc<Mutex<Vec<u8>>>,
}

impl Server {
    fn start(about: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = format!("http://{}", listener.local_addr().expect("an address"));
        let answer = Arc::new(Mutex::new(Vec::new()));
        let shared = Arc::clone(&answer);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { break };
                let Ok(copy) = stream.try_clone() else { continue };
                let mut lines = BufReader::new(copy).lines().map_while(Result::ok);
                let first = lines.next().unwrap_or_default();
                let mut length = 0;
                for line in lines.by_ref().take_while(|line| !line.is_empty()) {
                    if let Some(number) = line.to_lowercase().strip_prefix("content-length: ") {
                        length = number.parse().unwrap_or(0);
                    }
                }
                // The question is one line of JSON without a line end: it may stay unread, but the connection must
                // not be closed on it.
                let body = if first.contains(about) {
                    shared.lock().unwrap_or_else(PoisonError::into_inner).clone()
                } else {
                    b"{}".to_vec()
                };
                let head =
                    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
                let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
                let _ = stream.shutdown(std::net::Shutdown::Write);
                if length > 0 {
                    let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
                    let _ = std::io::copy(&mut stream, &mut std::io::sink());
                }
            }
        });
        Self { address, answer }
    }

    fn answers(&self, bytes: &[u8]) {
        bytes.clone_into(&mut self.answer.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

fn search_server() -> Target {
    let server = Server::start("_search");
    let settings = SearchServerSettings {
        url: server.address.clone(),
        index: "docs".to_owned(),
        text_field: "body.text".to_owned(),
        document_field: None,
        authorization: Some("ApiKey c2VjcmV0".to_owned()),
        timeout: Duration::from_secs(20),
    };
    let client = SearchServer::new(settings).expect("an address");
    let seeds = [
        r#"{"took":1,"timed_out":false,"_shards":{"total":2,"successful":2,"failed":0},"hits":{"total":{"value":2},"hits":[
           {"_id":"a","_score":2.5,"_source":{"body":{"text":"At noon."}}},
           {"_id":"b","_score":null,"sort":[1.5],"_source":{"body.text":["At","night."]}}]}}"#,
        r#"{"hits":{"hits":[{"_id":"a","_score":1e300,"_source":{"body":{"text":7}}}]}}"#,
    ];
    Target {
        name: "search-server",
        kind: Kind::Json,
        seeds: seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect(),
        words: words(&[
            "_score",
            "_id",
            "_source",
            "hits",
            "sort",
            "timed_out",
            "_shards",
            "failed",
            "body.text",
        ]),
        read: Box::new(move |bytes| {
            server.answers(bytes);
            match client.retrieve("When does it open?", 3) {
                Ok(found) => {
                    assert!(found.state == RetrievalState::Found && found.chunks.len() <= 3);
                    let finite = |chunk: &ragscope::retrieval::RetrievedChunk<'_>| chunk.score.is_finite();
                    assert!(found.chunks.iter().all(finite), "a score that is not finite");
                    assert!(found.chunks.iter().all(|chunk| !chunk.text.trim().is_empty()), "an empty chunk");
                    assert!(found.chunks.is_sorted_by(|one, next| one.score >= next.score), "out of order");
                    format!("ok {} chunks", found.chunks.len())
                }
                Err(error) => {
                    let said = said(&error);
                    assert!(!said.contains("c2VjcmV0"), "an error tells the key");
                    said
                }
            }
        }),
    }
}

fn hub() -> Target {
    let place = folder();
    let server = Server::start("/api/models/");
    let (hash, commit) =
        ("44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a", "0123456789abcdef");
    let seed = format!(
        r#"{{"sha":"{commit}","siblings":[{{"rfilename":"config.json","size":2,"blobId":"{commit}"}},
            {{"rfilename":"tokenizer.json","size":2,"blobId":"11{commit}"}},
            {{"rfilename":"model.safetensors","lfs":{{"sha256":"{hash}","size":2}}}},
            {{"rfilename":"README.md","size":9,"blobId":"22{commit}"}}]}}"#
    );
    Target {
        name: "hub-listing",
        kind: Kind::Json,
        seeds: vec![seed.into_bytes()],
        words: words(&[
            "rfilename",
            "../x.json",
            "size",
            "blobId",
            "lfs",
            "sha256",
            "..",
            "/etc/x.json",
            "a/b.json",
        ]),
        read: Box::new(move |bytes| {
            server.answers(bytes);
            let cache = place.path().join("cache");
            let (endpoint, folder) = (server.address.clone(), cache.clone());
            let variable = move |name: &str| match name {
                "HF_ENDPOINT" => Some(OsString::from(&endpoint)),
                "HF_HUB_CACHE" => Some(folder.clone().into_os_string()),
                _ => None,
            };
            let hub = Hub::from_environment(&variable).expect("a hub");
            let outcome = match hub.fetch("owner/name", &AtomicBool::new(false), &mut |_| ()) {
                Ok(snapshot) => {
                    assert!(snapshot.starts_with(&cache), "{} lies elsewhere", snapshot.display());
                    assert_eq!(std::fs::read(snapshot.join("config.json")).expect("a file"), b"{}");
                    "ok".to_owned()
                }
                Err(error) => said(&error),
            };
            let beside: Vec<_> = std::fs::read_dir(place.path()).expect("a folder").flatten().collect();
            assert!(
                beside.iter().all(|entry| entry.path() == cache),
                "{beside:?} was written beside the cache"
            );
            let _ = std::fs::remove_dir_all(&cache);
            outcome
        }),
    }
}

pub fn targets() -> Vec<Target> {
    vec![search_server(), hub()]
}
