//! Chunks of a search server that speaks Elasticsearch's `_search`: Elasticsearch itself, `OpenSearch`, Quickwit
//! (under `/api/v1/_elastic`). Nothing is sent anywhere unless the user names an address.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use ureq::Agent;

use crate::text::visible_line;

use super::{RetrievalError, RetrievalState, Retrieved, RetrievedChunk, Retriever};

/// Until a connection stands.
const CONNECT: Duration = Duration::from_secs(5);
/// An answer of top K chunks is small: one beyond this is no such answer.
const LARGEST_ANSWER: u64 = 32 << 20;
/// What is quoted of an error's body.
const QUOTED: usize = 300;

/// Where and how is searched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchServerSettings {
    /// `http://host:port`, `https://user:password@host/path`; the path is that before `/INDEX/_search`.
    pub url: String,
    /// Index, or several by comma and `*`.
    pub index: String,
    /// The field that is matched and read as the chunk's text; dots lead into objects.
    pub text_field: String,
    /// The field that names the document; `None`: the hit's own `_id`.
    pub document_field: Option<String>,
    /// The whole value of an `Authorization` header, where the address holds no user.
    pub authorization: Option<String>,
    /// Until an answer has come whole.
    pub timeout: Duration,
}

/// A search server as a [`Retriever`].
///
/// The question is the text of a `match` query: words, never a query language. Partial answers (some shards failed or
/// timed out) are errors: chunks that were not looked at cannot be certified.
pub struct SearchServer {
    agent: Agent,
    /// Without credentials: what errors and settings show.
    url: String,
    /// The address of the request.
    endpoint: String,
    authorization: Option<String>,
    settings: SearchServerSettings,
}

impl SearchServer {
    /// Nothing is asked yet.
    ///
    /// # Errors
    /// An address, an index or a field that cannot be one.
    pub fn new(settings: SearchServerSettings) -> Result<Self, RetrievalError> {
        let wrong = |reason: String| RetrievalError::ServerSettings { reason };
        let Address { url, host, credentials } = Address::parse(&settings.url).map_err(wrong)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.,*@".contains(c);
        for (what, name) in [("index", Some(&settings.index)), ("text field", Some(&settings.text_field))]
            .into_iter()
            .chain([("document field", settings.document_field.as_ref())])
        {
            let Some(name) = name else { continue };
            if name.is_empty() || !name.chars().all(plain) || name.starts_with('_') {
                return Err(wrong(format!(
                    "the {what} {:?}: expected letters, digits, `-`, `_`, `.` and no `_` at its start",
                    visible_line(name)
                )));
            }
        }
        let fields: Vec<&str> =
            std::iter::once(settings.text_field.as_str()).chain(settings.document_field.as_deref()).collect();
        let endpoint = format!(
            "{url}/{}/_search?allow_partial_search_results=false&_source_includes={}",
            settings.index,
            fields.join(",")
        );
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            // An answer from elsewhere is another server's, and credentials are not for it.
            .max_redirects(0)
            .timeout_connect(Some(CONNECT))
            .timeout_global(Some(settings.timeout))
            .user_agent(concat!("ragscope/", env!("CARGO_PKG_VERSION")));
        if host == "localhost" || host.starts_with("127.") || host == "[::1]" {
            config = config.proxy(None);
        }
        let authorization = credentials
            .map(|credentials| format!("Basic {}", base64(credentials.as_bytes())))
            .or_else(|| settings.authorization.clone());
        Ok(Self { agent: config.build().into(), url, endpoint, authorization, settings })
    }

    /// The address without credentials.
    #[must_use]
    pub fn shown(&self) -> &str {
        &self.url
    }

