//! A real browser without a window, driven by the `DevTools` protocol over two pipes.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Longest wait for an answer: a start from a cold disk on a busy machine takes its time.
const PATIENCE: Duration = Duration::from_secs(120);

/// The browser of this machine: `RAGSCOPE_CHROMIUM`, else what the path has.
fn chromium() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("RAGSCOPE_CHROMIUM").filter(|path| !path.is_empty()) {
        return Some(PathBuf::from(named));
    }
    let path = std::env::var_os("PATH")?;
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
        .iter()
        .flat_map(|name| std::env::split_paths(&path).map(move |folder| folder.join(name)))
        .find(|file| file.is_file())
}

/// A running browser with one page. It ends with its value.
pub struct Browser {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    events: VecDeque<Value>,
    session: Option<String>,
    last: u64,
    folder: tempfile::TempDir,
}

impl Browser {
    /// Starts it, or says why `test` is skipped.
    pub fn start(test: &str) -> Option<Self> {
        let Some(chromium) = chromium() else {
            println!(
                "{test}: skipped, there is no Chromium here (install `chromium`, or RAGSCOPE_CHROMIUM=PATH)"
            );
            return None;
        };
        let folder = tempfile::tempdir().expect("a temporary folder");
        // The protocol wants file descriptors 3 and 4, and the shell gives them.
        let mut command = Command::new("sh");
        command
            .args(["-c", "exec \"$@\" 3<&0 4>&1 0</dev/null 1>/dev/null", "sh"])
            .arg(chromium)
            .args(["--headless", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args([
                "--host-resolver-rules=MAP * ~NOTFOUND",
                "--hide-scrollbars",
                "--force-device-scale-factor=1",
            ])
            .arg("--window-size=1200,900")
            .arg(format!("--user-data-dir={}", folder.path().join("profile").display()));
        if is_root() {
            command.arg("--no-sandbox");
        }
        command.arg("about:blank").env("HOME", folder.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("a shell");
        let input = child.stdin.take().expect("a pipe");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, messages) = mpsc::channel();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            while output.read_until(0, &mut bytes).is_ok_and(|length| length > 0) {
                let message = serde_json::from_slice(bytes.strip_suffix(&[0]).unwrap_or(&bytes));
                if message.is_ok_and(|message| sender.send(message).is_err()) {
                    break;
                }
                bytes.clear();
            }
        });
        let mut browser =
            Self { child, input, messages, events: VecDeque::new(), session: None, last: 0, folder };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }));
        let target = target["targetId"].as_str().expect("a target").to_owned();
        let session = browser.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        browser.session = Some(session["sessionId"].as_str().expect("a session").to_owned());
        for domain in ["Page", "Runtime", "Network", "Log", "DOM", "Accessibility"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        Some(browser)
    }

    /// Calls a method and gives its result.
    #[track_caller]
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let mut request = json!({ "id": self.last, "method": method });
        request["params"] = params;
        if let Some(session) = &self.session {
            request["sessionId"] = json!(session);
        }
        let mut bytes = request.to_string().into_bytes();
        bytes.push(0);
        self.input.write_all(&bytes).and_then(|()| self.input.flush()).expect("the browser listens");
        let end = Instant::now() + PATIENCE;
        loop {
            let mut message = self.message(end, method);
            if message["id"] == self.last {
                assert!(message.get("error").is_none(), "{method}: {}", message["error"]);
                return message["result"].take();
            }
        }
    }

    /// The next message; an event is kept.
    #[track_caller]
    fn message(&mut self, end: Instant, awaited: &str) -> Value {
        let left = end.saturating_duration_since(Instant::now());
        let message = self.messages.recv_timeout(left).unwrap_or_else(|error| {
            panic!("no answer to {awaited} in {} s ({error}); does Chromium start here?", PATIENCE.as_secs())
        });
        if message.get("method").is_some() {
            self.events.push_back(message.clone());
        }
        message
    }

    /// Opens a page of this text and waits until it is loaded.
    #[track_caller]
    pub fn open(&mut self, html: &str) {
        let path = self.folder.path().join("report.html");
        std::fs::write(&path, html).expect("a file in a temporary folder");
        self.events.clear();
        self.call("Page.navigate", json!({ "url": url(&path) }));
        let end = Instant::now() + PATIENCE;
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            self.message(end, "the page's load event");
        }
    }

    /// The address of the opened page.
    pub fn address(&self) -> String {
        url(&self.folder.path().join("report.html"))
    }

    /// What happened since the page was opened.
    pub fn events(&self, method: &str) -> Vec<&Value> {
        self.events.iter().filter(|event| event["method"] == method).map(|event| &event["params"]).collect()
    }

    /// The value of a script's expression, awaited where it is a promise.
    #[track_caller]
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let mut result = self.call("Runtime.evaluate", params);
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {}", result["exceptionDetails"]);
        result["result"]["value"].take()
    }

    /// The same as text.
    #[track_caller]
    pub fn text(&mut self, expression: &str) -> String {
        let value = self.evaluate(expression);
        value.as_str().map_or_else(|| value.to_string(), str::to_owned)
    }

    /// Presses a key as a person does.
    #[track_caller]
    pub fn press(&mut self, key: &str) {
        let (code, number, text) = match key {
            "Tab" => ("Tab", 9, ""),
            "Enter" => ("Enter", 13, "\r"),
            "Space" => ("Space", 32, " "),
            "ArrowRight" => ("ArrowRight", 39, ""),
            "ArrowLeft" => ("ArrowLeft", 37, ""),
            "Home" => ("Home", 36, ""),
            "End" => ("End", 35, ""),
            other => panic!("which key is {other}?"),
        };
        let name = if key == "Space" { " " } else { key };
        let mut down = json!({ "type": if text.is_empty() { "rawKeyDown" } else { "keyDown" }, "key": name,
                               "code": code, "windowsVirtualKeyCode": number, "nativeVirtualKeyCode": number });
        if !text.is_empty() {
            down["text"] = json!(text);
        }
        self.call("Input.dispatchKeyEvent", down);
        self.call(
            "Input.dispatchKeyEvent",
            json!({ "type": "keyUp", "key": name, "code": code,
                  "windowsVirtualKeyCode": number, "nativeVirtualKeyCode": number }),
        );
    }

    /// Shows the page as a medium and colour scheme have it.
    pub fn emulate(&mut self, medium: &str, scheme: &str) {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", json!({ "media": medium, "features": features }));
    }

    /// Keeps a picture of the window where `RAGSCOPE_SCREENSHOTS` names a folder.
    pub fn picture(&mut self, name: &str) {
        let Some(folder) = std::env::var_os("RAGSCOPE_SCREENSHOTS") else { return };
        let shot = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        let bytes = from_base64(shot["data"].as_str().unwrap_or_default());
        std::fs::write(Path::new(&folder).join(format!("{name}.png")), bytes).expect("the named folder");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn url(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// Chromium refuses its sandbox to the superuser.
fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

/// Base 64 of RFC 4648 section 4.
pub fn from_base64(text: &str) -> Vec<u8> {
    let value = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let digits: Vec<u32> = text.bytes().filter_map(value).map(u32::from).collect();
    let mut bytes = Vec::new();
    for group in digits.chunks(4) {
        let joined = group.iter().fold(0, |joined, digit| joined << 6 | digit) << (6 * (4 - group.len()));
        bytes.extend(joined.to_be_bytes().iter().skip(1).take(group.len().saturating_sub(1)));
    }
    bytes
}
