"""A headless Chromium, driven over the DevTools protocol through its pipe (messages of JSON, each
ended by a zero byte)."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# the browser gives up on requests when an interface of the machine comes or goes
NETWORK_CHANGED = "ERR_NETWORK_CHANGED"
# and answers so if it leaves the page meanwhile
LEFT = ("Execution context was destroyed", "Cannot find context", "Inspected target navigated")
ARGUMENTS = """--headless=new --remote-debugging-pipe --no-first-run --disable-gpu --disable-dev-shm-usage --disable-extensions
    --disable-background-networking --disable-component-update --disable-sync --disable-crash-reporter --disable-breakpad
    --hide-scrollbars --mute-audio --no-proxy-server"""
PATIENCE_S = 60  # how long a condition may take on a busy machine before the test fails


def find_browser():
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    def __init__(self, binary):
        self._profile = tempfile.TemporaryDirectory(
            prefix="exchange-browser-", ignore_cleanup_errors=True
        )
        to_browser, self._out = (_high(end) for end in os.pipe())
        self._in, from_browser = (_high(end) for end in os.pipe())

        def place_pipes():  # where --remote-debugging-pipe looks for them
            os.dup2(to_browser, 3)
            os.dup2(from_browser, 4)

        arguments = [binary, f"--user-data-dir={self._profile.name}", *ARGUMENTS.split()]
        if os.geteuid() == 0:
            arguments.append("--no-sandbox")  # which root cannot have
        self._process = subprocess.Popen(
            [*arguments, "about:blank"],
            pass_fds=(3, 4),
            preexec_fn=place_pipes,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._changed = threading.Condition()
        self._answers, self._pages, self._last_id, self._ended = {}, {}, 0, False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def close(self):
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._process.wait()
        self._reader.join()
        os.close(self._out)
        os.close(self._in)
        self._profile.cleanup()

    def call(self, method, parameters=None, session=None):
        with self._changed:
            self._last_id += 1
            number = self._last_id
            message = {
                "id": number,
                "method": method,
                "params": parameters or {},
                **({"sessionId": session} if session else {}),
            }
            text = json.dumps(message).encode() + b"\0"
            try:
                while text:
                    text = text[os.write(self._out, text) :]
            except BrokenPipeError:
                raise RuntimeError("the browser has ended") from None
            if (
                not self._changed.wait_for(
                    lambda: number in self._answers or self._ended, PATIENCE_S
                )
                or number not in self._answers
            ):
                raise RuntimeError(f"the browser does not answer {method}")
            answer = self._answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def open(self, address="about:blank", width=1400, height=1000, **more):
        return Page(self, address, width, height, **more)

    def _read(self):
        rest = b""
        while True:
            try:
                got = os.read(self._in, 1 << 16)
            except OSError:
                got = b""
            *texts, rest = (rest + got).split(b"\0")
            with self._changed:
                for message in map(json.loads, texts):
                    if "id" in message:
                        self._answers[message["id"]] = message
                    elif message.get("sessionId") in self._pages:
                        self._pages[message["sessionId"]].append(
                            (message["method"], message["params"])
                        )
                self._ended = not got
                self._changed.notify_all()
            if not got:
                return


def _high(descriptor):
    """The same pipe under a number that dup2 to 3 and 4 cannot hit."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved


class Page:
    """One tab, with everything it said and asked for."""

    def __init__(self, browser, address, width, height, dark=False, still=False, before=None):
        self.browser = browser
        # A context of its own: no storage is shared with other pages.
        self._context = browser.call("Target.createBrowserContext")["browserContextId"]
        self._target = browser.call(
            "Target.createTarget", {"url": "about:blank", "browserContextId": self._context}
        )["targetId"]
        self._session = browser.call(
            "Target.attachToTarget", {"targetId": self._target, "flatten": True}
        )["sessionId"]
        self.events = browser._pages.setdefault(self._session, [])
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(width, height)
        self.prefer(dark=dark, still=still)
        if before:
            self.call("Page.addScriptToEvaluateOnNewDocument", {"source": before})
        if address != "about:blank":
            self.go(address)

    def close(self):
        context, self._context = self._context, None
        if context:
            self.browser.call("Target.disposeBrowserContext", {"browserContextId": context})

    def call(self, method, parameters=None):
        return self.browser.call(method, parameters, self._session)

    def go(self, address):
        for _ in range(5):
            failure = self.call("Page.navigate", {"url": address}).get("errorText", "")
            if failure and NETWORK_CHANGED not in failure:
                raise AssertionError(f"{address}: {failure}")
            if not failure:
                self.wait_for(
                    "location.href !== 'about:blank' && document.readyState === 'complete'"
                )
                if not any(NETWORK_CHANGED in failed for failed in self._failures()):
                    return
            with self.browser._changed:
                self.events.clear()
        raise AssertionError(f"{address}: the machine's network changes all the time")

    def reload(self):
        """Returns once the page is loaded again: until then the old one would answer."""
        self.evaluate("window.isOld = true")
        self.call("Page.reload")
        self.wait_for("!window.isOld && document.readyState === 'complete'")

    def resize(self, width, height):
        screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", screen)

    def prefer(self, dark=False, still=False):
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"},
        ]
        self.call("Emulation.setEmulatedMedia", {"features": features})

    def evaluate(self, expression):
        """The value of an expression; a promise is awaited."""
        answer = self.call(
            "Runtime.evaluate",
            {"expression": expression, "awaitPromise": True, "returnByValue": True},
        )
        if "exceptionDetails" in answer:
            thrown = answer["exceptionDetails"]
            raise AssertionError(thrown.get("exception", {}).get("description") or thrown["text"])
        return answer["result"].get("value")

    def press(self, *keys):
        """One key after the other, by its name: "b", "Tab", "Enter"; a longer text is typed."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowUp": 38, "ArrowDown": 40}
        for key in keys:
            if key not in codes and len(key) > 1:
                self.call("Input.insertText", {"text": key})
                continue
            event = {"key": key, "windowsVirtualKeyCode": codes.get(key, ord(key[0].upper()))}
            text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
            self.call("Input.dispatchKeyEvent", {"type": "keyDown", "text": text, **event})
            self.call("Input.dispatchKeyEvent", {"type": "keyUp", **event})

    def wait_for(self, expression, seconds=PATIENCE_S):
        """Returns once the expression is true; fails with the state of the page if it never is."""
        end = time.monotonic() + seconds
        while not self._is_true(expression):
            if time.monotonic() > end:
                raise AssertionError(
                    f"never came true: {expression}\nThe page"
                    f" says:\n{self.evaluate('document.body.innerText')}"
                )
            time.sleep(0.05)

    def _is_true(self, expression):
        try:
            return self.evaluate(f"!!({expression})")
        except RuntimeError as error:
            if any(left in str(error) for left in LEFT):
                return False
            raise

    def wait_for_no_overflow(self, width, height):
        """Returns once the page is as wide as its window, whose charts follow a new size."""
        self.resize(width, height)
        self.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")
        self.wait_for(f"document.documentElement.scrollWidth === {width}")

    def wait_for_count(self, count, selector):
        self.wait_for(f"document.querySelectorAll({json.dumps(selector)}).length === {count}")

    def wait_for_text(self, selector, text):
        element = f"document.querySelector({json.dumps(selector)})"
        self.wait_for(f"{element}?.innerText.trim() === {json.dumps(text)}")

    def wait_for_part(self, selector, part):
        """Returns once this stands in the text of an element."""
        element = f"document.querySelector({json.dumps(selector)})"
        self.wait_for(f"{element}?.innerText.includes({json.dumps(part)})")

    def click(self, selector):
        self.evaluate(f"document.querySelector({json.dumps(selector)}).click()")

    def wait_for_state(self, state):
        """Waits until the dashboard's pill shows this state of the connection."""
        self.wait_for(f"document.querySelector('#state').dataset.state === '{state}'")

    def text(self, selector):
        return self.evaluate(f"document.querySelector({json.dumps(selector)})?.innerText ?? null")

    def texts(self, selector):
        return self.evaluate(
            f"[...document.querySelectorAll({json.dumps(selector)})].map((element) =>"
            " element.innerText)"
        )

    def seen(self, method):
        with self.browser._changed:
            return [parameters for name, parameters in self.events if name == method]

    def complaints(self):
        """Uncaught exceptions, console errors and warnings; what the browser logs about failed
        requests is a list of its own."""
        thrown = [
            event["exceptionDetails"].get("exception", {}).get("description")
            or event["exceptionDetails"]["text"]
            for event in self.seen("Runtime.exceptionThrown")
        ]
        said = [
            " ".join(
                str(argument.get("value", argument.get("description")))
                for argument in event["args"]
            )
            for event in self.seen("Runtime.consoleAPICalled")
            if event["type"] in ("error", "warning", "assert")
        ]
        logged = [
            f"{event['entry']['source']}: {event['entry']['text']}"
            for event in self.seen("Log.entryAdded")
            if event["entry"]["level"] in ("error", "warning")
            and event["entry"]["source"] != "network"
        ]
        return thrown + said + logged

    def failed_requests(self):
        return [failure for failure in self._failures() if NETWORK_CHANGED not in failure]

    def _failures(self):
        return [
            event["entry"]["text"] + " " + event["entry"].get("url", "")
            for event in self.seen("Log.entryAdded")
            if event["entry"]["source"] == "network"
        ]

    def asked(self):
        """Addresses of all requests and WebSockets."""
        return [event["request"]["url"] for event in self.seen("Network.requestWillBeSent")] + [
            event["url"] for event in self.seen("Network.webSocketCreated")
        ]