    fn ask(&self, question: &str, k: usize) -> Result<Answer, RetrievalError> {
        let body = json!({
            "size": k,
            "query": { "match": { self.settings.text_field.as_str(): { "query": question } } },
            // Quickwit ranks by score only when it is told to.
            "sort": ["_score"],
        });
        let mut request = self
            .agent
            .post(&self.endpoint)
            .header("Content-Type", "application/json")
            .header("Accept", "application/json");
        if let Some(authorization) = &self.authorization {
            request = request.header("Authorization", authorization);
        }
        let unreachable = |error: &dyn std::fmt::Display| RetrievalError::Unreachable {
            url: self.url.clone(),
            reason: self.without_secrets(&error.to_string()),
        };
        let mut response = request.send(body.to_string()).map_err(|error| unreachable(&error))?;
        let status = response.status().as_u16();
        let mut bytes = Vec::new();
        let mut reader = response.body_mut().as_reader().take(LARGEST_ANSWER + 1);
        reader.read_to_end(&mut bytes).map_err(|error| unreachable(&error))?;
        if status != 200 {
            return Err(self.refused(status, &bytes));
        }
        if bytes.len() as u64 > LARGEST_ANSWER {
            return Err(self.useless(&format!("it is larger than {} MiB", LARGEST_ANSWER >> 20)));
        }
        serde_json::from_slice(&bytes)
            .map_err(|error| self.useless(&format!("it is not that of a search ({error})")))
    }

    fn refused(&self, status: u16, body: &[u8]) -> RetrievalError {
        let json: Value = serde_json::from_slice(body).unwrap_or_default();
        let reason = json["error"]["reason"]
            .as_str()
            .or_else(|| json["error"].as_str())
            .or_else(|| json["message"].as_str())
            .map_or_else(
                || String::from_utf8_lossy(&body[..body.len().min(QUOTED)]).into_owned(),
                str::to_owned,
            );
        let reason: String = self.without_secrets(&reason).chars().take(QUOTED).collect();
        RetrievalError::Status {
            url: self.url.clone(),
            status,
            said: if reason.trim().is_empty() { String::new() } else { format!(": {reason}") },
            advice: match status {
                401 | 403 => "name a user in the address, or a key in RAGSCOPE_SEARCH_AUTHORIZATION",
                404 => "look at the address and --index (Quickwit's address ends in /api/v1/_elastic)",
                300..=399 => "redirections are not followed: give the address that it names",
                429 | 503 => "it is busy: try again later",
                _ => "look at --index and --text-field, and at the server's own log",
            },
        }
    }

    fn useless(&self, reason: &str) -> RetrievalError {
        let reason = self.without_secrets(reason).chars().take(QUOTED).collect();
        RetrievalError::Answer { url: self.url.clone(), reason }
    }

    /// What others say may quote the request.
    fn without_secrets(&self, text: &str) -> String {
        let mut text = visible_line(text).into_owned();
        let secret = self.authorization.as_deref().and_then(|value| value.split(' ').next_back());
        if let Some(secret) = secret.filter(|secret| !secret.is_empty()) {
            text = text.replace(secret, "***");
        }
        text
    }

    fn chunk(&self, hit: &SearchHit, rank: usize) -> Result<RetrievedChunk<'static>, RetrievalError> {
        let field = |name: &str| text_at(&hit.source, name);
        let text = field(&self.settings.text_field).ok_or_else(|| {
            let there: Vec<&str> =
                hit.source.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
            self.useless(&format!(
                "hit {rank} has no text in the field {}; it has {}",
                self.settings.text_field,
                if there.is_empty() { "no field at all".to_owned() } else { there.join(", ") }
            ))
        })?;
        let own = hit.id.clone().filter(|id| !id.is_empty());
        let document = match &self.settings.document_field {
            Some(name) => field(name)
                .ok_or_else(|| self.useless(&format!("hit {rank} has nothing in the field {name}")))?,
            None => own.clone().ok_or_else(|| {
                self.useless(&format!(
                    "hit {rank} has no _id; name the field of the document with --document-field"
                ))
            })?,
        };
        // Quickwit ranks by score and may tell it as a sort value alone.
        let score =
            hit.score.or_else(|| hit.sort.first().and_then(Value::as_f64)).filter(|score| score.is_finite());
        let score = score.ok_or_else(|| self.useless(&format!("hit {rank} has no score")))?;
        Ok(RetrievedChunk {
            id: Cow::Owned(own.unwrap_or_else(|| document.clone())),
            document_id: Cow::Owned(document),
            text: Cow::Owned(text),
            range: None,
            score,
        })
    }
}

