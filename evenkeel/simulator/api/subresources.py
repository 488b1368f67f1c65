"""The smaller subresources: scale of workloads, binding of pods, tokens of service accounts."""

from __future__ import annotations

from datetime import timedelta

from evenkeel.simulator.api.access import ACCOUNT, ISSUED_PREFIX, Access, account_groups
from evenkeel.simulator.api.calls import Call, User
from evenkeel.simulator.api.fields import JsonObject, child, copy_of, ensure, number, rows, text, texts, value_at
from evenkeel.simulator.api.kinds import Kind
from evenkeel.simulator.api.objects import ObjectStore
from evenkeel.simulator.api.selectors import selector_text
from evenkeel.simulator.api.status import (
    Cause,
    CauseType,
    Subject,
    bad_request,
    conflict,
    invalid,
    success,
)
from evenkeel.simulator.api.store import Key, Stored
from evenkeel.simulator.api.writes import PATCH_ATTEMPTS, Writer, patch_of, refuse_stale
from evenkeel.simulator.clock import rfc3339

SCALE_TYPE = {"kind": "Scale", "apiVersion": "autoscaling/v1"}
_COPIED_METADATA = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
_AUTHENTICATION, _AUDIENCE = "authentication.k8s.io", "https://kubernetes.default.svc"
_TOKEN_LIFETIME_SECONDS, _SHORTEST_TOKEN_SECONDS, _LONGEST_TOKEN_SECONDS = 3600, 600, 2**32


def scale_of(call: Call, stored: Stored) -> JsonObject:
    """Return the Scale object of a workload."""
    paths = call.target.kind.scale_paths
    metadata = child(stored.body, "metadata")
    status: JsonObject = {"replicas": number(stored.body, *paths.status)}
    selector = value_at(stored.body, *paths.selector) if paths.selector else None
    if selector:
        status["selector"] = selector if isinstance(selector, str) else selector_text(selector)
    return {
        **SCALE_TYPE,
        "metadata": {field: metadata[field] for field in _COPIED_METADATA if field in metadata},
        "spec": {"replicas": number(stored.body, *paths.spec)},
        "status": status,
    }


async def write_scale(writer: Writer, call: Call) -> Stored:
    """Set a workload's replicas from the Scale object or the patch of one in a call's body.

    Raises:
        StatusError: It cannot be read or carried out.
    """
    patch = patch_of(call) if call.verb == "patch" else None
    sent = call.object() if patch is None else {}

    def change(current: JsonObject) -> JsonObject:
        stored = writer.objects.existing(call.target.kind, call.target.key)
        wanted = sent if patch is None else patch(scale_of(call, stored))
        refuse_stale(call, wanted, stored)
        replicas = value_at(wanted, "spec", "replicas")
        if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 0:
            message = f"Invalid value: {replicas}: must be a whole number from 0 on"
            causes = [Cause(CauseType.INVALID, "spec.replicas", message)]
            raise invalid(call.target.kind.kind_subject(call.target.name), causes)
        paths = call.target.kind.scale_paths
        ensure(current, *paths.spec[:-1])[paths.spec[-1]] = replicas
        ensure(current, "metadata").pop("resourceVersion", None)
        return current

    return await writer.modify(call, change, attempts=PATCH_ATTEMPTS)


def bind(objects: ObjectStore, call: Call) -> JsonObject:
    """Put a pod on the node that the Binding in a call's body names.

    Raises:
        StatusError: The pod does not exist or is on a node already, or the Binding names none.
    """
    node = text(call.object(), "target", "name")
    if not node:
        raise bad_request("a Binding needs the name of a node in target.name")
    assign(objects, call.target.kind, call.target.key, node)
    return success(code=201)


def assign(objects: ObjectStore, kind: Kind, key: Key, node: str) -> Stored:
    """Put a pod on a node, which leaves its generation as it is, and return it.

    Raises:
        StatusError: The pod does not exist, is going away or is on a node already.
    """
    with objects.versions.lock:
        stored = objects.existing(kind, key)
        subject = kind.subject(key[1])
        if text(stored.body, "metadata", "deletionTimestamp"):
            raise conflict(subject, "the pod is being deleted and cannot be assigned to a node")
        if text(stored.body, "spec", "nodeName"):
            raise conflict(subject, f"the pod is already assigned to node {text(stored.body, 'spec', 'nodeName')!r}")
        pod = copy_of(stored.body)
        ensure(pod, "spec")["nodeName"] = node
        conditions = [row for row in rows(pod, "status", "conditions") if text(row, "type") != "PodScheduled"]
        scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": rfc3339(objects.now())}
        ensure(pod, "status")["conditions"] = [*conditions, scheduled]
        return objects.versions.put(kind.resource, pod, expected=stored)


def issue_token(objects: ObjectStore, access: Access, call: Call) -> JsonObject:
    """Return a TokenRequest with a token for a service account.

    Raises:
        StatusError: The service account does not exist.
    """
    request = call.object()
    account = objects.existing(call.target.kind, call.target.key)
    spec = ensure(request, "spec")
    spec["audiences"] = texts(spec, "audiences") or [_AUDIENCE]
    seconds = number(spec, "expirationSeconds", default=_TOKEN_LIFETIME_SECONDS)
    spec["expirationSeconds"] = seconds
    spec.setdefault("boundObjectRef", None)
    if not _SHORTEST_TOKEN_SECONDS <= seconds <= _LONGEST_TOKEN_SECONDS:
        message = f"Invalid value: {seconds}: must be from {_SHORTEST_TOKEN_SECONDS} to {_LONGEST_TOKEN_SECONDS}"
        causes = [Cause(CauseType.INVALID, "spec.expirationSeconds", message)]
        raise invalid(Subject("TokenRequest", _AUTHENTICATION), causes)
    namespace, name = account.key
    user = User(f"{ACCOUNT}:{namespace}:{name}", account_groups(namespace), account.uid)
    token = f"{ISSUED_PREFIX}{namespace}.{name}.{objects.new_uid()}"
    ends = access.issue(token, user, timedelta(seconds=seconds), objects.now())
    request["metadata"] = {"name": name, "namespace": namespace, "creationTimestamp": rfc3339(objects.now())}
    request["status"] = {"token": token, "expirationTimestamp": rfc3339(ends)}
    return {**request, "kind": "TokenRequest", "apiVersion": f"{_AUTHENTICATION}/v1"}
