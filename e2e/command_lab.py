"""What the tests of the command line on a real cluster share: the programs as installed, and what they have said."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from e2e.cluster.documents import JsonObject, JsonValue, at, text_at
from e2e.cluster.kube import Kube
from e2e.installation import NAMESPACE, Installation

_SCRIPTS = Path(sys.executable).parent
_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Ended:
    """A program that has ended."""

    status: int
    output: str
    errors: str

    @property
    def document(self) -> JsonValue:
        """What it printed as JSON."""
        loaded: JsonValue = json.loads(self.output)
        return loaded

    @property
    def words(self) -> list[list[str]]:
        """The words of each line that it printed."""
        return [line.split() for line in self.output.splitlines()]


@dataclass(frozen=True, slots=True)
class Following:
    """A program that runs on, and prints a JSON object in each line.

    Args:
        process: The program.
        file: What it has printed so far.
    """

    process: subprocess.Popen[bytes]
    file: Path

    def told(self, about: str) -> list[str]:
        """Return the texts of the lines about something, as far as they are complete."""
        lines = self.file.read_text().split("\n")[:-1]
        documents: list[JsonObject] = [json.loads(line) for line in lines]
        return [text_at(document, "text") for document in documents if document["what"] == about]


@dataclass(frozen=True, slots=True)
class Console:
    """Where a person works with a cluster: a shell with the installed programs, the real kubectl and a kubeconfig.

    Args:
        kube: The namespace that the person works in.
        folder: Home of the person, and where files are written.
        kubeconfig: Whose rights the person has; the administrator's if None.
    """

    kube: Kube
    folder: Path
    kubeconfig: Path | None = None

    def run(self, program: str, *words: str) -> Ended:
        """Run a program to its end."""
        done = subprocess.run(
            self._command(program, *words),
            capture_output=True,
            text=True,
            check=False,
            timeout=_SECONDS,
            env=self._environment(),
            cwd=self.folder,
        )
        return Ended(done.returncode, done.stdout, done.stderr)

    def evenkeel(self, *words: str) -> Ended:
        """Run one of our commands in the namespace."""
        return self.run("evenkeel", *words, f"--namespace={self.kube.namespace}")

    def plugin(self, *words: str) -> Ended:
        """Run the same by kubectl."""
        return self.run("kubectl", "evenkeel", *words, f"--namespace={self.kube.namespace}")

    def kubectl(self, *words: str) -> Ended:
        """Run the real kubectl in the namespace."""
        return self.run("kubectl", *words, f"--namespace={self.kube.namespace}")

    def as_user(self, service_account: str) -> Console:
        """Return the same with a service account's rights."""
        kubeconfig = self.kube.cluster.token_kubeconfig(self.kube.namespace, service_account)
        return Console(self.kube, self.folder, kubeconfig)

    @contextmanager
    def following(self, *words: str) -> Iterator[Following]:
        """Have one of our commands run on for the time of a ``with`` block, which ends as by Ctrl-C."""
        file = self.folder / f"{'-'.join(words).replace('/', '-')}.jsonl"
        command = self._command("evenkeel", *words, f"--namespace={self.kube.namespace}", "--output=json")
        with file.open("wb") as output:
            process = subprocess.Popen(
                command, stdout=output, env=self._environment() | {"PYTHONUNBUFFERED": "1"}, cwd=self.folder
            )
        try:
            yield Following(process, file)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(_SECONDS)

    def _command(self, program: str, *words: str) -> list[str]:
        return self.kube.cluster.namespace_command(["env", "--default-signal=INT", program, *words])

    def _environment(self) -> dict[str, str]:
        """Return an environment in which both our programs and kubectl are found, and nothing of this run's own."""
        return {
            "PATH": f"{_SCRIPTS}:{os.environ['PATH']}",
            "HOME": str(self.folder),
            "KUBECONFIG": str(self.kubeconfig or self.kube.cluster.kubeconfig),
        }


@contextmanager
def declared(installation: Installation) -> Iterator[None]:
    """Have the cluster know the flags of the processes beside the node, for the time of a ``with`` block.

    They come from Deployments, which here have no replicas.
    """
    cluster, group = installation.cluster, installation.group
    system = Kube(cluster, NAMESPACE)
    documents = yaml.safe_load_all(cluster.kubectl("kustomize", str(group.overlay)))
    deployments = [document for document in documents if document and document["kind"] == "Deployment"]
    own = {
        "evenkeel-recommender": installation.flags.recommender,
        "evenkeel-updater": installation.flags.updater,
        "evenkeel-admission-controller": installation.flags.admission,
    }
    for document in deployments:
        document["spec"]["replicas"] = 0
        arguments = at(document, "spec", "template", "spec", "containers", 0, "args")
        assert isinstance(arguments, list)
        arguments.extend(own[text_at(document, "metadata", "name")])
    try:
        system.apply(*deployments)
        yield
    finally:
        for document in deployments:
            system.delete("deployment", text_at(document, "metadata", "name"), wait=False)
