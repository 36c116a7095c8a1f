//! How does a test look at a page as a person does: with a browser, a pointer and keys?
//!
//! Debian's chromium without a window, spoken to in the DevTools protocol through two pipes.

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Time that the browser may take for anything.
const PATIENCE: Duration = Duration::from_secs(120);

/// A browser with one page.
pub struct Browser {
    process: Child,
    commands: ChildStdin,
    said: Receiver<Value>,
    session: Option<String>,
    next: u64,
    /// Requests of the page, and errors in it.
    pub requests: Vec<String>,
    pub faults: Vec<String>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts it, with a window of so many columns and rows of dots.
    pub fn start(width: u32, height: u32) -> Browser {
        let profile = tempfile::tempdir().unwrap();
        // The protocol is on the descriptors 3 and 4, which the shell makes of standard input and output. As root there is
        // no sandbox, and the page is the test's own.
        let command = format!(
            "command -v chromium >/dev/null || exit 127; exec chromium --headless --no-sandbox --disable-gpu --no-first-run \
             --disable-dev-shm-usage --disable-background-networking --disable-component-update --hide-scrollbars \
             --force-prefers-reduced-motion --user-data-dir='{}' --window-size={width},{height} --remote-debugging-pipe \
             about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1",
            profile.path().display()
        );
        let mut process =
            Command::new("sh").args(["-c", &command]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (sender, said) = channel();
        let mut messages = BufReader::new(process.stdout.take().unwrap());
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while messages.read_until(0, &mut message).is_ok_and(|read| read > 0) {
                message.pop();
                let Ok(value) = serde_json::from_slice(&message) else { break };
                if sender.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let commands = process.stdin.take().unwrap();
        let (requests, faults) = (Vec::new(), Vec::new());
        let mut browser =
            Browser { process, commands, said, session: None, next: 0, requests, faults, _profile: profile };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        browser.session = Some(attached["sessionId"].as_str().unwrap().to_owned());
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        browser.call("Emulation.setDeviceMetricsOverride", size);
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Starts it as a phone's, which is touched.
    pub fn phone() -> Browser {
        let mut browser = Browser::start(390, 844);
        let size = json!({ "width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": true });
        browser.call("Emulation.setDeviceMetricsOverride", size);
        browser.call("Emulation.setTouchEmulationEnabled", json!({ "enabled": true }));
        browser
    }

    /// Has the browser do something; what it answers.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.next += 1;
        let mut message = json!({ "id": self.next, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        if self.commands.write_all(&bytes).and_then(|()| self.commands.flush()).is_err() {
            self.missing();
        }
        let wanted = self.next;
        loop {
            let message = self.message();
            if message["id"] == json!(wanted) {
                assert!(message["error"].is_null(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
        }
    }

    /// The next message; what it tells of requests and faults is kept.
    fn message(&mut self) -> Value {
        let Ok(message) = self.said.recv_timeout(PATIENCE) else { self.missing() };
        let parameters = &message["params"];
        match message["method"].as_str() {
            Some("Network.requestWillBeSent") => {
                self.requests.push(parameters["request"]["url"].as_str().unwrap().to_owned());
            }
            Some("Runtime.exceptionThrown") => self.faults.push(parameters["exceptionDetails"].to_string()),
            Some("Log.entryAdded") => self.faults.push(parameters["entry"].to_string()),
            Some("Page.javascriptDialogOpening") => self.faults.push(format!("a dialog: {parameters}")),
            _ => {}
        }
        message
    }

    fn missing(&mut self) -> ! {
        // One that is not there ends at once, and that is known a moment later than that it says nothing.
        std::thread::sleep(Duration::from_secs(1));
        match self.process.try_wait().unwrap().and_then(|status| status.code()) {
            Some(127) => panic!("no chromium in PATH, with which pages are looked at: `apt-get install chromium`"),
            status => panic!("chromium says no more: {status:?}"),
        }
    }

    /// Opens a file, and waits until it is there.
    pub fn open(&mut self, page: &Path) {
        self.call("Page.navigate", json!({ "url": format!("file://{}", page.canonicalize().unwrap().display()) }));
        loop {
            if self.message()["method"] == "Page.loadEventFired" {
                break;
            }
        }
    }

    /// The value of an expression.
    pub fn eval(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", parameters);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    /// The text of what a selector of CSS finds first.
    pub fn text(&mut self, selector: &str) -> String {
        let value = self.eval(&format!("document.querySelector({}).innerText", json!(selector)));
        value.as_str().unwrap_or_else(|| panic!("nothing is {selector}")).to_owned()
    }

    /// Number of elements that a selector finds.
    pub fn count(&mut self, selector: &str) -> u64 {
        self.eval(&format!("document.querySelectorAll({}).length", json!(selector))).as_u64().unwrap()
    }

    /// Waits until an expression holds: what a frame later is drawn.
    pub fn until(&mut self, expression: &str) {
        let begin = Instant::now();
        while self.eval(expression) != json!(true) {
            assert!(begin.elapsed() < PATIENCE, "never: {expression}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits for the rectangles of the map: they get their sizes with the first frame, which comes after the load.
    pub fn until_map(&mut self) {
        self.until("document.querySelector('.node') !== null");
    }

    /// Scrolls to an element, and tells where its middle is.
    fn middle(&mut self, selector: &str) -> (f64, f64) {
        let place = self.eval(&format!(
            "(() => {{ const own = document.querySelector({0}); if (!own) return null; \
             own.scrollIntoView({{ block: 'center', inline: 'center' }}); const box = own.getBoundingClientRect(); \
             return [box.left + box.width / 2, box.top + box.height / 2]; }})()",
            json!(selector)
        ));
        let (x, y) = (place[0].as_f64(), place[1].as_f64());
        let (Some(x), Some(y)) = (x, y) else { panic!("nothing is {selector}") };
        // Scrolling is reported a frame later.
        self.eval("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))");
        (x, y)
    }

    /// Puts the pointer on the middle of an element, which is scrolled to first.
    pub fn hover(&mut self, selector: &str) -> (f64, f64) {
        let (x, y) = self.middle(selector);
        self.call("Input.dispatchMouseEvent", json!({ "type": "mouseMoved", "x": x, "y": y }));
        (x, y)
    }

    /// Clicks on the middle of an element.
    pub fn click(&mut self, selector: &str) {
        let (x, y) = self.hover(selector);
        for kind in ["mousePressed", "mouseReleased"] {
            let event = json!({ "type": kind, "x": x, "y": y, "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", event);
        }
    }

    /// Taps on the middle of an element.
    pub fn tap(&mut self, selector: &str) {
        let (x, y) = self.middle(selector);
        for (kind, points) in [("touchStart", json!([{ "x": x, "y": y }])), ("touchEnd", json!([]))] {
            self.call("Input.dispatchTouchEvent", json!({ "type": kind, "touchPoints": points }));
        }
    }

    /// Types a text where the focus is.
    pub fn write(&mut self, text: &str) {
        self.call("Input.insertText", json!({ "text": text }));
    }

    /// Presses a key by its name: `ArrowDown`, `Enter`, `Tab`.
    pub fn press(&mut self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            "Escape" => 27,
            "End" => 35,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            "Backspace" => 8,
            _ => panic!("no key {key}"),
        };
        for kind in ["rawKeyDown", "keyUp"] {
            let event = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code });
            self.call("Input.dispatchKeyEvent", event);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The shell became the browser: this is its own process, and its children end with it.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
