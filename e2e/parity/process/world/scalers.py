"""VPAs made up by chance: what they aim at, how they update, what they allow."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from e2e.parity.process.world.dice import MEBIBYTE, Dice, cpu_text, memory_text
from e2e.parity.process.world.workloads import Workload
from evenkeel.simulator.api.fields import JsonObject, ensure

API_VERSION = "autoscaling.k8s.io/v1"
KIND = "VerticalPodAutoscaler"
_MODES = {
    "InPlaceOrRecreate": 0.34,
    "InPlace": 0.2,
    "Recreate": 0.18,
    "Auto": 0.06,
    "Initial": 0.05,
    "Off": 0.05,
    "": 0.12,
}


@dataclass(frozen=True, slots=True)
class Choices:
    """What VPAs may have beside the usual.

    Args:
        oom_seconds: Whether some say for how long an OOM kill counts.
        oom_bumps: Whether some say how much memory an OOM kill adds, and over what time peaks are taken.
        boosts: Whether some boost the CPU of new pods.
        modes: Update modes by weight; the empty one stands for no update policy at all.
    """

    oom_seconds: bool = False
    oom_bumps: bool = False
    boosts: bool = False
    modes: tuple[tuple[str, float], ...] = tuple(_MODES.items())


class ScalerMaker:
    """Makes VPAs up.

    Args:
        dice: Their chance.
        now: From when their ages count.
        choices: What they may have.
    """

    def __init__(self, dice: Dice, now: datetime, choices: Choices) -> None:
        self._dice = dice
        self._now = now
        self._choices = choices

    def make(self, name: str, workload: Workload) -> JsonObject:
        """Make a VPA up for a workload."""
        spec: JsonObject = {
            "targetRef": {"apiVersion": workload.api_version, "kind": workload.kind, "name": workload.name}
        }
        mode = self._dice.weighted(dict(self._choices.modes))
        if mode:
            spec["updatePolicy"] = self._update_policy(mode)
        if self._dice.chance(0.6):
            spec["resourcePolicy"] = {"containerPolicies": self._policies(workload)}
        if self._choices.boosts and self._dice.chance(0.25):
            spec["startupBoost"] = self._boost()
        metadata = {
            "name": name,
            "namespace": workload.namespace,
            "uid": self._dice.uid(),
            "generation": self._dice.between(1, 5),
            "creationTimestamp": self._dice.earlier(self._now, timedelta(hours=1), timedelta(days=20)),
        }
        return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec}

    def rival_of(self, vpa: JsonObject, workload: Workload) -> JsonObject:
        """Make up another VPA for the same workload; it may be as old."""
        metadata = ensure(vpa, "metadata")
        rival = self.make(f"{metadata['name']}-rival", workload)
        if self._dice.chance(0.3):
            ensure(rival, "metadata")["creationTimestamp"] = metadata["creationTimestamp"]
        return rival

    def _update_policy(self, mode: str) -> JsonObject:
        dice = self._dice
        policy: JsonObject = {"updateMode": mode}
        if dice.chance(0.55):
            policy["minReplicas"] = dice.pick((1, 1, 1, 2, 3, 4))
        if dice.chance(0.15):
            policy["evictionRequirements"] = [
                {
                    "resources": dice.pick((["cpu"], ["memory"], ["cpu", "memory"])),
                    "changeRequirement": dice.pick(("TargetHigherThanRequests", "TargetLowerThanRequests")),
                }
                for _ in range(dice.between(1, 2))
            ]
        if self._choices.oom_seconds and dice.chance(0.3):
            policy["evictAfterOOMSeconds"] = dice.pick((60, 300, 1800))
        return policy

    def _policies(self, workload: Workload) -> list[object]:
        """Make up policies for some containers, perhaps for all others, perhaps for one that does not exist."""
        dice = self._dice
        names = dice.some([container.name for container in workload.containers], 0.6)
        names += dice.some(["*"], 0.5) + dice.some(["gone"], 0.08)
        return [self._policy(name) for name in dice.shuffled(names)]

    def _policy(self, name: str) -> JsonObject:
        dice = self._dice
        policy: JsonObject = {"containerName": name}
        if dice.chance(0.15):
            policy["mode"] = dice.pick(("Off", "Auto", "Auto"))
        if dice.chance(0.35):
            policy["minAllowed"] = self._bounds((20, 400), (32, 512))
        if dice.chance(0.35):
            policy["maxAllowed"] = self._bounds((200, 3000), (128, 2048))
        if dice.chance(0.4) and policy.get("mode") != "Off":
            policy["controlledValues"] = dice.pick(("RequestsAndLimits", "RequestsOnly", "RequestsOnly"))
        if dice.chance(0.15):
            policy["controlledResources"] = dice.pick((["cpu"], ["memory"], ["cpu", "memory"]))
        if self._choices.boosts and dice.chance(0.2):
            policy["startupBoost"] = self._boost()
        if self._choices.oom_bumps and dice.chance(0.3):
            policy["oomBumpUpRatio"] = dice.pick(("1.5", "2", "1.05"))
            policy["oomMinBumpUp"] = dice.pick((0, 10**7, 10**9))
        if self._choices.oom_bumps and dice.chance(0.2):
            policy["memoryAggregationIntervalSeconds"] = dice.pick((3600, 43200))
            policy["memoryAggregationIntervalCount"] = dice.pick((2, 24))
        return policy

    def _boost(self) -> JsonObject:
        """Make a boost up; how long it lasts is never near the age of a pod."""
        dice = self._dice
        cpu: JsonObject = {"type": "Factor", "factor": dice.between(1, 4)}
        if dice.chance(0.4):
            cpu = {"type": "Quantity", "quantity": dice.pick(("100m", "1", "1500m"))}
        if dice.chance(0.7):
            cpu["durationSeconds"] = dice.pick((0, 30, 7200, 10**6, -1))
        return {"cpu": cpu}

    def _bounds(self, millis: tuple[int, int], mebibytes: tuple[int, int]) -> JsonObject:
        """Make up bounds of one or both resources, in one of the ways in which they can be written."""
        dice = self._dice
        cpu, memory = dice.between(*millis), dice.between(*mebibytes)
        cpu_spelt = dice.pick((cpu_text(cpu), f"{cpu}m", str(cpu / 1000)))
        memory_spelt = dice.pick((memory_text(memory * MEBIBYTE), str(memory * MEBIBYTE), f"{memory}M"))
        both: JsonObject = {"cpu": cpu_spelt, "memory": memory_spelt}
        return dice.weighted_part(both)
