"""A proxy before a server that speaks S3 which takes conditional put from it.

python unconditional.py PORT PORT_OF_THE_SERVER
"""

from __future__ import annotations

import http.client
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOST = "127.0.0.1"
OWN = ("transfer-encoding", "connection", "content-length", "date", "server")


class Proxy(BaseHTTPRequestHandler):
    """Hands on all requests without their condition."""

    protocol_version = "HTTP/1.1"
    port = 0

    def hand_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        server = http.client.HTTPConnection(HOST, self.port)
        headers = {k: v for k, v in self.headers.items() if k.lower() != "if-none-match"}
        server.request(self.command, self.path, body, headers)
        answer = server.getresponse()
        data = answer.read()
        self.send_response(answer.status)
        for key, value in answer.getheaders():
            if key.lower() not in OWN:
                self.send_header(key, value)
        length = answer.getheader("content-length") if self.command == "HEAD" else None
        self.send_header("Content-Length", length or str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = hand_on

    def log_message(self, format: str, *values: object) -> None:
        """No log."""


if __name__ == "__main__":
    Proxy.port = int(sys.argv[2])
    ThreadingHTTPServer((HOST, int(sys.argv[1])), Proxy).serve_forever()
