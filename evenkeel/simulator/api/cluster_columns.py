"""What tables say about nodes, namespaces, events, services, budgets, roles and configuration."""

from __future__ import annotations

from evenkeel.simulator.api.builtin import (
    ENDPOINTS,
    MUTATING_WEBHOOKS,
    POLICIES,
    POLICY_BINDINGS,
    VALIDATING_WEBHOOKS,
)
from evenkeel.simulator.api.fields import JsonObject, child, labels_of, number, rows, text, value_at
from evenkeel.simulator.api.kinds import GroupResource
from evenkeel.simulator.api.selectors import selector_text
from evenkeel.simulator.api.tables import (
    AGE,
    NAME,
    NONE,
    UNKNOWN,
    UNSET,
    Cell,
    Column,
    Shown,
    human_duration,
    labels_text,
    wide,
)
from evenkeel.simulator.clock import parse_rfc3339

_ROLE_LABEL, _ROLE_PREFIX = "kubernetes.io/role", "node-role.kubernetes.io/"
_MOST_ENDPOINTS = 3


def _text(*path: str, absent: str = "") -> Cell:
    """Return the maker of cells that show the text at a path."""
    return lambda shown: text(shown.body, *path) or absent


def _length(*path: str) -> Cell:
    """Return the maker of cells that show how much there is in the object or list at a path."""

    def cell(shown: Shown) -> int:
        value = value_at(shown.body, *path)
        return len(value) if isinstance(value, list | dict) else 0

    return cell


def _node_status(shown: Shown) -> str:
    """Return whether a node is ready, and whether pods may go there."""
    ready = [text(c, "status") for c in rows(shown.body, "status", "conditions") if text(c, "type") == "Ready"]
    state = {"True": "Ready", "False": "NotReady"}.get(ready[0], "NotReady") if ready else "Unknown"
    return state + (",SchedulingDisabled" if child(shown.body, "spec").get("unschedulable") is True else "")


def _roles(shown: Shown) -> str:
    """Return a node's roles by its labels."""
    found = {
        label.removeprefix(_ROLE_PREFIX) if label.startswith(_ROLE_PREFIX) else value
        for label, value in labels_of(shown.body).items()
        if label.startswith(_ROLE_PREFIX) or label == _ROLE_LABEL
    }
    return ",".join(sorted(filter(None, found))) or NONE


def _address(kind: str) -> Cell:
    """Return the maker of cells that show a node's address of one type."""

    def cell(shown: Shown) -> str:
        found = [text(a, "address") for a in rows(shown.body, "status", "addresses") if text(a, "type") == kind]
        return found[0] if found else NONE

    return cell


NODE_COLUMNS = (
    NAME,
    Column("Status", _node_status),
    Column("Roles", _roles),
    AGE,
    Column("Version", _text("status", "nodeInfo", "kubeletVersion")),
    wide("Internal-IP", _address("InternalIP")),
    wide("External-IP", _address("ExternalIP")),
    wide("OS-Image", _text("status", "nodeInfo", "osImage", absent=UNKNOWN)),
    wide("Kernel-Version", _text("status", "nodeInfo", "kernelVersion", absent=UNKNOWN)),
    wide("Container-Runtime", _text("status", "nodeInfo", "containerRuntimeVersion", absent=UNKNOWN)),
)
NAMESPACE_COLUMNS = (NAME, Column("Status", _text("status", "phase")), AGE)


def _moment(*paths: tuple[str, ...]) -> Cell:
    """Return the maker of cells that show how long ago the first known one of several moments was."""

    def cell(shown: Shown) -> str:
        found = next(filter(None, (text(shown.body, *path) for path in paths)), "")
        return human_duration(shown.now - parse_rfc3339(found)) if found else UNKNOWN

    return cell


def _regarded(shown: Shown) -> str:
    """Return the object that an event is about."""
    kind, name = (text(shown.body, "involvedObject", part) for part in ("kind", "name"))
    return f"{kind.lower()}/{name}"


def _source(shown: Shown) -> str:
    """Return who told of an event."""
    component = text(shown.body, "source", "component") or text(shown.body, "reportingComponent")
    host = text(shown.body, "source", "host") or text(shown.body, "reportingInstance")
    return ", ".join(filter(None, (component, host)))


def _times(shown: Shown) -> int:
    """Return how often an event happened."""
    return number(shown.body, "series", "count") or number(shown.body, "count") or 1


EVENT_COLUMNS = (
    Column("Last Seen", _moment(("series", "lastObservedTime"), ("lastTimestamp",), ("eventTime",))),
    Column("Type", _text("type")),
    Column("Reason", _text("reason")),
    Column("Object", _regarded),
    wide("Subobject", _text("involvedObject", "fieldPath")),
    wide("Source", _source),
    Column("Message", lambda shown: text(shown.body, "message").strip()),
    wide("First Seen", _moment(("firstTimestamp",), ("eventTime",))),
    wide("Count", _times),
    Column("Name", NAME.cell, priority=1, format="name"),
)


def _ports(shown: Shown) -> str:
    """Return a service's ports."""
    found = []
    for port in rows(shown.body, "spec", "ports"):
        outside = f":{number(port, 'nodePort')}" if number(port, "nodePort") else ""
        found.append(f"{number(port, 'port')}{outside}/{text(port, 'protocol') or 'TCP'}")
    return ",".join(found) or NONE


