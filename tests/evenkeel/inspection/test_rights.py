"""What each process has to be allowed, against the roles that are shipped."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from autoscaling.runtime.api_group import ApiGroup
from evenkeel.inspection.findings import Level
from evenkeel.inspection.rights import (
    Access,
    Right,
    accesses,
    right_findings,
    rights_of_admission,
    rights_of_recommender,
    rights_of_updater,
)

ROLES = Path(__file__).parents[3] / "manifests" / "rbac"
SYSTEM, GROUP = "evenkeel-system", ApiGroup.EVENKEEL


def granted(file: str) -> Iterator[tuple[str, str, str, str, str]]:
    """Yield group, resource, verb, name and namespace of all that the roles in a file grant."""
    for document in yaml.safe_load_all((ROLES / file).read_text()):
        if document["kind"] in {"ClusterRole", "Role"}:
            place = document["metadata"].get("namespace", "")
            for rule in document["rules"]:
                for group in rule["apiGroups"]:
                    for resource in rule["resources"]:
                        for verb in rule["verbs"]:
                            for name in rule.get("resourceNames", [""]):
                                yield group, resource, verb, name, place


@pytest.mark.parametrize(
    ("file", "rights"),
    [
        ("recommender.yaml", rights_of_recommender(GROUP, SYSTEM)),
        ("updater.yaml", rights_of_updater(GROUP, SYSTEM)),
        ("admission.yaml", rights_of_admission(GROUP, SYSTEM, SYSTEM)),
    ],
)
def test_what_is_asked_is_what_the_roles_grant(file: str, rights: tuple[Right, ...]) -> None:
    """beyond:B-39."""
    asked = {(each.group, each.resource, each.verb, each.name, each.namespace) for each in accesses(rights)}
    assert asked == set(granted(file))


def test_the_drop_in_group_has_upstreams_names() -> None:
    """beyond:B-39."""
    asked = accesses(rights_of_updater(ApiGroup.UPSTREAM, "kube-system"))
    names = {each.name for each in asked if each.resource == "leases" and each.verb == "get"}
    assert names == {"vpa-updater", "vpa-admission-controller"}


RESIZE = Access("", "pods/resize", "patch", "", "", is_optional=False)
NODES = Access("", "nodes", "list", "", "", is_optional=True)
LEASE = Access("coordination.k8s.io", "leases", "get", "x", "ns", is_optional=False)

ANSWERS = [
    ("beyond:B-39 all", {RESIZE: True, NODES: True}, [(Level.OK, "updater: me has all 2 rights")]),
    (
        "beyond:B-39 needed",
        {RESIZE: False, NODES: True},
        [(Level.PROBLEM, "updater: me may not patch pods/resize; it cannot work")],
    ),
    (
        "beyond:B-39 optional",
        {RESIZE: True, NODES: False},
        [(Level.WARNING, "updater: me may not list nodes; it works on without, only less well")],
    ),
    (
        "beyond:B-39 a name",
        {LEASE: False},
        [(Level.PROBLEM, "updater: me may not get leases.coordination.k8s.io x in namespace ns; it cannot work")],
    ),
]


@pytest.mark.parametrize(("row", "answers", "found"), ANSWERS, ids=[row[0] for row in ANSWERS])
def test_findings(row: str, answers: dict[Access, bool], found: list[tuple[Level, str]]) -> None:
    told = list(right_findings("updater", "me", answers))
    assert [(each.level, each.message) for each in told] == found
    assert all(("manifests/rbac/updater.yaml" in each.remedy) is (each.level is not Level.OK) for each in told)
