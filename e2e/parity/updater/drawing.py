"""Clusters as an updater finds them, drawn: pods in every state of a resize, near every threshold."""

from __future__ import annotations

from typing import Final

from e2e.parity.dice import Dice
from e2e.parity.kinds import Case

SPACE: Final = "n1"
CONTAINERS: Final = ("c", "d")
_SECOND: Final = 10**9
_HALF_DAY: Final = 12 * 3600
_MODES: Final = (
    "Recreate",
    "Auto",
    "InPlaceOrRecreate",
    "InPlaceOrRecreate",
    "InPlaceOrRecreate",
    "InPlace",
    "InPlace",
)


def flags(dice: Dice) -> Case:
    """Draw an updater's flags: its defaults, or others."""
    return {
        "minReplicas": dice.pick(1, 2, 2, 2, 3),
        "tolerance": dice.pick(0.0, 0.1, 0.5, 0.5, 0.5, 0.99, 1.0),
        "threshold": dice.pick(0.1, 0.1, 0.1, 0.5, 0.0),
        "lifetime": dice.pick(_HALF_DAY, _HALF_DAY, 3600) * _SECOND,
        "afterOom": dice.pick(600, 600, 60) * _SECOND,
        "skipsBudget": dice.chance(0.3),
        "rateLimit": -1.0,
        "rateBurst": 1,
        "ignored": [""],
    }


def gates(dice: Dice) -> Case:
    """Draw feature gates."""
    return {"InPlace": dice.chance(0.85), "PerVPAConfig": dice.chance(0.4), "CPUStartupBoost": dice.chance(0.2)}


