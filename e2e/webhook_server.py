"""A mutating webhook in one file: labels every pod it is asked about. Run as a host process in the cluster's namespace.

Usage: python -m e2e.webhook_server ADDRESS PORT CERTIFICATE KEY [CPU]

With CPU, such as 20m, it also sets the CPU request of the pod's first container to that, whatever it was.
"""

from __future__ import annotations

import base64
import json
import ssl
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

LABEL = "seen-by-webhook"

_LABEL_PATCH = {"op": "add", "path": f"/metadata/labels/{LABEL}", "value": "yes"}
_CPU_PATH = "/spec/containers/0/resources/requests/cpu"


class Handler(BaseHTTPRequestHandler):
    """Answers each review with the same patch."""

    patch: ClassVar[list[dict[str, str]]] = [_LABEL_PATCH]

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        patch = base64.b64encode(json.dumps(self.patch).encode()).decode()
        response = {"uid": review["request"]["uid"], "allowed": True, "patchType": "JSONPatch", "patch": patch}
        answer = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    """Serve until ended by a signal."""
    address, port, certificate, key, *cpu = sys.argv[1:]
    Handler.patch = [_LABEL_PATCH, *({"op": "add", "path": _CPU_PATH, "value": amount} for amount in cpu)]
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = HTTPServer((address, int(port)), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    print("serving", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
