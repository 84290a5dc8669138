//! The server is a listener in this process that answers what servers answered.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use super::*;

/// Elasticsearch 8, two hits with one score in the order in which a shard gave them.
const ELASTICSEARCH: &str = r#"{"took":3,"timed_out":false,"_shards":{"total":1,"successful":1,"skipped":0,"failed":0},
"hits":{"total":{"value":3,"relation":"eq"},"max_score":2.1,"hits":[
{"_index":"wiki","_id":"c","_score":2.1,"_source":{"text":"Ferries leave at nine.","meta":{"doc":"ferry-1"}},"sort":[2.1]},
{"_index":"wiki","_id":"b","_score":1.5,"_source":{"text":["Two lines,","one text."],"meta":{"doc":7}},"sort":[1.5]},
{"_index":"wiki","_id":"a","_score":1.5,"_source":{"text":"Bridges.","meta":{"doc":"bridge"}},"sort":[1.5]}]}}"#;
/// Quickwit has no ids of documents.
const QUICKWIT: &str = r#"{"took":1,"timed_out":false,"_shards":{"total":0,"successful":0,"skipped":0,"failed":0},
"hits":{"total":{"value":1,"relation":"eq"},"max_score":null,"hits":[
{"_index":"wiki","_id":"","_score":null,"_source":{"text":"Ferries.","doc":"ferry-1"},"sort":[1.25]}]}}"#;
const OPENSEARCH_ERROR: &str = r#"{"error":{"root_cause":[{"type":"index_not_found_exception","reason":"no such index [wiki]"}],
"type":"index_not_found_exception","reason":"no such index [wiki]","index":"wiki"},"status":404}"#;

/// Head and body of each request.
type Heard = Arc<Mutex<Vec<(String, String)>>>;

/// Serves one answer again and again; its address, and what was heard: head and body of each request.
fn serve(status: u16, body: impl Into<Vec<u8>>) -> (String, Heard) {
    let body = body.into();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let own = Arc::clone(&heard);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { break };
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut head = String::new();
            let mut length = 0;
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                    break;
                }
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                head += &line;
            }
            let mut asked = vec![0; length];
            std::io::Read::read_exact(&mut reader, &mut asked).unwrap();
            own.lock().unwrap().push((head, String::from_utf8(asked).unwrap()));
            let head = format!(
                "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\nLocation: \
                 http://127.0.0.1:1/\r\nConnection: close\r\n\r\n",
                body.len()
            );
            let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&body));
        }
    });
    (address, heard)
}

fn settings(url: String) -> SearchServerSettings {
    SearchServerSettings {
        url,
        index: "wiki".to_owned(),
        text_field: "text".to_owned(),
        document_field: None,
        authorization: None,
        timeout: Duration::from_secs(10),
    }
}

fn server(url: String) -> SearchServer {
    SearchServer::new(settings(url)).unwrap()
}

#[test]
fn hits_become_chunks_in_the_order_of_their_scores_and_ties_in_that_of_their_ids() {
    let (address, heard) = serve(200, ELASTICSEARCH);
    let with_document = SearchServerSettings {
        document_field: Some("meta.doc".to_owned()),
        ..settings(format!("http://{address}/search/"))
    };
    let server = SearchServer::new(with_document).unwrap();
    let found = server.retrieve("when \"does* AND the ferry leave?", 3).unwrap();
    let seen: Vec<(&str, &str, &str, f64)> = found
        .chunks
        .iter()
        .map(|chunk| (&*chunk.id, &*chunk.document_id, &*chunk.text, chunk.score))
        .collect();
    assert_eq!(
        seen,
        [
            ("c", "ferry-1", "Ferries leave at nine.", 2.1),
            ("a", "bridge", "Bridges.", 1.5),
            ("b", "7", "Two lines,\none text.", 1.5),
        ]
    );
    assert_eq!(server.retrieve("x", 1).unwrap().chunks.len(), 1, "never more than K");
    let heard = heard.lock().unwrap();
    let (head, body) = &heard[0];
    assert!(head.starts_with("POST /search/wiki/_search?allow_partial_search_results=false&_source_includes=text,meta.doc HTTP/1.1"), "{head}");
    assert!(!head.to_lowercase().contains("authorization"), "{head}");
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["size"], 3);
    // A question is words; a match query has no operators.
    assert_eq!(body["query"]["match"]["text"]["query"], "when \"does* AND the ferry leave?");
    assert_eq!(server.settings()["server"], format!("http://{address}/search"));
}

#[test]
fn quickwits_answers_need_a_field_for_the_document_and_have_their_score_as_sort_value() {
    let (address, _) = serve(200, QUICKWIT);
    let url = format!("http://{address}/api/v1/_elastic");
    let message = server(url.clone()).retrieve("ferry", 5).unwrap_err().to_string();
    assert!(message.contains("hit 1 has no _id") && message.contains("--document-field"), "{message}");
    let named = SearchServerSettings { document_field: Some("doc".to_owned()), ..settings(url) };
    let found = SearchServer::new(named).unwrap();
    let found = found.retrieve("ferry", 5).unwrap();
    assert_eq!((&*found.chunks[0].id, found.chunks[0].score), ("ferry-1", 1.25));
}

