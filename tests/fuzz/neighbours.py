"""Whether anybody else notices a pod, a VPA or usage that cannot be meant."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from autoscaling.errors import InvalidObjectError
from autoscaling.matching import SelectingVpa, of_labels
from autoscaling.pod import Owner, Pod, PodPhase
from autoscaling.vpa import ContainerRecommendation, TargetRef, UpdateMode, Vpa
from autoscaling.wire.objects import decode_vpa
from autoscaling.wire.pods import decode_placed_pod_with_sidecars
from autoscaling.workload import Workload
from recommender.usage_table import UsageMatcher
from recommender.wire.pod_metrics import decode_usage
from tests.builders import T0
from tests.fuzz import objects
from tests.fuzz.objects import text, words_in
from tests.fuzz.target import LawBrokenError, Target
from tests.recommender.scene import MINUTE, Scene, of_one_container
from tests.recommender.scene import pod as watched_pod
from tests.recommender.scene import vpa as watched_vpa
from tests.updater.situations import DEPLOYMENT, EVENKEEL, GATES_ON, NOW, SELECTOR, play, replica_set, small, vpa_of
from updater.circumstances import Memory
from updater.plan import Plan
from updater.settings import Settings
from updater.snapshot import Snapshot

_EVIL = "evil"
_SETTINGS = (EVENKEEL, replace(GATES_ON, is_startup_boost_on=True, is_per_vpa_config_on=True))


def _evil_pod(data: bytes) -> Pod:
    """Return a pod as given but for where it lies and whose it is."""
    pod = decode_placed_pod_with_sidecars(data)
    owners = (Owner("apps/v1", "ReplicaSet", "rs", controller=True),)
    return replace(
        pod, namespace=_EVIL, labels={"app": "a"}, owners=owners, node_name="node2", phase=PodPhase.RUNNING, uid="evil"
    )


def _evil_vpa(data: bytes) -> Vpa:
    return replace(decode_vpa(data), namespace=_EVIL, name="v", target_ref=TargetRef("Deployment", "d", "apps/v1"))


def _said(settings: Settings, pods: tuple[Pod, ...], vpas: tuple[Vpa, ...]) -> list[str]:
    """Return what becomes of the pod of the good namespace in a round."""
    workloads: list[Workload] = []
    for namespace in ("default", _EVIL):
        workloads += [replace(each, namespace=namespace) for each in (DEPLOYMENT, replica_set(1))]
    good = (SelectingVpa(vpa_of(UpdateMode.RECREATE, minimum=1), SELECTOR),)
    seen = Snapshot.of(
        vpas=(*(SelectingVpa(vpa, of_labels({"app": "a"})) for vpa in vpas), *good),
        pods=(*pods, small()),
        workloads=workloads,
        scales={},
        limit_ranges=(),
    )
    played = play(Plan.of(seen, NOW, Memory(), settings))
    return [
        f"{decision.ref.name} {decision.action.value} {decision.reason.value}"
        for decision in played.decisions
        if decision.ref.namespace == "default"
    ]


@cache
def _undisturbed(settings: Settings) -> list[str]:
    return _said(settings, (), ())


def _compare(pods: tuple[Pod, ...], vpas: tuple[Vpa, ...]) -> None:
    for settings in _SETTINGS:
        for mode in (UpdateMode.RECREATE, UpdateMode.IN_PLACE_OR_RECREATE):
            acting = tuple(replace(vpa, update_policy=vpa_of(mode, minimum=1).update_policy) for vpa in vpas)
            said = _said(settings, pods, acting)
            if said != _undisturbed(settings):
                raise LawBrokenError(f"the updater says {said} of the other pod")


def _recommended(pod: Pod) -> tuple[ContainerRecommendation, ...]:
    return tuple(
        ContainerRecommendation(c.name, {"cpu": amount, "memory": amount}, lower_bound={}, upper_bound={"cpu": amount})
        for c in pod.containers
        for amount in [next(iter((c.resources.requests or {}).values()), None)]
        if amount is not None
    )


def _pod(data: bytes) -> None:
    """Law: a pod that can be read changes nothing for another one, with whatever it asks for recommended for it."""
    pod = _evil_pod(data)
    plain = replace(vpa_of(UpdateMode.RECREATE, minimum=1), namespace=_EVIL)
    mirrored = vpa_of(UpdateMode.RECREATE, *_recommended(pod), minimum=1)
    for vpa in (plain, replace(mirrored, namespace=_EVIL)):
        _compare((pod,), (vpa,))
    scene = Scene().observe(pod, watched_pod()).follow(watched_vpa("v"))
    scene.cpu(T0, 100)
    if scene.figures()["target"] != _figures()["target"]:
        raise LawBrokenError("the recommender says something else of the other pod")


@cache
def _figures() -> dict[str, dict[str, str]]:
    scene = of_one_container()
    scene.cpu(T0, 100)
    return scene.figures()


def _vpa(data: bytes) -> None:
    """Law: likewise for a VPA, beside pods that it may act on."""
    vpa = _evil_vpa(data)
    pod = replace(small("evil"), namespace=_EVIL, uid="evil", node_name="node2")
    _compare((pod,), (vpa,))
    scene = of_one_container()
    scene.observe(replace(watched_pod("q"), namespace=_EVIL)).follow(vpa)
    scene.cpu(T0, 100)
    if scene.figures()["target"] != _figures()["target"]:
        raise LawBrokenError("the recommender says something else of the other pod")
    groups = scene.model.groups()
    assert len(groups.vpas) == 2


def _usage(data: bytes) -> None:
    """Law: whatever is said of one pod's use, what is recommended for another one stays."""
    table = decode_usage(data).table
    scene = of_one_container()
    scene.observe(replace(watched_pod("web-0", "main", "side"), namespace="default", labels={"app": "other"}))
    scene.cpu(T0, 100)
    scene.model.take_usage(UsageMatcher(scene.model).match(table).columns, T0 + MINUTE, lambda *_, **__: None)
    if scene.figures()["target"] != _figures()["target"]:
        raise LawBrokenError("the recommender says something else of the other pod")


_PODS, _VPAS, _USAGES = (
    tuple(map(text, each)) for each in ((objects.POD, objects.SIDECARS), (objects.VPA,), (objects.USAGE,))
)

NEIGHBOURS = (
    Target("pod-and-neighbours", _pod, (InvalidObjectError,), _PODS, words_in(_PODS)),
    Target("vpa-and-neighbours", _vpa, (InvalidObjectError,), _VPAS, words_in(_VPAS)),
    Target("usage-and-neighbours", _usage, (InvalidObjectError,), _USAGES, words_in(_USAGES)),
)
"""Laws on what one tenant can do to others."""
