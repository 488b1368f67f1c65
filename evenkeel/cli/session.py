"""The cluster that a command is about: which one, in which namespace, and calls to it."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from autoscaling.errors import ApiError, ApiRefusedError, ConfigurationError, EvenkeelError
from autoscaling.kube.calls import ClientSettings
from autoscaling.kube.client import KubeClient, user_agent
from autoscaling.kube.connection import SERVICE_ACCOUNT, connect, namespace_of
from autoscaling.kube.paths import Resource, Selection
from autoscaling.kube.refusals import FORBIDDEN, NOT_FOUND
from autoscaling.kube.retry import Patience
from autoscaling.runtime.api_group import ApiGroup
from evenkeel.cli.wrong_usage import WrongUsageError

T = TypeVar("T")

_PATIENCE: Final = Patience(attempts=2, attempt_seconds=20.0, total_seconds=30.0)
"""Somebody sits and waits, so a server that does not answer is told of soon."""

_NAMES: Final = 500
"""How many objects of a kind are looked through for a name."""

_NEAR: Final = 3


class _Named(msgspec.Struct):
    name: str = ""


class _Object(msgspec.Struct):
    metadata: _Named = msgspec.field(default_factory=_Named)


class _Objects(msgspec.Struct):
    items: list[_Object] = []


class NotReadableError(EvenkeelError):
    """What a command is about is not there, or may not be read."""


@dataclass(frozen=True, slots=True)
class Session:
    """The cluster that a command is about.

    Args:
        kubeconfig: Path of a file; empty for the pod's service account.
        context: One of its contexts; empty for the current one.
        namespace: Namespace to look into; empty for all.
    """

    kubeconfig: str
    context: str
    namespace: str

    @classmethod
    def of(cls, kubeconfig: str, context: str, namespace: str, *, is_everywhere: bool = False) -> Session:
        """Return the session that options ask for.

        Args:
            kubeconfig: As given, or by the environment.
            context: As given.
            namespace: As given; empty for the context's own.
            is_everywhere: Whether all namespaces are asked for.

        Raises:
            WrongUsageError: The options contradict each other.
            ConfigurationError: The kubeconfig cannot be used.
        """
        if is_everywhere and namespace:
            raise WrongUsageError("--namespace and --all-namespaces exclude each other; leave one out")
        path = kubeconfig_path(kubeconfig)
        if context and not path:
            raise ConfigurationError("--context names a context of a kubeconfig, and there is none; give --kubeconfig")
        if is_everywhere or namespace:
            return cls(path, context, namespace)
        return cls(path, context, (namespace_of(path, context) if path else _namespace_of_pod()) or "default")

    @asynccontextmanager
    async def client(self) -> AsyncIterator[KubeClient]:
        """Connect, and close the connection in the end.

        Raises:
            ConfigurationError: The cluster cannot be connected to.
        """
        connection = await connect(self.kubeconfig, context=self.context)
        client = KubeClient(connection, ClientSettings(user_agent("cli"), patience=_PATIENCE))
        try:
            yield client
        finally:
            await client.close()


def kubeconfig_path(given: str) -> str:
    """Return the kubeconfig to use, empty for none.

    Args:
        given: By an option or by the environment; empty for neither.

    Raises:
        ConfigurationError: Several are given.
    """
    if os.pathsep in given:
        raise ConfigurationError(
            f"KUBECONFIG names several files, {given!r}, of which one is needed; give it with --kubeconfig, or merge "
            "them with `kubectl config view --flatten`"
        )
    if given or (SERVICE_ACCOUNT / "token").exists():
        return given
    default = Path.home() / ".kube" / "config"
    return str(default) if default.exists() else ""


def _namespace_of_pod() -> str:
    """Return the namespace of the pod that this runs in, empty outside a pod."""
    try:
        return (SERVICE_ACCOUNT / "namespace").read_text().strip()
    except OSError:
        return ""


async def read(client: KubeClient, resource: Resource, namespace: str, name: str, decode: Callable[[bytes], T]) -> T:
    """Read one object.

    Raises:
        NotReadableError: It is not there, or may not be read.
        ApiError: The server did not answer.
        InvalidObjectError: It is not as it should be.
    """
    where = f" in namespace {namespace}" if namespace else ""
    try:
        return decode(await client.get(resource.path(namespace, name)))
    except ApiRefusedError as refusal:
        if refusal.code == NOT_FOUND:
            raise await not_found(client, Selection(resource, namespace), name) from refusal
        raise _denied(refusal, f"get {resource.title}{where}") from refusal


async def not_found(client: KubeClient, selection: Selection, name: str) -> NotReadableError:
    """Return the error that there is no object of a name, with those that may be meant.

    Args:
        client: Calls to the API server.
        selection: Where it was looked for.
        name: Of the object that is not there.
    """
    resource, namespace = selection.resource, selection.namespace
    where = f" in namespace {namespace}" if namespace else ""
    try:
        near = near_names(name, await object_names(client, selection))
    except (ApiError, msgspec.MsgspecError):
        near = []
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    return NotReadableError(
        f"{resource.kind} {name}: not found{where}; {meant}`kubectl get {resource.title}{_flag(namespace)}` lists "
        "what there is, -n names another namespace"
    )


def near_names(name: str, names: Iterable[str]) -> list[str]:
    """Return at most three names that somebody may have meant: those that go on from there, else those spelled alike.

    Args:
        name: What was asked for.
        names: What there is.
    """
    known = sorted(set(names))
    longer = [each for each in known if each.startswith(name)]
    return longer[:_NEAR] or get_close_matches(name, known, _NEAR)


async def object_names(client: KubeClient, selection: Selection) -> list[str]:
    """Return the names of the first objects of a selection, in order.

    Raises:
        ApiError: They cannot be listed.
        msgspec.MsgspecError: The answer is no list.
    """
    page = await client.get(selection.path, {**selection.query, "limit": str(_NAMES)})
    return sorted({each.metadata.name for each in msgspec.json.decode(page, type=_Objects).items})


async def read_all(client: KubeClient, selection: Selection, decode: Callable[[bytes], T]) -> list[T]:
    """Read all objects of a selection.

    Raises:
        NotReadableError: The kind is not served, or may not be listed.
        ApiError: The server did not answer.
    """
    resource = selection.resource
    try:
        return await client.items(selection, decode)
    except ApiRefusedError as refusal:
        if refusal.code == NOT_FOUND:
            raise NotReadableError(
                f"{resource.title}: not served by {client.server} in version {resource.version}; "
                f"{_way_to_serve(resource)}"
            ) from refusal
        raise _denied(refusal, f"list {selection}") from refusal


async def require_list(client: KubeClient, selection: Selection) -> None:
    """Make sure that a collection may be listed, before it is followed with all patience.

    Raises:
        NotReadableError: It is not served, or may not be listed.
        ApiError: The server did not answer.
    """
    try:
        await client.get(selection.path, {**selection.query, "limit": "1"})
    except ApiRefusedError as refusal:
        raise _denied(refusal, f"list {selection}") from refusal


def _way_to_serve(resource: Resource) -> str:
    """Return what makes a kind be served."""
    if resource.plural.startswith("verticalpodautoscaler"):
        folder = "manifests/crd" if resource.group == ApiGroup.EVENKEEL else "manifests/crd/upstream-group"
        return f"install the definitions under {folder}, or name the group that the cluster has with --api-group"
    return "install what serves it, or upgrade the cluster"


def _denied(refusal: ApiRefusedError, what: str) -> ApiError | NotReadableError:
    """Return a refusal in words that name the way out, where there is one."""
    if refusal.code != FORBIDDEN:
        return refusal
    return NotReadableError(
        f"you may not {what}: {refusal.message}; ask for a role that allows it, or use another --context"
    )


def _flag(namespace: str) -> str:
    """Return kubectl's option for a namespace."""
    return f" -n {namespace}" if namespace else ""
