# SPDX-License-Identifier: MIT
"""A Chromium without a window, driven over its DevTools protocol, with the standard library alone.

    with browser.Browser(folder) as chromium:
        chromium.open("file:///tmp/run.svg")
        chromium.evaluate("document.title")
        chromium.key("Enter")
        chromium.screenshot("/tmp/run.png")
"""
import base64
import http.client
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import time

KEYS = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowUp": 38, "ArrowDown": 40, "ArrowLeft": 37,
        "ArrowRight": 39, "Home": 36, "Backspace": 8, "PageUp": 33, "PageDown": 34}


def find():
    """The path of a Chromium, or None."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return path
    return None


class Socket:
    """The client's side of a WebSocket (RFC 6455), text messages only."""

    def __init__(self, host, port, path, seconds=60):
        self.socket = socket.create_connection((host, port), seconds)
        self.buffer = b""
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\n"
                             f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
                             "Sec-WebSocket-Version: 13\r\n\r\n").encode())
        while b"\r\n\r\n" not in self.buffer:
            self._fill()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n", 1)[0]:
            raise OSError(f"no WebSocket: {head[:80]!r}")

    def _fill(self):
        more = self.socket.recv(1 << 20)
        if not more:
            raise OSError("the browser closed the connection")
        self.buffer += more

    def _take(self, size):
        while len(self.buffer) < size:
            self._fill()
        taken, self.buffer = self.buffer[:size], self.buffer[size:]
        return taken

    def send(self, text):
        data = text.encode()
        size = (bytes([0x80 | len(data)]) if len(data) < 126 else
                b"\xfe" + struct.pack(">H", len(data)) if len(data) < 65536 else
                b"\xff" + struct.pack(">Q", len(data)))
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(data))
        self.socket.sendall(b"\x81" + size + mask + masked)

    def receive(self):
        """The next message; control frames are skipped, fragments joined."""
        message = b""
        while True:
            first, second = self._take(2)
            size = second & 0x7f
            if size == 126:
                size = struct.unpack(">H", self._take(2))[0]
            elif size == 127:
                size = struct.unpack(">Q", self._take(8))[0]
            data = self._take(size)
            if first & 0x08:
                continue
            message += data
            if first & 0x80:
                return message.decode()

    def close(self):
        self.socket.close()


class Browser:
    def __init__(self, folder, width=1300, height=700):
        self.folder = os.path.join(folder, "chromium")
        self.size = (width, height)
        self.process = self.socket = None
        self.number = 0
        self.events = []

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _start(self):
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        self.process = subprocess.Popen(
            [find(), "--headless", "--disable-gpu", "--no-first-run", "--hide-scrollbars",
             "--disable-dev-shm-usage", "--remote-debugging-port=0", *sandbox,
             f"--user-data-dir={self.folder}", f"--window-size={self.size[0]},{self.size[1]}",
             "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)
        port = self._port()
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", "/json/list")
        pages = json.loads(connection.getresponse().read())
        page = next(page for page in pages if page["type"] == "page")
        path = "/" + page["webSocketDebuggerUrl"].split("/", 3)[3]
        self.socket = Socket("127.0.0.1", port, path)
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")
        self.resize(*self.size)

    def _port(self):
        path = os.path.join(self.folder, "DevToolsActivePort")
        for _ in range(600):
            if os.path.exists(path):
                with open(path, encoding="ascii") as file:
                    lines = file.read().splitlines()
                if len(lines) == 2:
                    return int(lines[0])
            if self.process.poll() is not None:
                raise OSError(f"chromium ended with status {self.process.returncode}")
            time.sleep(0.05)
        raise OSError("chromium did not open its port within 30 s")

    def __exit__(self, *_):
        if self.socket:
            self.socket.close()
        if self.process:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.receive())
            if message.get("id") == self.number:
                if "error" in message:
                    raise OSError(f"{method}: {message['error']['message']}")
                return message["result"]
            self.events.append(message)

    def open(self, url):
        # through a blank page, so that a change of the fragment alone loads the file too
        for address in ("about:blank", url):
            self.events.clear()
            self.call("Page.navigate", url=address)
            deadline = time.monotonic() + 60
            while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
                if time.monotonic() > deadline:
                    raise OSError(f"{address[:80]} did not load")
                time.sleep(0.01)
                self.call("Runtime.evaluate", expression="0")

    def evaluate(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise AssertionError(details.get("exception", {}).get("description", details["text"]))
        return answer["result"].get("value")

    def wait(self, expression, seconds=10):
        """True as soon as the expression is."""
        deadline = time.monotonic() + seconds
        while not self.evaluate(expression):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.03)
        return True

    def problems(self):
        """What scripts threw or the console was told since the page was opened."""
        self.evaluate("0")
        found = []
        for event in self.events:
            if event.get("method") == "Runtime.exceptionThrown":
                details = event["params"]["exceptionDetails"]
                found.append(details.get("exception", {}).get("description", details["text"]))
            elif event.get("method") in ("Runtime.consoleAPICalled", "Log.entryAdded",
                                         "Page.javascriptDialogOpening"):
                found.append(json.dumps(event["params"])[:300])
        return found

    def key(self, key, text=None, control=False):
        if text is None and len(key) == 1 and not control:
            text = key
        code = KEYS.get(key, ord(key.upper()) if len(key) == 1 else 0)
        down = {"type": "keyDown", "key": key, "windowsVirtualKeyCode": code,
                "modifiers": 2 if control else 0}
        if text or key == "Enter":
            down["text"] = text or "\r"
        self.call("Input.dispatchKeyEvent", **down)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)

    def resize(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def dark(self, is_dark):
        self.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if is_dark else "light"}])

    def scripts(self, are_on):
        self.call("Emulation.setScriptExecutionDisabled", value=not are_on)

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
