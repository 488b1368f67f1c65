"""Nodes, pods on them and what is known of both, in a few words."""

from __future__ import annotations

from dataclasses import replace

from autoscaling.node import Node
from autoscaling.placement import Placement
from autoscaling.pod import Container, ContainerStatus, Pod
from autoscaling.quantity import Quantity
from autoscaling.resources import ContainerResources
from tests.builders import amounts, pod
from tests.updater.situations import UPSTREAM
from updater.settings import Settings
from updater.surroundings import Surroundings

FREE_ROOM = replace(UPSTREAM, free_room=True)
"""Upstream's decisions but for this rule."""
ROOMY = Settings(behaviour=FREE_ROOM, is_in_place_on=True, eviction_tolerance=1.0, min_replicas=1)


def node(name: str = "node1", room: str = "4/8Gi", pods: int = 110) -> Node:
    """Return a node with allocatable amounts written as ``cpu/memory``."""
    return Node(name, {**amounts(room), "pods": Quantity.of_units(pods)})


def around(*nodes: Node) -> Surroundings:
    """Return surroundings with these nodes known."""
    return Surroundings(nodes={each.name: each for each in nodes})


def on(subject: Pod, node_name: str = "node1", placement: Placement | None = None) -> Pod:
    """Return a pod on a node, which may run anywhere unless told otherwise."""
    return replace(subject, node_name=node_name, placement=placement or Placement())


def filling(name: str, requests: str, *containers: Container, node_name: str = "node1") -> Pod:
    """Return a pod that nobody scales and that takes up room."""
    taken = Container("x", ContainerResources(amounts(requests)))
    return on(replace(pod(taken, *containers, name=name), owners=()), node_name)


def given(subject: Pod, requests: str, limits: str = "-", container: str = "c") -> Pod:
    """Return a pod whose node has given a container this and reports it as in force."""
    resources = ContainerResources(amounts(requests), amounts(limits) or None)
    status = ContainerStatus(container, resources=resources, allocated=amounts(requests), is_running=True)
    return replace(subject, statuses=(*subject.statuses, status))