class Neighbourhood:
    """Draws the objects around some VPAs.

    Args:
        names: Containers of the pods.
    """

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self.names = CONTAINERS[: dice.pick(1, 2, 2)]
        self._usual = {name: _requests(dice) for name in self.names}

    def vpa(self, name: str, target: str = "d") -> Case:
        """Draw a VPA that acts on running pods, mostly."""
        dice = self._dice
        spec: Case = {"targetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": target}}
        policy = self._update_policy()
        if policy is not None:
            spec["updatePolicy"] = policy
        if dice.chance(0.4):
            spec["resourcePolicy"] = {"containerPolicies": [self._policy() for _ in range(dice.whole(0, 3))]}
        if dice.chance(0.12):
            spec["startupBoost"] = {"cpu": {"type": "Factor", "factor": 2, **dice.pick({}, {"durationSeconds": 60})}}
        meta: Case = {
            "name": name,
            "namespace": SPACE,
            "uid": name,
            "creationTimestamp": {"ago": dice.pick(100000, 200000)},
        }
        drawn: Case = {
            "apiVersion": "autoscaling.k8s.io/v1",
            "kind": "VerticalPodAutoscaler",
            "metadata": meta,
            "spec": spec,
        }
        if dice.chance(0.95):
            drawn["status"] = {"recommendation": self.recommendation()}
        return drawn

    def _update_policy(self) -> Case | None:
        dice = self._dice
        if dice.chance(0.06):
            return None
        policy: Case = {}
        if dice.chance(0.95):
            policy["updateMode"] = dice.pick(*_MODES * 3, "Off", "Initial")
        if dice.chance(0.4):
            policy["minReplicas"] = dice.pick(1, 1, 2, 3)
        if dice.chance(0.2):
            policy["evictionRequirements"] = [
                {
                    "resources": dice.pick(["cpu"], ["memory"], ["cpu", "memory"], []),
                    "changeRequirement": dice.pick("TargetHigherThanRequests", "TargetLowerThanRequests"),
                }
                for _ in range(dice.pick(0, 1, 1, 2))
            ]
        if dice.chance(0.3):
            policy["evictAfterOOMSeconds"] = dice.pick(60, 120, 3600)
        return policy

    def _policy(self) -> Case:
        dice = self._dice
        options: Case = {
            "minAllowed": _requests(dice),
            "maxAllowed": _requests(dice),
            "controlledValues": dice.pick("RequestsOnly", "RequestsAndLimits"),
            "mode": dice.pick("Off", "Auto"),
        }
        return {"containerName": dice.pick(*CONTAINERS, "*"), **{n: options[n] for n in dice.some(sorted(options), 3)}}

    def recommendation(self) -> Case:
        """Draw a recommendation, its bounds close to the target or wide."""
        dice = self._dice
        entries: list[Case] = []
        for name in (*self.names, *dice.pick((), (), (), ("gone",))):
            if dice.chance(0.08):
                continue
            target = self._usual.get(name, {}) if dice.chance(0.3) else _requests(dice)
            entry: Case = {"containerName": name, "target": target}
            if dice.chance(0.95):
                entry["lowerBound"] = _times(dice, target, (5, 8, 10))
            if dice.chance(0.95):
                entry["upperBound"] = _times(dice, target, (10, 15, 30))
            entries.append(entry)
        return {"containerRecommendations": entries}

    def pods(self, most: int = 8) -> list[Case]:
        """Draw pods."""
        return [self.pod(f"p{index}") for index in range(self._dice.whole(0, most))]

    def pod(self, name: str) -> Case:
        """Draw a pod, or another state of it."""
        dice = self._dice
        containers = [self._container(each) for each in self.names]
        meta: Case = {
            "name": name,
            "namespace": SPACE,
            "uid": f"uid-{name}",
            "labels": {"app": dice.pick(*["a"] * 20, "b")},
            "ownerReferences": _owner(dice),
        }
        annotations = self._annotations()
        if annotations is not None:
            meta["annotations"] = annotations
        if dice.chance(0.03):
            meta["deletionTimestamp"] = {"ago": 1}
        status: Case = {
            "phase": dice.pick(*["Running"] * 9, "Pending"),
            "containerStatuses": [self._status(each) for each in containers if dice.chance(0.92)],
        }
        if dice.chance(0.95):
            status["startTime"] = {"ago": dice.pick(600, 3600, _HALF_DAY - 1, _HALF_DAY, _HALF_DAY + 1, 5 * 86400)}
        conditions = _conditions(dice)
        if conditions:
            status["conditions"] = conditions
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": meta,
            "spec": {"nodeName": "n", "containers": containers},
            "status": status,
        }

    def _container(self, name: str) -> Case:
        dice = self._dice
        requests = self._usual[name] if dice.chance(0.5) else _requests(dice)
        resources: Case = {}
        if requests or dice.chance(0.3):
            resources["requests"] = requests
        limits = {r: _time(str(q), dice.pick(10, 20, 30)) for r, q in requests.items() if dice.chance(0.5)}
        if limits or dice.chance(0.2):
            resources["limits"] = limits
        container: Case = {"name": name, "image": "i", "resources": resources}
        if dice.chance(0.15):
            container["resizePolicy"] = [
                {
                    "resourceName": dice.pick("cpu", "memory"),
                    "restartPolicy": dice.pick("NotRequired", "RestartContainer"),
                }
            ]
        return container

    def _status(self, container: Case) -> Case:
        dice = self._dice
        status: Case = {"name": container["name"]}
        if dice.chance(0.5):
            status["resources"] = container["resources"] if dice.chance(0.8) else {"requests": _requests(dice)}
        if dice.chance(0.25):
            finished, ran = dice.pick(30, 59, 60, 599, 600, 601, 86400), dice.pick(10, 59, 60, 599, 600, 7200)
            ended: Case = {
                "reason": dice.pick("OOMKilled", "OOMKilled", "Error"),
                "exitCode": 137,
                "startedAt": {"ago": finished + ran},
                "finishedAt": {"ago": finished},
            }
            status["lastState"] = {"terminated": ended}
        return status

    def _annotations(self) -> Case | None:
        dice = self._dice
        if dice.chance(0.5):
            return None
        annotations: Case = {}
        if dice.chance(0.5):
            annotations["vpaObservedContainers"] = dice.pick("c", "d", "c, d", "c,d", "", "C")
        if dice.chance(0.15):
            annotations[f"vpaCpuStartupBoost/{dice.pick('c', 'd', 'x')}"] = boost_annotation(dice)
        return annotations


def boost_annotation(dice: Dice) -> str:
    """Draw what a boosted container had before."""
    before = '{"requests":{"cpu":"50m","memory":"32Mi"},"limits":{"cpu":"500m"}}'
    return dice.pick(
        before, before, before, '{"requests":{"cpu":"100m"},"limits":{}}', "{}", "no JSON", '{"requests":null}'
    )


def workloads(dice: Dice, pods: int) -> list[Case]:
    """Draw the controllers of pods and the Deployment above them."""
    above: list[Case] = [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "d", "controller": True, "uid": "d"}]
    selector: Case = {"matchLabels": {"app": "a"}}
    drawn: list[Case] = [_workload("Deployment", "d", {"selector": selector, "replicas": pods})]
    for kind in ("ReplicaSet", "StatefulSet", "ReplicationController", "DaemonSet", "Job"):
        if kind != "ReplicaSet" and dice.chance(0.1):
            continue
        count = max(0, dice.pick(pods, pods, pods, pods - 1, pods + 1, 1, 0))
        spec: Case = {"selector": {"app": "a"} if kind == "ReplicationController" else selector}
        if dice.chance(0.97):
            spec["replicas"] = count
        each = _workload(kind, "o", spec, above)
        if kind == "DaemonSet":
            each["status"] = {"desiredNumberScheduled": count, "numberReady": dice.whole(0, 5)}
        drawn.append(each)
    return drawn