#[test]
fn a_question_without_words_is_not_sent() {
    let (address, heard) = serve(200, ELASTICSEARCH);
    let server = server(format!("http://{address}"));
    for question in ["", " ?! ", "…"] {
        assert_eq!(server.retrieve(question, 5).unwrap().state, RetrievalState::NoSearchableWords);
    }
    assert!(heard.lock().unwrap().is_empty());
}

#[test]
fn credentials_are_sent_and_never_shown() {
    let quoting = r#"{"error":{"reason":"unable to authenticate with dXNlcjpwQHNz\u001b[2J"},"status":401}"#;
    let (address, heard) = serve(401, quoting);
    let server = server(format!("http://user:p%40ss@{address}"));
    let message = server.retrieve("ferry", 5).unwrap_err().to_string();
    assert!(message.contains("status 401: unable to authenticate with ***"), "{message}");
    assert!(
        message.contains(&format!("http://{address}")) && message.contains("RAGSCOPE_SEARCH_AUTHORIZATION")
    );
    for secret in ["p@ss", "p%40ss", "dXNlcjpwQHNz", "\u{1b}"] {
        assert!(
            !message.contains(secret) && !format!("{:?}", server.settings()).contains(secret),
            "{message}"
        );
    }
    let head = heard.lock().unwrap()[0].0.to_lowercase();
    assert!(
        head.contains(&format!("authorization: basic {}", base64(b"user:p@ss").to_lowercase())),
        "{head}"
    );
    let keyed = SearchServerSettings {
        authorization: Some("ApiKey abc123".to_owned()),
        ..settings(format!("http://{address}"))
    };
    let message = SearchServer::new(keyed).unwrap().retrieve("ferry", 5).unwrap_err().to_string();
    assert!(!message.contains("abc123"));
    assert!(heard.lock().unwrap()[1].0.to_lowercase().contains("authorization: apikey abc123"));
}

#[test]
fn what_is_no_whole_answer_is_an_error_that_names_address_and_status() {
    let partial = ELASTICSEARCH
        .replace(r#""successful":1,"skipped":0,"failed":0"#, r#""successful":1,"skipped":0,"failed":2"#);
    let timed_out = ELASTICSEARCH.replace(r#""timed_out":false"#, r#""timed_out":true"#);
    let without_text = ELASTICSEARCH.replace(r#""text":"Bridges.""#, r#""body":"Bridges.""#);
    for (status, body, words) in [
        (
            404,
            OPENSEARCH_ERROR.to_owned(),
            "status 404: no such index [wiki]; look at the address and --index",
        ),
        (302, String::new(), "status 302; redirections are not followed"),
        (503, "<html>busy</html>".to_owned(), "status 503: <html>busy</html>; it is busy"),
        (200, partial, "it is partial: 2 of 1 shards failed"),
        (200, timed_out, "it is partial: the search timed out"),
        (200, without_text, "hit 3 has no text in the field text; it has body, meta"),
        (200, "[]".to_owned(), "it is not that of a search"),
        (200, ELASTICSEARCH[..200].to_owned(), "it is not that of a search"),
        (200, " ".repeat((LARGEST_ANSWER + 1) as usize), "larger than 32 MiB"),
    ] {
        let (address, _) = serve(status, body);
        let message = server(format!("http://{address}")).retrieve("ferry", 5).unwrap_err().to_string();
        assert!(message.contains(words) && message.contains(&address), "{words} not in {message}");
    }
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let message = server(format!("http://{closed}")).retrieve("ferry", 5).unwrap_err().to_string();
    assert!(message.contains("cannot be reached") && message.contains(&closed.to_string()), "{message}");
}

#[test]
fn a_server_that_says_nothing_is_left_after_the_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let impatient = SearchServerSettings { timeout: Duration::from_millis(200), ..settings(url) };
    let message = SearchServer::new(impatient).unwrap().retrieve("ferry", 5).unwrap_err().to_string();
    assert!(message.contains("cannot be reached") && message.contains("timeout"), "{message}");
}

#[test]
fn addresses_indexes_and_fields_that_cannot_be_are_refused_before_anything_is_sent() {
    let refused = |change: &dyn Fn(&mut SearchServerSettings)| {
        let mut settings = settings("http://h:9200".to_owned());
        change(&mut settings);
        SearchServer::new(settings).err().expect("refused").to_string()
    };
    for url in
        ["h:9200", "ftp://h", "http://", "http://h/x?y", "http://a b", "http://u%4@h", "http://h/\u{1b}"]
    {
        let message = refused(&|settings| settings.url = url.to_owned());
        assert!(message.contains("the address: expected"), "{message}");
    }
    for name in ["", "a/b", "_all", "a?b", "a b", "é"] {
        assert!(refused(&|settings| settings.index = name.to_owned()).contains("the index"));
        assert!(refused(&|settings| settings.text_field = name.to_owned()).contains("the text field"));
        assert!(refused(&|s| s.document_field = Some(name.to_owned())).contains("the document field"));
    }
}

#[test]
fn base64_is_that_of_rfc_4648() {
    for (bytes, text) in [
        ("", ""),
        ("f", "Zg=="),
        ("fo", "Zm8="),
        ("foo", "Zm9v"),
        ("foob", "Zm9vYg=="),
        ("foobar", "Zm9vYmFy"),
    ] {
        assert_eq!(base64(bytes.as_bytes()), text);
    }
}
