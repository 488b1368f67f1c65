"""From pods, nodes and DaemonSets to recommendations that a node has room for, round after round."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import pytest

from autoscaling.behaviour import Behaviour
from autoscaling.matching import of_labels
from autoscaling.node import Node
from autoscaling.ownership import ControllerKey
from autoscaling.placement import NodeRequirement, NodeTerm, Placement
from autoscaling.pod import Owner, Pod
from autoscaling.resources import ContainerResources
from autoscaling.vpa import ContainerPolicy, ScalingMode
from autoscaling.workload import Workload
from recommender.node_fit import KnownNodes, NodeFit
from recommender.recommending import Recommended, recommend
from recommender.settings import EstimatorSettings, RenderingSettings
from recommender.status import CAPPED_TO_NODE, LOW_CONFIDENCE
from tests.builders import T0, amounts, container
from tests.recommender.scene import Scene, pod, vpa

GB = 10**9
SMALL, LARGE = Node("small", amounts("4/7700M")), Node("large", amounts("8/64G"), {"disk": "ssd"})
ON_SMALL = Placement(node_terms=(NodeTerm((NodeRequirement("disk", "DoesNotExist"),)),))
DEPLOYMENT = Workload("Deployment", "default", "v", of_labels({"app": "a"}), placement=ON_SMALL)
AGENT = Workload(
    "DaemonSet",
    "kube-system",
    "agent",
    of_labels({"app": "agent"}),
    template={"main": ContainerResources(amounts("100m/500M"))},
    placement=Placement(),
)


@dataclass
class Rounds:
    """Rounds about VPA ``v``, whose container ``main`` uses 8 GB."""

    scene: Scene
    fit: NodeFit = field(default_factory=NodeFit)
    versions: int = 0

    def observe(self, *pods: Pod) -> None:
        self.scene.observe(*pods)
        self.fit.observe(self.scene.model, pods)

    def run(self, *nodes: Node, workloads: Iterable[Workload] = (), behaviour: Behaviour | None = None) -> Recommended:
        model, estimator = self.scene.model, EstimatorSettings(margin_fraction=0.0)
        found = recommend(model, model.groups(), estimator, RenderingSettings(), behaviour or Behaviour())
        known = {(each.namespace, each.kind, each.name): each for each in workloads}
        daemon_sets = [each for each in known.values() if each.kind == "DaemonSet"]
        self.versions += 1
        return self.fit.applied(found, KnownNodes(nodes, daemon_sets, known, (self.versions,)))


def placed(name: str = "p", placement: Placement = ON_SMALL, *others: str) -> Pod:
    """Return a pod of VPA ``v``, with a container for each further request, written as ``cpu/memory``."""
    extra = [container(f"x{number}", requests) for number, requests in enumerate(others)]
    return replace(pod(name), placement=placement, containers=(container("main", "1/1G"), *extra))


def used(*pods: Pod, policies: tuple[ContainerPolicy, ...] = ()) -> Rounds:
    made = Rounds(Scene().follow(vpa("v", *policies)))
    made.scene.tracked().controllers = (ControllerKey("default", "Deployment", "v", "apps/v1"),)
    made.observe(*pods)
    for each in pods[:1]:
        made.scene.cpu(T0, 100, "main", each.name)
        made.scene.memory(T0, 8 * GB, "main", each.name)
    return made


def memory(found: Recommended) -> int:
    entry = found.recommendations[0].of("main")
    assert entry is not None
    return entry.target["memory"].value()


def conditions(found: Recommended) -> list[str]:
    return [condition.type for each in found.cautions.values() for condition in each]


ASKED = memory(used(placed()).run())
"""What is estimated for 8 GB: the end of their bucket."""


@pytest.mark.parametrize(
    ("row", "nodes", "workloads", "expected"),
    [
        ("case:45", (SMALL,), (), 7_700_000_000),
        ("case:45 suits", (SMALL, LARGE), (), 7_700_000_000),
        ("case:45 none suits", (LARGE,), (), ASKED),
        ("beyond:B-11 no nodes", (), (), ASKED),
        ("case:45 at the cap", (replace(SMALL, allocatable=amounts(f"4/{ASKED}")),), (), ASKED),
        ("case:45 a byte below", (replace(SMALL, allocatable=amounts(f"4/{ASKED - 1}")),), (), ASKED - 1),
        ("case:45 daemon set", (SMALL,), (AGENT,), 7_200_000_000),
        (
            "case:45 daemon set elsewhere",
            (SMALL,),
            (replace(AGENT, placement=Placement({"disk": "ssd"})),),
            7_700_000_000,
        ),
        ("case:45 daemon set not known", (SMALL,), (replace(AGENT, placement=None),), 7_700_000_000),
    ],
)
def test_what_pods_may_ask_for(
    row: str, nodes: tuple[Node, ...], workloads: tuple[Workload, ...], expected: int
) -> None:
    found = used(placed()).run(*nodes, workloads=workloads)
    assert memory(found) == expected, row
    assert conditions(found) == [LOW_CONFIDENCE, *([CAPPED_TO_NODE] if expected < ASKED else [])], row
    entry = found.recommendations[0].containers[0]
    assert (entry.uncapped_target or {})["memory"].value() == ASKED, row


def test_the_largest_pod_of_a_daemon_set_counts_whatever_its_template_says() -> None:
    agent = replace(
        placed("agent", Placement()),
        namespace="kube-system",
        labels={"app": "agent"},
        containers=(container("main", "100m/700M"),),
        owners=(Owner("apps/v1", "DaemonSet", "agent", controller=True),),
    )
    rounds = used(placed())
    rounds.observe(agent)
    assert memory(rounds.run(SMALL, workloads=(AGENT,))) == 7_000_000_000, "case:45"
    rounds.fit.forget(rounds.scene.model, ("kube-system", "agent"))
    assert memory(rounds.run(SMALL, workloads=(AGENT,))) == 7_200_000_000, "case:45"


def test_a_daemon_set_has_the_room_of_its_own_pods() -> None:
    owners = (Owner("apps/v1", "DaemonSet", "v", controller=True),)
    named = Placement(node_terms=(NodeTerm(fields=(NodeRequirement("metadata.name", "In", ("small",)),)),))
    rounds = used(replace(placed("p", named), owners=owners))
    own = replace(AGENT, namespace="default", name="v", placement=ON_SMALL)
    assert memory(rounds.run(SMALL, LARGE, workloads=(own, AGENT))) == 7_200_000_000, "beyond:B-11"
    anywhere = replace(own, placement=Placement())
    assert memory(rounds.run(SMALL, LARGE, workloads=(anywhere, AGENT))) == ASKED, "beyond:B-11"


@pytest.mark.parametrize(
    ("row", "placement", "mode", "expected"),
    [
        ("beyond:B-11 not scaled", ON_SMALL, ScalingMode.OFF, 6_700_000_000),
        ("beyond:B-11 no samples yet", ON_SMALL, None, 6_700_000_000),
        ("beyond:B-11 overhead", replace(ON_SMALL, overhead=amounts("-/200M")), ScalingMode.OFF, 6_500_000_000),
    ],
)
def test_what_is_not_recommended_needs_room_too(
    row: str, placement: Placement, mode: ScalingMode | None, expected: int
) -> None:
    rounds = used(placed("p", placement, "-/1G"), policies=(ContainerPolicy("x0", mode),))
    assert memory(rounds.run(SMALL)) == expected, row


def test_a_container_is_shared_out_to_as_soon_as_it_is_recommended() -> None:
    rounds = used(placed("p", ON_SMALL, "-/1G"))
    assert memory(rounds.run(SMALL)) == 6_700_000_000, "beyond:B-11"
    rounds.scene.memory(T0, 8 * GB, "x0")
    found = rounds.run(SMALL)
    assert [entry.target["memory"].value() for entry in found.recommendations[0].containers] == [3_850_000_000] * 2


@pytest.mark.parametrize(
    ("row", "workloads", "expected"),
    [
        ("case:45 by its template", (DEPLOYMENT,), 7_700_000_000),
        ("case:45 by its new template", (replace(DEPLOYMENT, placement=Placement()),), ASKED),
        ("beyond:B-11 no template", (replace(DEPLOYMENT, placement=None),), ASKED),
        ("beyond:B-11 unknown", (), ASKED),
    ],
)
def test_pods_that_are_not_there_go_where_the_template_lets_them(
    row: str, workloads: tuple[Workload, ...], expected: int
) -> None:
    rounds = used(placed())
    rounds.run(SMALL, LARGE, workloads=(DEPLOYMENT,))
    rounds.fit.forget(rounds.scene.model, ("default", "p"))
    rounds.scene.model.forget_pod("default", "p")
    assert memory(rounds.run(SMALL, LARGE, workloads=workloads)) == expected, row


def test_the_target_that_is_a_daemon_set_without_pods() -> None:
    rounds = used(placed())
    rounds.scene.tracked().controllers = (ControllerKey("kube-system", "DaemonSet", "agent", "apps/v1"),)
    rounds.fit.forget(rounds.scene.model, ("default", "p"))
    assert memory(rounds.run(SMALL, workloads=(AGENT,))) == 7_700_000_000, "beyond:B-11"


def test_cap_and_condition_go_when_the_reason_does() -> None:
    rounds = used(placed())
    assert memory(rounds.run(SMALL, LARGE)) == 7_700_000_000, "case:45"
    rounds.observe(placed("p", Placement()))
    found = rounds.run(SMALL, LARGE)
    assert (memory(found), conditions(found)) == (ASKED, [LOW_CONFIDENCE]), "case:45"
    rounds.observe(placed("q", ON_SMALL))
    assert memory(rounds.run(SMALL, LARGE)) == ASKED, "a rollout may still go anywhere"


def test_a_pod_that_the_model_does_not_know_counts_for_nothing() -> None:
    rounds = used(placed())
    rounds.fit.observe(rounds.scene.model, [placed("new", Placement())])
    rounds.fit.forget(rounds.scene.model, ("default", "new"))
    assert memory(rounds.run(SMALL, LARGE)) == 7_700_000_000, "beyond:B-11"
