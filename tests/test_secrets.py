"""No secret that a process is given shows up anywhere: logs, metrics, what it writes to the cluster, process lists.

Real processes, at the highest level of logging, with failures on every way where a secret is used.
"""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path

import pytest
import yaml

from evenkeel.simulator.api.calls import User
from evenkeel.simulator.api.certificates import Authority
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.api.serving import Endpoint, serve_in_thread
from tests.autoscaling.kube.certificates import Authority as OtherAuthority
from tests.embedded import api_server, deploy, recommended_status, vpa_object
from tests.recommender.shell.prometheus_server import prometheus_server
from tests.test_processes import MODULES, PROGRAMS, Running, run, running

pytestmark = pytest.mark.lengthy

# Put together, so that no file of the repository has them in one piece.
TOKEN, FLAG_TOKEN, FLAG_PASSWORD = "tok" + "en-5b1a", "fl" + "ag-7c2d", "pass" + "word-3e9f"
FILE_TOKEN, FILE_PASSWORD, ADDRESS_PASSWORD = "fi" + "le-1d4c", "fi" + "le-9a7b", "addr" + "ess-6f0e"
LOUD = "--v=10"


@dataclass
class Heard:
    """Everything that came out of a process."""

    lines: list[str] = field(default_factory=list)
    pages: list[str] = field(default_factory=list)

    def holds(self, *secrets: str) -> list[str]:
        """Return the secrets that came out, as they are or in the form in which they are sent."""
        text = "\n".join((*self.lines, *self.pages))
        forms = {form: secret for secret in secrets for form in (secret, base64.b64encode(secret.encode()).decode())}
        return [secret for form, secret in forms.items() if form in text]


@dataclass(frozen=True, slots=True)
class Watched:
    """A process whose words are kept."""

    process: Running
    heard: Heard

    def until(self, text: str) -> dict[str, object]:
        """Read on to a line with a text in it."""
        for line in self.process.output:
            self.heard.lines.append(line)
            if text in line:
                found: dict[str, object] = json.loads(line)
                return found
        raise AssertionError("".join(self.heard.lines))


def _stored(server: ApiServer) -> str:
    """Return everything that the cluster holds but Secrets."""
    kinds = ("Event", "Lease")
    found = [server.store.list("v1" if kind == "Event" else "coordination.k8s.io/v1", kind) for kind in kinds]
    found.append(server.store.list("autoscaling.evenkeel.dev/v1", "VerticalPodAutoscaler"))
    return json.dumps(found)


@contextmanager
def watched(name: str, folder: Path, server: ApiServer, *flags: str) -> Iterator[Watched]:
    """A process from its start to its end, with its metrics page and what it has written at that moment."""
    heard = Heard()
    with running(name, folder, LOUD, *flags) as process:
        seen = Watched(process, heard)
        first = seen.until("telemetry listens")
        yield seen
        connection = HTTPConnection("127.0.0.1", int(str(first["port"])))
        connection.request("GET", "/metrics")
        heard.pages.append(connection.getresponse().read().decode())
        connection.close()
        heard.pages.append(_stored(server))
        process.handle.terminate()
        heard.lines += process.output


def _sign_in(server: ApiServer) -> None:
    server.access.tokens[TOKEN] = User("system:admin", groups=("system:masters",))


def _port(name: str) -> tuple[str, ...]:
    return ("--port=0", "--register-webhook=false") if MODULES[name] == "admission" else ()


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_token_for_the_api_server_stays_within(name: str, tmp_path: Path) -> None:
    server = api_server()
    _sign_in(server)
    server.create_namespaces("evenkeel-system")
    with serve_in_thread(server) as endpoint:
        kubeconfig = endpoint.write_kubeconfig(tmp_path / "kubeconfig", token=TOKEN)
        with watched(name, tmp_path, server, f"--kubeconfig={kubeconfig}", *_port(name)) as seen:
            seen.until("caches filled")
    assert seen.heard.holds(TOKEN) == []


def _other_kubeconfig(endpoint: Endpoint, folder: Path, user: object, **cluster: object) -> Path:
    """Return a kubeconfig of the same server with another user, or with another idea of the server."""
    document = yaml.safe_load(endpoint.kubeconfig(TOKEN))
    document["users"][0]["user"] = user
    document["clusters"][0]["cluster"] |= cluster
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(document))
    return path