impl Retriever for SearchServer {
    fn retrieve(&self, question: &str, k: usize) -> Result<Retrieved<'_>, RetrievalError> {
        if !question.chars().any(char::is_alphanumeric) {
            return Ok(Retrieved { chunks: Vec::new(), state: RetrievalState::NoSearchableWords });
        }
        let answer = self.ask(question, k)?;
        if answer.timed_out {
            return Err(self.useless("it is partial: the search timed out"));
        }
        if let Some(shards) = answer.shards.filter(|shards| shards.failed > 0) {
            return Err(
                self.useless(&format!("it is partial: {} of {} shards failed", shards.failed, shards.total))
            );
        }
        let mut chunks = answer
            .hits
            .hits
            .iter()
            .enumerate()
            .map(|(at, hit)| self.chunk(hit, at + 1))
            .collect::<Result<Vec<_>, _>>()?;
        // Servers leave the order of equal scores to chance.
        chunks.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
        chunks.truncate(k);
        Ok(Retrieved { chunks, state: RetrievalState::Found })
    }

    fn name(&self) -> &'static str {
        "search server"
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let settings = &self.settings;
        [
            ("server", self.url.clone()),
            ("index", settings.index.clone()),
            ("text_field", settings.text_field.clone()),
            ("document_field", settings.document_field.clone().unwrap_or_else(|| "_id".to_owned())),
            ("query", "match".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    fn holds_document(&self, _: &str) -> Option<bool> {
        None
    }

    fn chunk_count(&self) -> Option<usize> {
        None
    }
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    timed_out: bool,
    #[serde(rename = "_shards")]
    shards: Option<Shards>,
    hits: Hits,
}

#[derive(Deserialize)]
struct Shards {
    #[serde(default)]
    total: u64,
    #[serde(default)]
    failed: u64,
}

#[derive(Deserialize)]
struct Hits {
    hits: Vec<SearchHit>,
}

#[derive(Deserialize)]
struct SearchHit {
    #[serde(rename = "_id")]
    id: Option<String>,
    #[serde(rename = "_score")]
    score: Option<f64>,
    #[serde(default)]
    sort: Vec<Value>,
    #[serde(rename = "_source", default)]
    source: Value,
}

/// The text of a field: by its whole name, else step by step into objects. Numbers are read as they are written, lists
/// by their lines.
fn text_at(source: &Value, name: &str) -> Option<String> {
    let value =
        source.get(name).or_else(|| name.split('.').try_fold(source, |value, step| value.get(step)))?;
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Array(parts) => {
            parts.iter().map(|part| part.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()?.join("\n")
        }
        _ => return None,
    };
    (!text.trim().is_empty()).then_some(text)
}

/// An address taken apart.
struct Address {
    /// Without user and trailing slash.
    url: String,
    host: String,
    credentials: Option<String>,
}

impl Address {
    fn parse(given: &str) -> Result<Self, String> {
        let (scheme, rest) = given
            .split_once("://")
            .filter(|(scheme, _)| ["http", "https"].contains(scheme))
            .ok_or("the address: expected http://host:port or https://host")?;
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        if path.contains(['?', '#']) || given.chars().any(|c| c.is_whitespace() || c.is_control()) {
            return Err("the address: expected no query, no fragment and no blanks".to_owned());
        }
        let (credentials, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(decoded(user)?), host),
            None => (None, authority),
        };
        let name = if host.starts_with('[') {
            host.split_inclusive(']').next().unwrap_or_default()
        } else {
            host.split(':').next().unwrap_or_default()
        };
        if name.is_empty() {
            return Err("the address: expected a host after ://".to_owned());
        }
        Ok(Self {
            url: format!("{scheme}://{host}{}", path.trim_end_matches('/')),
            host: name.to_owned(),
            credentials,
        })
    }
}

/// `%40` and the like.
fn decoded(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits =
            [rest.next(), rest.next()].map(|digit| digit.and_then(|digit| char::from(digit).to_digit(16)));
        match digits {
            [Some(high), Some(low)] => bytes.push((high * 16 + low) as u8),
            _ => return Err("the address: expected two digits after each % of the user".to_owned()),
        }
    }
    String::from_utf8(bytes).map_err(|_| "the address: the user is not UTF-8".to_owned())
}

/// RFC 4648, with padding.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |index: usize| u32::from(group.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for letter in 0..4 {
            if letter <= group.len() {
                text.push(char::from(ALPHABET[(bits >> (18 - 6 * letter) & 63) as usize]));
            } else {
                text.push('=');
            }
        }
    }
    text
}

#[cfg(test)]
#[path = "search_server_tests.rs"]
mod tests;
