"""What pods look like to nodes, counted as they come and go."""

from __future__ import annotations

from dataclasses import replace

import pytest

from autoscaling.placement import NodeRequirement, NodeTerm, Placement, Toleration
from autoscaling.pod import Owner, Pod
from autoscaling.scheduling import Demands
from recommender.label_sets import Shape
from recommender.pod_shapes import PodShapes
from tests.builders import amounts, container, sidecar, with_init_containers
from tests.recommender.scene import Scene, pod, vpa

MI = 2**20
SSD = Placement({"disk": "ssd"}, overhead=amounts("10m/16Mi"))
HDD = Placement({"disk": "hdd"})
CONTAINERS = (container("main", "100m/64Mi"), container("side", "50m/-"))


def placed(name: str = "p", placement: Placement | None = SSD, app: str = "a") -> Pod:
    return replace(pod(name, labels={"app": app}), placement=placement, containers=CONTAINERS)


def of_daemon_set(name: str, daemon_set: str = "agent") -> Pod:
    """Return a pod as its DaemonSet makes it: bound to its node by name."""
    named = NodeTerm(fields=(NodeRequirement("metadata.name", "In", (f"node-{name}",)),))
    placement = Placement(node_terms=(named,), tolerations=(Toleration("gpu", "Exists"),))
    return replace(placed(name, placement), owners=(Owner("apps/v1", "DaemonSet", daemon_set, controller=True),))


def seen(*pods: Pod) -> tuple[Scene, PodShapes]:
    one, shapes = Scene().follow(vpa()), PodShapes()
    look(one, shapes, *pods)
    return one, shapes


def look(one: Scene, shapes: PodShapes, *pods: Pod) -> None:
    one.observe(*pods)
    for each in pods:
        shapes.observe(one.model.pods["default", each.name], each)


def known(one: Scene) -> list[Shape]:
    return [shape for label_set in one.tracked().label_sets for shape in label_set.shapes.values()]


def test_what_a_shape_tells() -> None:
    (shape,) = known(seen(placed())[0])
    assert (shape.demands, shape.daemon_set) == (Demands.of(SSD), None), "beyond:B-11"
    assert shape.requests == {"main": (100, 64 * MI), "side": (50, 0)}
    assert (shape.overhead, shape.total) == ((10, 16 * MI), (160, 80 * MI))


@pytest.mark.parametrize(
    ("row", "counts", "names"),
    [("beyond:B-16", True, {"main", "side", "proxy"}), ("upstream", False, {"main", "side"})],
)
def test_sidecars_run_as_long_as_the_pod_plain_init_containers_do_not(row: str, counts: bool, names: set[str]) -> None:
    inits = (container("init", "4/4Gi"), sidecar("proxy", "20m/-"))[: 2 if counts else 1]
    (shape,) = known(seen(with_init_containers(placed(), *inits))[0])
    assert shape.requests.keys() == names, row


def test_pods_that_look_alike_are_counted_together() -> None:
    one, shapes = seen(placed("p"), placed("q"))
    (shape,) = known(one)
    assert (shape.pods, shapes.changed) == (2, {one.tracked()}), "performance:R-3"
    shapes.changed.clear()
    look(one, shapes, placed("p"), placed("r"))
    assert (shape.pods, shapes.changed) == (3, set()), "performance:R-3"


@pytest.mark.parametrize(
    ("row", "later", "selectors"),
    [
        ("beyond:B-11 rollout", placed("q", HDD), [{"disk": "ssd"}, {"disk": "hdd"}]),
        ("beyond:B-11 moved", placed("p", HDD), [{"disk": "hdd"}]),
        ("beyond:B-11 not read", placed("p", None), []),
        ("beyond:B-11 another's", placed("p", SSD, "b"), []),
    ],
)
def test_shapes_that_come_and_go(row: str, later: Pod, selectors: list[dict[str, str]]) -> None:
    one, shapes = seen(placed())
    shapes.changed.clear()
    look(one, shapes, later)
    assert [dict(shape.demands.labels) for shape in known(one)] == selectors, row
    assert shapes.changed == {one.tracked()}, row


def test_a_shape_goes_with_its_last_pod() -> None:
    one, shapes = seen(placed("p"), placed("q"))
    shapes.changed.clear()
    for name, left in (("p", 1), ("q", 0)):
        assert not shapes.changed, "beyond:B-11"
        shapes.forget(one.model.pods["default", name])
        assert len(known(one)) == left, "beyond:B-11"
    assert shapes.changed == {one.tracked()}
    shapes.forget(one.model.pods["default", "q"])
    assert known(one) == []


def test_the_pods_of_a_daemon_set_look_alike_wherever_they_are() -> None:
    one, shapes = seen(of_daemon_set("a"), of_daemon_set("b"))
    (shape,) = known(one)
    key = ("default", "DaemonSet", "agent")
    assert (shape.daemon_set, shape.pods) == (key, 2), "beyond:B-11"
    assert shape.demands == Demands(tolerations=(Toleration("gpu", "Exists"),))
    assert shapes.of_daemon_sets == {key: {shape: None}}
    for name in "ab":
        shapes.forget(one.model.pods["default", name])
    assert shapes.of_daemon_sets == {}


def test_pods_of_two_daemon_sets_with_the_same_labels_are_kept_apart() -> None:
    one, shapes = seen(of_daemon_set("a"), of_daemon_set("b", "other"))
    assert [shape.pods for shape in known(one)] == [1, 1], "beyond:B-11"
    assert {key[2] for key in shapes.of_daemon_sets} == {"agent", "other"}