def _pair() -> tuple[str, str]:
    pair = Authority("somebody").issue("127.0.0.1")
    return pair.certificate_pem.decode(), pair.key_pem.decode()


def _users() -> Mapping[str, tuple[object, dict[str, object], list[str]]]:
    """Return kubeconfigs that do not work, each with what must not come out of it."""
    certificate, key = _pair()
    inner = key.splitlines()[1]
    address = f"http://user:{ADDRESS_PASSWORD}@127.0.0.1:9"

    def encoded(text: str) -> str:
        return base64.b64encode(text.encode()).decode()

    stranger = encoded(OtherAuthority().certificate_text)
    return {
        "token not known": ({"token": FLAG_TOKEN}, {}, [FLAG_TOKEN]),
        "password": ({"username": "u", "password": FLAG_PASSWORD}, {}, [FLAG_PASSWORD]),
        "key of another certificate": (
            {"client-certificate-data": encoded(certificate), "client-key-data": encoded(key)[:-8]},
            {},
            [inner, encoded(key)[40:80]],
        ),
        "unknown authority": ({"token": TOKEN}, {"certificate-authority-data": stranger}, [TOKEN]),
        "proxy with a password": ({"token": TOKEN}, {"proxy-url": address}, [TOKEN, ADDRESS_PASSWORD]),
        "server with a password": ({"token": TOKEN}, {"server": address}, [TOKEN, ADDRESS_PASSWORD]),
    }


@pytest.mark.parametrize("what", _users())
def test_a_kubeconfig_that_does_not_work_is_told_of_without_its_secrets(what: str, tmp_path: Path) -> None:
    user, cluster, secrets = _users()[what]
    server = api_server()
    server.access.rbac = True
    _sign_in(server)
    with serve_in_thread(server) as endpoint:
        kubeconfig = _other_kubeconfig(endpoint, tmp_path, user, **cluster)
        answer = run(PROGRAMS[0], tmp_path, "--address=127.0.0.1:0", LOUD, f"--kubeconfig={kubeconfig}")
    assert answer.status == 1, answer.said
    assert "API server" in answer.said or str(kubeconfig) in answer.said
    assert Heard([answer.said]).holds(*secrets) == []


@dataclass(frozen=True, slots=True)
class Access:
    """A way to sign in to Prometheus: flags, and what must not come out.

    Args:
        is_shown: Whether the command line has it, as with upstream's flags; then the log warns of it.
    """

    flags: tuple[str, ...]
    secrets: tuple[str, ...]
    is_shown: bool = False


def _accesses(folder: Path) -> Mapping[str, Access]:
    token, password = folder / "token", folder / "password"
    token.write_text(f"{FILE_TOKEN}\n")
    password.write_text(f"{FILE_PASSWORD}\n")
    basic = f"user:{FILE_PASSWORD}"
    return {
        "token flag": Access((f"--prometheus-bearer-token={FLAG_TOKEN}",), (FLAG_TOKEN,), is_shown=True),
        "password flag": Access(("--username=user", f"--password={FLAG_PASSWORD}"), (FLAG_PASSWORD,), is_shown=True),
        "token file": Access((f"--prometheus-bearer-token-file={token}",), (FILE_TOKEN,)),
        "password file": Access(("--username=user", f"--prometheus-password-file={password}"), (FILE_PASSWORD, basic)),
    }


