"""Lives of a recommender, drawn: workloads, VPAs, pods, use, OOM kills, stored history and time."""

from __future__ import annotations

from e2e.parity.amounts import amounts, cpu, memory
from e2e.parity.cluster import named, scale_path
from e2e.parity.dice import Dice
from e2e.parity.kinds import BEGIN, Case, text_of
from e2e.parity.recommender.flags import DAY, HOUR, MINUTE, SECOND, drawn_flags
from e2e.parity.recommender.history import CONTAINERS, checkpoint, moment_text
from e2e.parity.recommender.vpas import policy, status


def draw(dice: Dice) -> Case:
    """Draw a life: long histories for one round, or several rounds on few pods; now and then things overlap."""
    life = _Life(dice, is_tangled=dice.chance(0.15))
    flags = drawn_flags(dice)
    first = life.beginnings()
    rounds = [life.round() for _ in range(dice.pick(1, 1, 2, 3, 5))]
    begin = life.begin * SECOND
    return {"begin": begin, "flags": flags, "scales": life.scales, "first": first, "rounds": rounds}


class _Life:
    """Draws what happens, keeping track of time and of what there is.

    Args:
        is_tangled: Whether several aggregates may feed one recommendation and several VPAs select one pod, so that
            upstream's own answer may depend on the order of its maps.
    """

    def __init__(self, dice: Dice, *, is_tangled: bool) -> None:
        self._dice = dice
        self._is_tangled = is_tangled
        self.begin = dice.whole(0, 48) * 1800 + dice.pick(0, 0, 1, 59)
        self._now = self.begin
        self._spaces = dice.pick(("n1",), ("n1",), ("n1", "n2"))
        self._apps = dice.pick(("a",), ("a", "b"))
        self.scales: Case = {}
        self._kinds: dict[tuple[str, str], str] = {}
        self._vpas: dict[str, Case] = {}
        self._pods: dict[str, Case] = {}

    def beginnings(self) -> list[Case]:
        """Draw what is there at the start."""
        dice = self._dice
        changes: list[Case] = []
        for space in self._spaces:
            for app in self._apps:
                changes += self._workload(space, app)
                changes.append(_applied(self._vpa(space, app)))
                changes += [_applied(self._pod(space, app)) for _ in range(dice.whole(0, 2))]
                changes += [
                    _applied(checkpoint(dice, f"{space}/{app}", self.begin)) for _ in range(dice.pick(0, 0, 1, 2))
                ]
        if self._is_tangled:
            changes.append(_applied(self._vpa(self._spaces[0], "w")))
        return changes

    def round(self) -> Case:
        """Draw what happens before a round."""
        dice = self._dice
        passes = dice.pick(MINUTE, MINUTE, MINUTE, MINUTE, HOUR, 5 * HOUR, DAY, 3 * DAY, 9 * DAY) // SECOND
        began, self._now = self._now, self._now + passes
        changes = [change for _ in range(dice.pick(0, 0, 1, 1, 3)) for change in self._happening()]
        return {"after": passes * SECOND, "changes": changes, "metrics": self._metrics(began)}

    def _workload(self, space: str, app: str) -> list[Case]:
        """Draw the target of the VPA of an app."""
        dice = self._dice
        meta: Case = {"namespace": space, "name": app}
        spec: Case = {"selector": {"matchLabels": {"app": app}}, "replicas": 1}
        drawn = dice.pick(
            *["Deployment"] * 30, "owned", "missing", "Foo", "CronJob", "ReplicationController", "DaemonSet"
        )
        self._kinds[space, app] = "Deployment" if drawn in {"owned", "missing"} else drawn
        match drawn:
            case "missing":
                return []
            case "owned":
                meta["ownerReferences"] = [
                    {
                        "apiVersion": dice.pick("apps/v1", "example.com/v1", "v1"),
                        "kind": dice.pick("Deployment", "Foo", "Bar", "Node"),
                        "name": dice.pick("boss", app),
                        "controller": dice.pick(True, True, False),
                        "uid": "u",
                    }
                ]
                kind = "Deployment"
            case "Foo":
                path = scale_path(space, "Foo", app)
                self.scales[path] = {
                    "apiVersion": "autoscaling/v1",
                    "kind": "Scale",
                    "metadata": meta,
                    "spec": {"replicas": 1},
                    "status": {"selector": dice.pick(f"app={app}", f"app in ({app})", "", "app in")},
                }
                return []
            case "CronJob":
                kind, spec = "CronJob", {"jobTemplate": {"spec": {"template": {"metadata": {"labels": {"app": app}}}}}}
            case "ReplicationController":
                kind, spec = "ReplicationController", {"selector": {"app": app}}
            case other:
                kind = other
        version = {"CronJob": "batch/v1", "ReplicationController": "v1"}.get(kind, "apps/v1")
        return [_applied({"apiVersion": version, "kind": kind, "metadata": meta, "spec": spec})]

    def _vpa(self, space: str, app: str) -> Case:
        """Draw a VPA, or its next generation."""
        dice = self._dice
        name = f"v-{app}"
        old = self._vpas.get(f"{space}/{name}")
        generation = _generation(old) + 1 if old else 1
        meta: Case = {
            "namespace": space,
            "name": name,
            "uid": f"u-{space}-{app}",
            "generation": generation,
            "creationTimestamp": "1999-12-01T00:00:00Z",
        }
        if dice.chance(0.3):
            meta["annotations"] = {
                f"vpa-post-processor.kubernetes.io/{c}_integerCPU": dice.pick("true", "true", "True")
                for c in dice.some(CONTAINERS, 2)
            }
        spec = self._spec(space, app)
        if old and dice.chance(0.7):
            spec["targetRef"] = _spec_of(old).get("targetRef")
        vpa: Case = {
            "apiVersion": "autoscaling.k8s.io/v1",
            "kind": "VerticalPodAutoscaler",
            "metadata": meta,
            "spec": spec,
        }
        if dice.chance(0.1):
            vpa["status"] = status(dice)
        self._vpas[f"{space}/{name}"] = vpa
        return vpa

    def _spec(self, space: str, app: str) -> Case:
        dice = self._dice
        aim = self._apps[0] if app == "w" else app
        kind = self._kinds.get((space, aim), "Deployment")
        if dice.chance(0.04):
            kind = dice.pick("Deployment", "CronJob", "Bar", "Nope", "Node", "Foo")
        version = "example.com/v1" if kind in {"Foo", "Bar"} else dice.pick("apps/v1", "apps/v1", "v1", "a/b/c")
        spec: Case = {"targetRef": {"apiVersion": version, "kind": kind, "name": aim}}
        if dice.chance(0.7):
            spec["updatePolicy"] = dice.pick(
                {}, {"updateMode": dice.pick("Off", "Auto", "Recreate", "InPlaceOrRecreate")}
            )
        if dice.chance(0.6):
            spec["resourcePolicy"] = {"containerPolicies": [policy(dice) for _ in range(dice.whole(0, 3))]}
        if dice.chance(0.1):
            spec["recommenders"] = [{"name": dice.pick("default", "other", "third")}]
        return spec

    def _pod(self, space: str, app: str, name: str = "") -> Case:
        """Draw a pod of an app, or another state of a pod."""
        dice = self._dice
        name = name or f"{app}-{dice.whole(0, 2)}"
        labels: Case = {"app": app}
        if self._is_tangled:
            labels = {
                "app": dice.pick(app, app, app, "b", "x"),
                **dice.pick({}, {}, {"pod-template-hash": dice.pick("x", "y")}),
            }
        containers = [self._container(c) for c in dice.some(CONTAINERS, 3, least=1)]
        spec: Case = {"containers": containers}
        if dice.chance(0.15):
            spec["initContainers"] = [{"name": dice.among(CONTAINERS), "image": "i"}]
        status: Case = {"phase": dice.pick("Running", "Running", "Running", "Succeeded", "Failed", "Unknown")}
        if dice.chance(0.6):
            status["containerStatuses"] = [self._container_status(c) for c in dice.some(CONTAINERS, 3)]
        pod: Case = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"namespace": space, "name": name, "uid": name, "labels": labels},
            "spec": spec,
            "status": status,
        }
        self._pods[f"{space}/{name}"] = pod
        return pod

    def _container(self, name: str) -> Case:
        dice = self._dice
        container: Case = {"name": name, "image": "i"}
        if dice.chance(0.7):
            container["resources"] = {"requests": amounts(dice, 0.7)}
        return container

    def _container_status(self, name: str) -> Case:
        dice = self._dice
        reason = dice.pick("OOMKilled", "OOMKilled", "OOMKilled", "Error")
        finished = self._moment(3)
        ended: Case = {"terminated": {"reason": reason, "startedAt": text_of(BEGIN), "finishedAt": finished}}
        running: Case = {"running": {"startedAt": text_of(BEGIN)}}
        waiting: Case = {"waiting": {}}
        state = dice.pick(running, running, ended, waiting)
        status: Case = {"name": name, "state": state, "restartCount": dice.whole(0, 3)}
        if dice.chance(0.5):
            status["lastState"] = ended
        if dice.chance(0.3):
            status["resources"] = {"requests": amounts(dice, 0.7)}
        return status

    def _metrics(self, began: int) -> list[Case]:
        """Draw what was measured since the last round, most of it in order of time."""
        dice = self._dice
        measured: list[Case] = []
        for name in dice.some(sorted(self._pods), 3):
            space, _, pod = name.partition("/")
            for _ in range(dice.pick(1, 1, 1, 4, 12)):
                at = dice.whole(began, self._now) + dice.pick(0, 0, -90, 90)
                containers = [{"name": c, "usage": self._usage()} for c in dice.some(CONTAINERS, 3, least=1)]
                measured.append(
                    {
                        "metadata": {"namespace": space, "name": pod},
                        "timestamp": moment_text(at),
                        "window": "30s",
                        "containers": containers,
                    }
                )
        if dice.chance(0.8):
            measured.sort(key=lambda each: str(each["timestamp"]))
        return measured

    def _usage(self) -> Case:
        dice = self._dice
        usage: Case = {}
        if dice.chance(0.95):
            usage["cpu"] = dice.pick(cpu(dice), f"{int(dice.magnitude(1e3, 1e11))}n", f"{dice.whole(0, 3000)}m")
        if dice.chance(0.95):
            usage["memory"] = dice.pick(memory(dice), f"{int(dice.magnitude(1e3, 1e8))}Ki")
        return usage

    def _happening(self) -> list[Case]:
        """Draw a change of the cluster."""
        dice = self._dice
        space, app = dice.among(self._spaces), dice.among(self._apps)
        match dice.pick(
            "pod", "pod", "state", "state", "state", "gone", "vpa", "vpa", "no vpa", "eviction", "workload"
        ):
            case "pod":
                return [_applied(self._pod(space, app))]
            case "state" if self._pods:
                pod = dice.among(sorted(self._pods))
                return [_applied(self._next_state(self._pods[pod]))]
            case "gone" if self._pods:
                pod = dice.among(sorted(self._pods))
                del self._pods[pod]
                return [_deleted("Pod", pod)]
            case "vpa":
                return [_applied(self._vpa(space, app))]
            case "no vpa":
                return [_deleted("VerticalPodAutoscaler", f"{space}/v-{app}")]
            case "workload":
                return [_deleted("Deployment", f"{space}/{app}")] if dice.chance(0.5) else self._workload(space, app)
            case _:
                return [_applied(self._eviction(space, app))]

    def _next_state(self, pod: Case) -> Case:
        """Draw another state of a pod's containers, often one that follows an OOM kill."""
        meta = pod["metadata"]
        assert isinstance(meta, dict)
        space, app = str(meta["namespace"]), str(meta["labels"]["app"])
        new = self._pod(space, app, str(meta["name"]))
        if not self._is_tangled:
            new["metadata"] = meta
        self._pods[named(new)] = new
        return new

    def _eviction(self, space: str, app: str) -> Case:
        dice = self._dice
        names = dice.some(CONTAINERS, 3, least=1)
        told: Case = {
            "offending_containers": ",".join(names),
            "offending_containers_usage": ",".join(memory(dice) for _ in names),
            "starved_resource": ",".join(dice.pick("memory", "memory", "disk") for _ in names),
        }
        if dice.chance(0.1):
            told["starved_resource"] = dice.pick("memory", "")
        meta: Case = {"namespace": space, "name": "e", "creationTimestamp": self._moment(30), "annotations": told}
        involved: Case = {
            "kind": dice.pick("Pod", "Pod", "Pod", "Node"),
            "namespace": space,
            "name": f"{app}-{dice.whole(0, 2)}",
        }
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": meta,
            "involvedObject": involved,
            "reason": dice.pick("Evicted", "Evicted", "Killing"),
        }

    def _moment(self, hours: int) -> str:
        """Draw a moment of the last hours."""
        return moment_text(self._now - self._dice.pick(0, 1, 60, 3600, self._dice.whole(0, hours * 3600)))


def _applied(given: Case) -> Case:
    return {"apply": given}


def _deleted(kind: str, name: str) -> Case:
    return {"delete": {"kind": kind, "name": name}}


def _generation(vpa: Case) -> int:
    meta = vpa["metadata"]
    assert isinstance(meta, dict)
    return int(meta["generation"])


def _spec_of(vpa: Case) -> Case:
    spec = vpa["spec"]
    assert isinstance(spec, dict)
    return spec
