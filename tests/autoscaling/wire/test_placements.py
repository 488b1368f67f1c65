"""Where pods may run, from their JSON."""

from __future__ import annotations

import json

import pytest

from autoscaling.errors import InvalidObjectError
from autoscaling.placement import NodeRequirement, NodeTerm, Placement, Toleration
from autoscaling.wire.placements import decode_placement
from autoscaling.wire.pods import decode_placed_pod, decode_placed_pod_with_sidecars, decode_pod
from tests.builders import printed

Json = dict[str, object]


def raw(**spec: object) -> bytes:
    """Return a pod as it is stored, with defaults filled in and these fields of its spec."""
    defaults = {"schedulerName": "default-scheduler", "priority": 0, "containers": [{"name": "main"}]}
    metadata = {"namespace": "shop", "name": "web-0"}
    return json.dumps({"kind": "Pod", "metadata": metadata, "spec": {**defaults, **spec}}).encode()


def affinity(kind: str, required: object = None, preferred: object = None) -> Json:
    rules = {"requiredDuringSchedulingIgnoredDuringExecution": required}
    return {kind: rules | {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}


ZONE: Json = {"key": "zone", "operator": "In", "values": ["a", "b"]}
NAME: Json = {"key": "metadata.name", "operator": "In", "values": ["node1"]}
APART: Json = {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": "zone"}
GATED: Json = {"name": "example.com/wait"}


def spread(when: str) -> list[Json]:
    return [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": when}]


def volume(kind: str) -> list[Json]:
    """Return a volume beside the one with the token that every pod has."""
    token: Json = {"name": "kube-api-access-x7z2p", "projected": {"sources": []}}
    return [token, {"name": "data", kind: {"claimName": "data"}}]


@pytest.mark.parametrize(
    ("row", "spec", "is_tied"),
    [
        ("beyond:B-25 nothing", {}, False),
        ("beyond:B-25 pods together", {"affinity": affinity("podAffinity", [APART])}, True),
        ("beyond:B-25 pods rather together", {"affinity": affinity("podAffinity", [], [{"weight": 1}])}, False),
        ("beyond:B-25 pods apart", {"affinity": affinity("podAntiAffinity", [APART])}, True),
        ("beyond:B-25 pods rather apart", {"affinity": affinity("podAntiAffinity", None, [{"weight": 1}])}, False),
        ("beyond:B-25 spread", {"topologySpreadConstraints": spread("DoNotSchedule")}, True),
        ("beyond:B-25 spread where possible", {"topologySpreadConstraints": spread("ScheduleAnyway")}, False),
        ("beyond:B-25 host port", {"containers": [{"name": "main", "ports": [{"hostPort": 80}]}]}, True),
        ("beyond:B-25 host port of a sidecar", {"initContainers": [{"ports": [{"hostPort": 80}]}]}, True),
        ("beyond:B-25 own port", {"containers": [{"name": "main", "ports": [{"containerPort": 80}]}]}, False),
        ("beyond:B-25 claim", {"volumes": volume("persistentVolumeClaim")}, True),
        ("beyond:B-25 claim of the pod", {"volumes": volume("ephemeral")}, True),
        ("beyond:B-25 disk", {"volumes": volume("iscsi")}, True),
        ("beyond:B-25 scratch volume", {"volumes": volume("emptyDir")}, False),
        ("beyond:B-25 devices", {"resourceClaims": [{"name": "gpu"}]}, True),
        ("beyond:B-25 gate", {"schedulingGates": [GATED]}, True),
        ("beyond:B-25 other scheduler", {"schedulerName": "batch"}, True),
        ("beyond:B-25 no scheduler named", {"schedulerName": ""}, False),
        ("beyond:B-25 empty lists", {"resourceClaims": [], "schedulingGates": [], "volumes": []}, False),
        ("beyond:B-25 node affinity", {"affinity": affinity("nodeAffinity", {"nodeSelectorTerms": []})}, False),
    ],
)
def test_what_ties_a_pod(row: str, spec: Json, is_tied: bool) -> None:
    assert decode_placement(raw(**spec)).is_tied is is_tied, row


@pytest.mark.parametrize(
    ("row", "required", "terms"),
    [
        ("beyond:B-25 none", None, None),
        ("beyond:B-25 nothing matches", {"nodeSelectorTerms": []}, ()),
        (
            "beyond:B-25 labels and fields",
            {"nodeSelectorTerms": [{"matchExpressions": [ZONE], "matchFields": [NAME]}, {"matchExpressions": []}]},
            (
                NodeTerm(
                    (NodeRequirement("zone", "In", ("a", "b")),), (NodeRequirement("metadata.name", "In", ("node1",)),)
                ),
                NodeTerm(),
            ),
        ),
        (
            "beyond:B-25 presence",
            {"nodeSelectorTerms": [{"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}]},
            (NodeTerm((NodeRequirement("gpu", "Exists"),)),),
        ),
    ],
)
def test_required_node_affinity(row: str, required: object, terms: tuple[NodeTerm, ...] | None) -> None:
    assert decode_placement(raw(affinity=affinity("nodeAffinity", required))).node_terms == terms, row


def test_everything_else() -> None:
    """Spec: beyond:B-24, beyond:B-12."""
    read = decode_placement(
        raw(
            nodeSelector={"disk": "ssd"},
            tolerations=[
                {"key": "spot", "operator": "Exists", "effect": "NoSchedule"},
                {"key": "team", "value": "shop"},
                {"operator": "Exists"},
            ],
            overhead={"cpu": "250m", "memory": "120Mi"},
            priority=1000,
            priorityClassName="high",
            resources={"requests": {"cpu": "1"}},
            activeDeadlineSeconds=0,
        )
    )
    assert read.node_selector == {"disk": "ssd"}
    assert read.tolerations == (
        Toleration("spot", "Exists", "", "NoSchedule"),
        Toleration("team", "Equal", "shop"),
        Toleration(operator="Exists"),
    )
    assert printed(read.overhead) == {"cpu": "250m", "memory": "120Mi"}
    assert (read.priority, read.priority_class) == (1000, "high")
    assert (read.has_pod_resources, read.has_deadline, read.is_tied) == (True, True, False)
    assert printed(read.requests) == {"cpu": "1"}, "beyond:B-24"


def test_a_plain_pod_may_run_anywhere() -> None:
    assert decode_placement(raw(resources={}, priority=None)) == Placement(), "beyond:B-25"


def test_pods_of_one_workload_share_what_they_say() -> None:
    """Spec: performance R-5."""
    one, other = (raw(nodeSelector={"disk": "ssd"}, nodeName=node) for node in ("node1", "node2"))
    assert decode_placement(one) is decode_placement(other)


def test_a_pod_has_its_placement_only_where_it_is_asked_for() -> None:
    side = {"name": "side", "restartPolicy": "Always"}
    stored = raw(nodeSelector={"disk": "ssd"}, initContainers=[side])
    assert decode_pod(stored).placement is None
    for decode, names in ((decode_placed_pod, ["main"]), (decode_placed_pod_with_sidecars, ["main", "side"])):
        pod = decode(stored)
        assert pod.placement == Placement(node_selector={"disk": "ssd"})
        assert [container.name for container in pod.containers] == names
        assert str(pod.ref) == "Pod shop/web-0"


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"overhead": {"cpu": "a lot"}}, "a lot"),
        ({"tolerations": {}}, r"spec\.tolerations"),
        ({"priority": "high"}, r"\$\.spec\.priority"),
    ],
)
def test_what_cannot_be_read_names_the_pod(spec: Json, problem: str) -> None:
    with pytest.raises(InvalidObjectError, match=f"Pod shop/web-0: .*{problem}"):
        decode_placed_pod(raw(**spec))