def _external(shown: Shown) -> str:
    """Return where a service is reached from outside."""
    listed = value_at(shown.body, "spec", "externalIPs")
    return ",".join(map(str, listed)) if isinstance(listed, list) and listed else NONE


SERVICE_COLUMNS = (
    NAME,
    Column("Type", _text("spec", "type", absent="ClusterIP")),
    Column("Cluster-IP", _text("spec", "clusterIP", absent=NONE)),
    Column("External-IP", _external),
    Column("Port(s)", _ports),
    AGE,
    wide("Selector", lambda shown: labels_text(child(shown.body, "spec").get("selector"))),
)


def _endpoints(shown: Shown) -> str:
    """Return the first addresses behind a service, and how many more there are."""
    found = [
        f"{text(address, 'ip')}:{number(port, 'port')}"
        for subset in rows(shown.body, "subsets")
        for port in rows(subset, "ports")
        for address in rows(subset, "addresses")
    ]
    more = f" + {len(found) - _MOST_ENDPOINTS} more..." if len(found) > _MOST_ENDPOINTS else ""
    return ",".join(found[:_MOST_ENDPOINTS]) + more if found else NONE


def _quota(*, limits: bool) -> Cell:
    """Return the maker of cells that show a quota's amounts, of limits or of anything else, as used of how much."""

    def cell(shown: Shown) -> str:
        used, hard = child(shown.body, "status", "used"), child(shown.body, "status", "hard")
        names = [name for name in sorted(hard) if name.startswith("limits.") is limits]
        return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)

    return cell


QUOTA_COLUMNS = (NAME, Column("Request", _quota(limits=False)), Column("Limit", _quota(limits=True)), AGE)


def _bound(field: str) -> Cell:
    """Return the maker of cells that show one bound of a disruption budget."""

    def cell(shown: Shown) -> str:
        value = value_at(shown.body, "spec", field)
        return "N/A" if value is None else str(value)

    return cell


BUDGET_COLUMNS = (
    NAME,
    Column("Min Available", _bound("minAvailable")),
    Column("Max Unavailable", _bound("maxUnavailable")),
    Column("Allowed Disruptions", lambda shown: number(shown.body, "status", "disruptionsAllowed"), "integer"),
    AGE,
)


def _subjects(kind: str) -> Cell:
    """Return the maker of cells that list a binding's subjects of one kind."""

    def cell(shown: Shown) -> str:
        found = [subject for subject in rows(shown.body, "subjects") if text(subject, "kind") == kind]
        return ", ".join("/".join(filter(None, (text(s, "namespace"), text(s, "name")))) for s in found)

    return cell


def _role(shown: Shown) -> str:
    """Return the role that a binding grants."""
    return "/".join(text(shown.body, "roleRef", part) for part in ("kind", "name"))


BINDING_COLUMNS = (
    NAME,
    Column("Role", _role),
    AGE,
    wide("Users", _subjects("User")),
    wide("Groups", _subjects("Group")),
    wide("ServiceAccounts", _subjects("ServiceAccount")),
)
_WEBHOOK_COLUMNS = (NAME, Column("Webhooks", _length("webhooks"), "integer"), AGE)


def _pod_selector(shown: Shown) -> str:
    """Return which pods a network policy is about."""
    return selector_text(value_at(shown.body, "spec", "podSelector")) or NONE


def _kind_of(body: JsonObject, *path: str) -> str:
    """Return the kind and group of parameters."""
    return text(body, *path, "kind") or UNSET


OTHER_COLUMNS: dict[GroupResource, tuple[Column, ...]] = {
    ENDPOINTS: (NAME, Column("Endpoints", _endpoints), AGE),
    GroupResource("", "serviceaccounts"): (NAME, AGE),
    GroupResource("", "configmaps"): (NAME, Column("Data", _length("data")), AGE),
    GroupResource("", "secrets"): (NAME, Column("Type", _text("type")), Column("Data", _length("data")), AGE),
    GroupResource("coordination.k8s.io", "leases"): (NAME, Column("Holder", _text("spec", "holderIdentity")), AGE),
    GroupResource("scheduling.k8s.io", "priorityclasses"): (
        NAME,
        Column("Value", lambda shown: number(shown.body, "value"), "integer"),
        Column("Global-Default", lambda shown: shown.body.get("globalDefault") is True, "boolean"),
        AGE,
        Column("PreemptionPolicy", _text("preemptionPolicy", absent="PreemptLowerPriority")),
    ),
    GroupResource("networking.k8s.io", "networkpolicies"): (NAME, Column("Pod-Selector", _pod_selector), AGE),
    MUTATING_WEBHOOKS: _WEBHOOK_COLUMNS,
    VALIDATING_WEBHOOKS: _WEBHOOK_COLUMNS,
    POLICIES: (
        NAME,
        Column("Validations", _length("spec", "validations"), "integer"),
        Column("ParamKind", lambda shown: _kind_of(shown.body, "spec", "paramKind")),
        AGE,
    ),
    POLICY_BINDINGS: (
        NAME,
        Column("PolicyName", _text("spec", "policyName")),
        Column("ParamRef", _text("spec", "paramRef", "name", absent=UNSET)),
        AGE,
    ),
}