@pytest.mark.parametrize(
    ("way", "failure"),
    [
        ("token flag", "refused"),
        ("password flag", "not signed in"),
        ("password flag", "no server"),
        ("token file", "other authority"),
        ("password file", "not signed in"),
    ],
)
def test_what_signs_in_to_prometheus_stays_within(way: str, failure: str, tmp_path: Path) -> None:
    access = _accesses(tmp_path)[way]
    server = api_server()
    _sign_in(server)
    deploy(server)
    server.store.create(vpa_object(status=recommended_status("400m", "100Mi")))
    texts = zip(("tls.crt", "tls.key"), OtherAuthority().issue("prometheus"), strict=True)
    files = tuple(tmp_path / name for name, text in texts if (tmp_path / name).write_text(text))
    pair = (files[0], files[1]) if failure == "other authority" else None
    with serve_in_thread(server) as endpoint, prometheus_server(pair) as prometheus, _taken_port() as nobody:
        status = 401 if failure == "not signed in" else 500
        prometheus.faults.append(lambda _: (status, b'{"status":"error","errorType":"internal","error":"no"}'))
        address = f"http://127.0.0.1:{nobody}" if failure == "no server" else prometheus.url
        signed = address.replace("://", f"://somebody:{ADDRESS_PASSWORD}@")
        kubeconfig = endpoint.write_kubeconfig(tmp_path / "kubeconfig", token=TOKEN)
        flags = (f"--kubeconfig={kubeconfig}", "--storage=prometheus", f"--prometheus-address={signed}", *access.flags)
        with watched(PROGRAMS[0], tmp_path, server, *flags) as seen:
            seen.until('"error": ')
    assert seen.heard.holds(*access.secrets, TOKEN, ADDRESS_PASSWORD) == []
    told = any("secret on the command line" in line for line in seen.heard.lines)
    assert told == access.is_shown


@contextmanager
def _taken_port() -> Iterator[int]:
    """A port at which nobody answers: it is bound and does not listen."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


def test_what_comes_by_file_or_environment_is_in_no_list_of_processes(tmp_path: Path) -> None:
    flags = _accesses(tmp_path)["token file"].flags
    server = api_server()
    _sign_in(server)
    with serve_in_thread(server) as endpoint:
        kubeconfig = endpoint.write_kubeconfig(tmp_path / "kubeconfig", token=TOKEN)
        words = ("--address=127.0.0.1:0", LOUD, f"--kubeconfig={kubeconfig}", *flags)
        program = subprocess.Popen(
            [str(Path(sys.executable).parent / PROGRAMS[0]), *words],
            env={**os.environ, "PROMETHEUS_USERNAME": "user", "PROMETHEUS_PASSWORD": FLAG_PASSWORD},
            stderr=subprocess.PIPE,
            text=True,
        )
        assert program.stderr is not None
        lines = [next(line for line in program.stderr if "API server answers" in line)]
        shown = Path(f"/proc/{program.pid}/cmdline").read_text()
        program.send_signal(signal.SIGTERM)
        lines += program.communicate(timeout=40)[1].splitlines()
    assert f"--kubeconfig={kubeconfig}" in shown
    assert not [secret for secret in (TOKEN, FILE_TOKEN, FLAG_PASSWORD) if secret in shown]
    assert Heard(lines).holds(TOKEN, FILE_TOKEN, FLAG_PASSWORD) == []


def test_a_flag_that_is_misspelt_is_told_of_without_its_value(tmp_path: Path) -> None:
    for word in (f"--passwrod={FLAG_PASSWORD}", f"-password={FLAG_PASSWORD}", f"---password={FLAG_PASSWORD}"):
        answer = run(PROGRAMS[0], tmp_path, word)
        assert answer.status == 2
        assert FLAG_PASSWORD not in answer.said


def test_the_key_of_the_webhook_stays_within(tmp_path: Path) -> None:
    certificate, key = _pair()
    other = _pair()[1]
    for name, text in (("cert.pem", certificate), ("key.pem", other), ("ca.pem", certificate)):
        (tmp_path / name).write_text(text)
    server = api_server()
    _sign_in(server)
    server.create_namespaces("evenkeel-system")
    with serve_in_thread(server) as endpoint:
        kubeconfig = endpoint.write_kubeconfig(tmp_path / "kubeconfig", token=TOKEN)
        files = (
            f"--tls-cert-file={tmp_path / 'cert.pem'}",
            f"--tls-private-key={tmp_path / 'key.pem'}",
            f"--client-ca-file={tmp_path / 'ca.pem'}",
        )
        answer = run(
            PROGRAMS[2],
            tmp_path,
            "--address=127.0.0.1:0",
            LOUD,
            f"--kubeconfig={kubeconfig}",
            *files,
            *_port(PROGRAMS[2]),
        )
    assert answer.status != 0
    assert Heard([answer.said]).holds(*key.splitlines()[1:3], *other.splitlines()[1:3], TOKEN) == []
