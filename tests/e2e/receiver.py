# SPDX-License-Identifier: MIT
"""A receiver of pushes: an HTTP server that keeps what it gets, and that can fail in several ways."""
import gzip
import http.server
import threading
import time


class Request:
    def __init__(self, handler, body):
        self.time = time.monotonic()
        self.path, _, self.query = handler.path.partition("?")
        self.headers = {name.lower(): value for name, value in handler.headers.items()}
        self.wire_size = len(body)
        self.body = gzip.decompress(body) if self.headers.get("content-encoding") == "gzip" else body


class Receiver:
    """behaviour(request) returns (status, headers); None: the connection is closed; "hang": no answer; "drip": an answer
    of one byte per 0.2 s."""

    def __init__(self, behaviour=lambda request: (200, {})):
        self.requests = []
        self.stopped = threading.Event()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                request = Request(self, body)
                answer = behaviour(request)
                receiver.requests.append(request)
                if answer == "hang":
                    receiver.stopped.wait(60)
                if answer == "drip":
                    self.drip(b"HTTP/1.1 200 OK\r\nX-Slow: " + 1000 * b"x")
                if answer in ("hang", "drip", None):
                    self.close_connection = True
                    return
                status, headers = answer
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def drip(self, text):
                for byte in text:
                    try:
                        self.wfile.write(bytes([byte]))
                    except OSError:
                        return
                    if receiver.stopped.wait(0.2):
                        return

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def at(self, path):
        return [request for request in self.requests if request.path == path]

    def close(self):
        self.stopped.set()
        self.server.shutdown()
        self.server.server_close()
