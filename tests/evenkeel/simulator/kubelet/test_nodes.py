"""The nodes of a cluster: names, bindings, metrics."""

from __future__ import annotations

import pytest

from evenkeel.simulator.api.fields import text
from evenkeel.simulator.api.server import ApiServer
from evenkeel.simulator.kubelet.nodes import Nodes
from evenkeel.simulator.kubelet.settings import NodeSettings
from evenkeel.simulator.workloads.catalogue import Catalogue
from tests.evenkeel.simulator.kubelet.stage import Stage


def test_names_are_unique() -> None:
    nodes = Nodes(ApiServer(), Catalogue())
    added = nodes.add(NodeSettings("n"))
    assert nodes["n"] is added
    assert nodes.all() == [added]
    with pytest.raises(ValueError, match="node n: exists already"):
        nodes.add(NodeSettings("n"))
    with pytest.raises(KeyError):
        nodes["m"]


def test_a_pod_is_on_a_node_from_its_binding_to_its_removal() -> None:
    stage = Stage()
    stage.create("a", nodeName="")
    assert dict(stage.nodes.pods_of("n")) == {}
    pod = stage.read("a")
    pod["spec"] = {**pod["spec"], "nodeName": "n"}  # type: ignore[dict-item]
    stage.server.store.update(pod)
    assert [text(s.body, "metadata", "name") for s in stage.nodes.pods_of("n").values()] == ["a"]
    stage.advance(4)
    assert stage.phase("a") == "Running"
    stage.server.store.delete("v1", "Pod", "a", "default")
    assert dict(stage.nodes.pods_of("n")) == {}


def test_nodes_of_more_than_250_have_addresses_of_their_own() -> None:
    nodes = Nodes(ApiServer(), Catalogue())
    addresses = {nodes.add(NodeSettings(f"n{number}")).address for number in range(300)}
    assert len(addresses) == 300
