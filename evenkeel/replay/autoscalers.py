"""VerticalPodAutoscalers for the workloads that were replayed, with the settings that somebody has chosen.

They have only fields that the definition knows; what a recommender has to be told by flags stands in a comment.

Spec: beyond B-36; api 7.1.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import yaml

from autoscaling.resources import ResourceList
from autoscaling.runtime.api_group import ApiGroup
from autoscaling.vpa import ContainerPolicy, UpdateMode
from evenkeel.inspection.documents import Json
from evenkeel.replay.variants import ANY_CONTAINER, Variant
from recommender.strategies.vpa import VPA_DEFAULT, VPA_MIN0

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


class WorkloadKind(StrEnum):
    """Kinds of controllers in apps/v1 that recordings may be of."""

    DEPLOYMENT = "Deployment"
    STATEFUL_SET = "StatefulSet"
    DAEMON_SET = "DaemonSet"
    REPLICA_SET = "ReplicaSet"


@dataclass(frozen=True, slots=True)
class Setting:
    """What is chosen.

    Args:
        name: How it was called in the replay.
        strategy: What ``spec.recommender.strategy`` has to name.
        policy: Of each container.
        flags: What the recommender has to be started with.
    """

    name: str
    strategy: str
    policy: ContainerPolicy = ANY_CONTAINER
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload with those of its containers that were replayed."""

    namespace: str
    name: str
    containers: tuple[str, ...]


_NO_MINIMUM: Final = ("--pod-recommendation-min-cpu-millicores=0", "--pod-recommendation-min-memory-mb=0")


def setting_of(variant: Variant) -> Setting:
    """Return a variant as objects can ask for it; that there is no least amount of a pod is a strategy, and no flag."""
    if set(_NO_MINIMUM) <= set(variant.flags):
        flags = tuple(flag for flag in variant.flags if flag not in _NO_MINIMUM)
        return Setting(variant.name, VPA_MIN0.name, variant.policy, flags)
    return Setting(variant.name, VPA_DEFAULT.name, variant.policy, variant.flags)


def workloads(names: Iterable[str]) -> tuple[tuple[Workload, ...], tuple[str, ...]]:
    """Return the workloads of series that are called namespace/workload/container, and what is wrong with other names.

    Args:
        names: Names of series.
    """
    found: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    problems: list[str] = []
    for name in names:
        match name.split("/"):
            case [namespace, workload, container] if _is_named(namespace, workload, container):
                found[namespace, workload].append(container)
            case _:
                problems.append(
                    f"series {name}: is not called namespace/workload/container by names that Kubernetes allows; "
                    "no object is written for it, rename it in the recording"
                )
    listed = (Workload(*key, tuple(sorted(set(containers)))) for key, containers in sorted(found.items()))
    return tuple(listed), tuple(problems)


def _is_named(namespace: str, workload: str, container: str) -> bool:
    is_labelled = all(_LABEL.fullmatch(each) is not None for each in (namespace, container))
    return is_labelled and _SUBDOMAIN.fullmatch(workload) is not None


def autoscaler(workload: Workload, setting: Setting, kind: WorkloadKind) -> Mapping[str, Json]:
    """Return the object for one workload.

    Args:
        workload: The workload.
        setting: What is chosen.
        kind: What controls the workload's pods.
    """
    policies: list[Json] = [{"containerName": name, **policy_fields(setting.policy)} for name in workload.containers]
    return {
        "apiVersion": f"{ApiGroup.EVENKEEL.value}/v1",
        "kind": "VerticalPodAutoscaler",
        "metadata": {"name": workload.name, "namespace": workload.namespace},
        "spec": {
            "targetRef": {"apiVersion": "apps/v1", "kind": kind.value, "name": workload.name},
            "updatePolicy": {"updateMode": UpdateMode.IN_PLACE_OR_RECREATE.value},
            "recommender": {"strategy": setting.strategy},
            "resourcePolicy": {"containerPolicies": policies},
        },
    }


def policy_fields(policy: ContainerPolicy) -> Mapping[str, Json]:
    """Return those fields of a policy that say anything."""
    found: dict[str, Json] = {}
    for field, bounds in (("minAllowed", policy.min_allowed), ("maxAllowed", policy.max_allowed)):
        if bounds:
            found[field] = _amounts(bounds)
    if policy.controlled_values is not None:
        found["controlledValues"] = policy.controlled_values.value
    return found


def _amounts(bounds: ResourceList) -> dict[str, Json]:
    return {name: str(amount) for name, amount in bounds.items()}


def needs(setting: Setting) -> tuple[str, ...]:
    """Return what else has to be done for a setting to be what was replayed, line by line."""
    if not setting.flags:
        return ()
    return (
        f"Setting {setting.name} needs a recommender with these flags, which count for all objects that it serves:",
        *(f"  {flag}" for flag in setting.flags),
    )


def file_name(workload: Workload) -> str:
    """Return the name of the file for a workload's object; a slash or a dot in it would lead elsewhere or clash."""
    return f"{workload.namespace}_{workload.name}.yaml"


def text_of(workload: Workload, setting: Setting, kind: WorkloadKind) -> str:
    """Return the object for one workload as YAML, with what else is needed as a comment."""
    comment = "".join(f"# {line}\n" for line in needs(setting))
    return comment + yaml.safe_dump(autoscaler(workload, setting, kind), sort_keys=False)