def _workload(kind: str, name: str, spec: Case, owners: list[Case] | None = None) -> Case:
    versions = {"Job": "batch/v1", "ReplicationController": "v1"}
    meta: Case = {"namespace": SPACE, "name": name}
    if owners:
        meta["ownerReferences"] = owners
    return {"apiVersion": versions.get(kind, "apps/v1"), "kind": kind, "metadata": meta, "spec": spec}


def _owner(dice: Dice) -> list[Case]:
    kind = dice.pick(*["ReplicaSet"] * 12, "StatefulSet", "ReplicationController", "DaemonSet", "Job", "Foo")
    version = {"Job": "batch/v1", "ReplicationController": "v1", "Foo": "example.com/v1"}.get(kind, "apps/v1")
    return [
        {"apiVersion": version, "kind": kind, "name": dice.pick(*["o"] * 30, "gone"), "controller": True, "uid": "o"}
    ]


def _conditions(dice: Dice) -> list[Case]:
    drawn: list[Case] = (
        [
            {
                "type": "Ready",
                "status": dice.pick("True", "True", "False"),
                "lastTransitionTime": {"ago": dice.pick(30, 60, 61, 600)},
            }
        ]
        if dice.chance(0.7)
        else []
    )
    if dice.chance(0.5):
        return drawn
    for _ in range(dice.pick(1, 1, 1, 2)):
        kind = dice.pick("PodResizePending", "PodResizeInProgress")
        reasons = (
            ("Deferred", "Deferred", "Infeasible", "Odd", "")
            if kind == "PodResizePending"
            else ("", "", "", "Error", "Odd")
        )
        drawn.append(
            {
                "type": kind,
                "status": dice.pick("True", "True", "True", "False"),
                "reason": dice.pick(*reasons),
                "message": dice.pick("", "", "x"),
            }
        )
    return drawn


def all_limit_ranges(dice: Dice) -> list[Case]:
    """Draw the LimitRanges of the namespace, seldom any; amounts stay far from where 64 bits end."""
    if not dice.chance(0.3):
        return []
    items = [_limit_range_item(dice, kind) for kind in ("Container", "Pod", "Pod") if dice.chance(0.6)]
    return [{"metadata": {"namespace": SPACE, "name": "l"}, "spec": {"limits": items}}]


def _limit_range_item(dice: Dice, kind: str) -> Case:
    item: Case = {"type": kind}
    bounds: Case = {
        "max": {"cpu": f"{dice.pick(300, 800, 2000, 4000)}m", "memory": f"{dice.pick(200, 600, 2000)}Mi"},
        "min": {"cpu": f"{dice.pick(20, 100, 300, 900)}m", "memory": f"{dice.pick(20, 100, 400)}Mi"},
        "default": {"cpu": dice.pick("500m", "1"), "memory": dice.pick("512Mi", "1Gi")},
    }
    for name, amounts in bounds.items():
        if dice.chance(0.5) and (kind == "Container" or name != "default"):
            assert isinstance(amounts, dict)
            item[name] = {resource: text for resource, text in amounts.items() if dice.chance(0.7)}
    return item


def _requests(dice: Dice) -> Case:
    """Draw requests, out of few amounts, so that many are equal or near each other."""
    drawn: Case = {}
    if dice.chance(0.92):
        drawn["cpu"] = f"{dice.pick(50, 100, 150, 200, 250, 300, 400, 1000, 2000) + dice.pick(0, 0, 1, 7)}m"
    if dice.chance(0.92):
        drawn["memory"] = f"{dice.pick(50, 100, 200, 300, 500, 1000) + dice.pick(0, 0, 1)}Mi"
    if dice.chance(0.02):
        drawn["cpu"] = dice.pick("0", "1500u", "0.1", "2")
    if dice.chance(0.02):
        drawn["example.com/gpu"] = "1"
    return drawn


def _times(dice: Dice, amounts: object, tenths: tuple[int, ...]) -> Case:
    """Return amounts, each multiplied by a tenth drawn for it."""
    assert isinstance(amounts, dict)
    return {name: _time(str(text), dice.among(tenths)) for name, text in amounts.items()}


def _time(text: str, tenths: int) -> str:
    """Return tenths of an amount in millicores or mebibytes; others stay as they are."""
    for suffix in ("Mi", "m"):
        if text.endswith(suffix):
            return f"{int(text.removesuffix(suffix)) * tenths // 10}{suffix}"
    return text
