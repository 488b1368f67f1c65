"""The status of a pod as its kubelet reports it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from autoscaling.resources import ContainerResources
from evenkeel.simulator.api.fields import JsonObject, child, rows, text
from evenkeel.simulator.clock import rfc3339
from evenkeel.simulator.kubelet.cgroups import actual_resources
from evenkeel.simulator.kubelet.podview import Allocation, ContainerView, PodView, Role, resources_json, section
from evenkeel.simulator.kubelet.records import PodRecord, Stage
from evenkeel.simulator.kubelet.runtime import Container, Sandbox

READY = "Ready"
_COMPLETED, _FAILED = "PodCompleted", "PodFailed"


@dataclass(frozen=True, slots=True)
class Scene:
    """All that a pod's status is made of.

    Args:
        record: The pod in the kubelet's memory.
        sandbox: What it has on the node, None before that is made.
        allocation: What it was granted.
        actuated: What was last put in force.
        ready: Names of the running containers that are ready.
        address: The node's address.
        now: The present.
    """

    record: PodRecord
    sandbox: Sandbox | None
    allocation: Allocation
    actuated: Allocation
    ready: frozenset[str]
    address: str
    now: datetime

    @property
    def view(self) -> PodView:
        """The pod."""
        return self.record.view

    def container(self, name: str) -> Container | None:
        """Return the newest container of a name."""
        return self.sandbox.containers.get(name) if self.sandbox else None

    def ended_well(self, name: str) -> bool:
        """Say whether a container has ended without error."""
        container = self.container(name)
        return container is not None and not container.running and container.exit_code == 0


def pod_status(scene: Scene) -> JsonObject:
    """Return the whole status of a pod (spec: in-place-resize 1.7, 3.4, 3.5)."""
    record, view = scene.record, scene.view
    status: JsonObject = {"phase": phase_of(scene), "qosClass": view.qos, "startTime": rfc3339(record.started)}
    if not view.static:
        status["observedGeneration"] = record.synced_generation
    if record.ending:
        status |= {"reason": record.ending.reason, "message": record.ending.message}
        if record.ending.rejected:
            return status
    status |= {"hostIP": scene.address, "hostIPs": [{"ip": scene.address}]}
    if scene.sandbox:
        status |= {"podIP": scene.sandbox.address, "podIPs": [{"ip": scene.sandbox.address}]}
    initial = [_container_status(scene, c) for c in view.of_role(Role.INIT, Role.SIDECAR)]
    if initial:
        status["initContainerStatuses"] = initial
    status["containerStatuses"] = [_container_status(scene, c) for c in view.of_role(Role.REGULAR)]
    status["conditions"] = _conditions(scene, str(status["phase"]))
    return status


def phase_of(scene: Scene) -> str:
    """Return the phase of a pod."""
    if scene.record.ending:
        return "Failed"
    if not is_initialized(scene):
        return "Failed" if _has_failed_to_initialize(scene) else "Pending"
    containers = [scene.container(c.name) for c in scene.view.of_role(Role.REGULAR)]
    if not all(containers):
        return "Pending"
    ended = [c for c in containers if c is not None and not c.running]
    if len(ended) < len(containers):
        return "Running"
    failed = any(c.exit_code for c in ended)
    policy = scene.view.restart_policy
    if scene.record.stage is Stage.ACTIVE and (policy == "Always" or (policy == "OnFailure" and failed)):
        return "Running"
    return "Failed" if failed else "Succeeded"


def is_initialized(scene: Scene) -> bool:
    """Say whether the init containers of a pod are done, which stays so once the others have begun."""
    if any(scene.container(c.name) for c in scene.view.of_role(Role.REGULAR)):
        return True
    for container in scene.view.of_role(Role.INIT, Role.SIDECAR):
        made = scene.container(container.name)
        done = scene.ended_well(container.name) if container.role is Role.INIT else bool(made and made.running)
        if not done:
            return False
    return True


def _has_failed_to_initialize(scene: Scene) -> bool:
    """Say whether an init container has failed for good."""
    if scene.view.restart_policy != "Never" and scene.record.stage is Stage.ACTIVE:
        return False
    made = (scene.container(c.name) for c in scene.view.of_role(Role.INIT))
    return any(c is not None and not c.running and c.exit_code for c in made)


def _container_status(scene: Scene, view: ContainerView) -> JsonObject:
    """Return the status of one container."""
    container = scene.container(view.name)
    status: JsonObject = {"name": view.name, "image": view.image, "imageID": ""}
    if container is None:
        waits_for_others = any(c.role is not Role.REGULAR for c in scene.view.containers)
        reason = "PodInitializing" if waits_for_others else "ContainerCreating"
        waiting = scene.record.waiting.get(view.name)
        state: JsonObject = {
            "waiting": _waiting(waiting.reason if waiting else reason, waiting.message if waiting else "")
        }
        return status | {"ready": False, "started": False, "restartCount": 0, "state": state, "lastState": {}}
    status |= {"imageID": f"sha256:{view.image}", "containerID": f"containerd://{container.identity}"}
    before = scene.sandbox.previous.get(view.name) if scene.sandbox else None
    state, last = _states(scene, container, before)
    done = view.role is Role.INIT and scene.ended_well(view.name)
    allocated = scene.allocation.get(view.name, ContainerResources())
    status |= {
        "ready": done or (container.running and view.role is not Role.INIT and view.name in scene.ready),
        "started": container.running,
        "restartCount": container.attempt,
        "state": state,
        "lastState": last,
        "resources": resources_json(_shown_resources(scene, container, allocated)),
    }
    if allocated.requests:
        requests = section(allocated, "requests")
        status["allocatedResources"] = {name: str(requests[name]) for name in sorted(requests)}
    return status


def _shown_resources(scene: Scene, container: Container, allocated: ContainerResources) -> ContainerResources:
    """Return the resources a container shows: actual ones while it runs, else what it was granted."""
    if not container.running:
        return allocated
    return actual_resources(allocated, scene.actuated.get(container.name, allocated), container.cgroup)


def _states(scene: Scene, container: Container, before: Container | None) -> tuple[JsonObject, JsonObject]:
    """Return the state of a container and the one before it."""
    last: JsonObject = {"terminated": _terminated(before)} if before else {}
    if container.running:
        return {"running": {"startedAt": rfc3339(container.started)}}, last
    waiting = scene.record.waiting.get(container.name)
    if waiting and scene.record.stage is Stage.ACTIVE:
        return {"waiting": _waiting(waiting.reason, waiting.message)}, {"terminated": _terminated(container)}
    return {"terminated": _terminated(container)}, last


def _waiting(reason: str, message: str) -> JsonObject:
    """Return a waiting state."""
    state: JsonObject = {"reason": reason}
    return state | {"message": message} if message else state


def _terminated(container: Container) -> JsonObject:
    """Return a terminated state."""
    return {
        "exitCode": container.exit_code,
        "reason": container.reason,
        "startedAt": rfc3339(container.started),
        "finishedAt": rfc3339(container.finished or container.started),
        "containerID": f"containerd://{container.identity}",
    }


def _conditions(scene: Scene, phase: str) -> list[JsonObject]:
    """Return the conditions that a kubelet writes, the resize conditions first."""
    finished = phase in {"Succeeded", "Failed"}
    listed: list[JsonObject] = [] if finished else scene.record.conditions.rows()
    if scene.record.ending and scene.record.ending.disruption:
        message = scene.record.ending.disruption
        listed.append(_condition("DisruptionTarget", holds=True, reason="TerminationByKubelet", message=message))
    listed += [
        _condition("PodReadyToStartContainers", holds=scene.sandbox is not None and not finished),
        _initialized(scene, phase),
        *_readiness(scene, phase),
        _condition("PodScheduled", holds=True),
    ]
    known = {text(row, "type"): row for row in rows(scene.record.status, "conditions")}
    return [_dated(row, known.get(text(row, "type")), scene) for row in listed]


def _initialized(scene: Scene, phase: str) -> JsonObject:
    """Return the condition about init containers."""
    if phase == "Succeeded":
        return _condition("Initialized", holds=True, reason=_COMPLETED)
    if is_initialized(scene):
        return _condition("Initialized", holds=True)
    unfinished = [c.name for c in scene.view.of_role(Role.INIT, Role.SIDECAR) if not scene.ended_well(c.name)]
    message = f"init containers not done: [{' '.join(unfinished)}]"
    return _condition("Initialized", holds=False, reason="ContainersNotInitialized", message=message)


def _readiness(scene: Scene, phase: str) -> Iterator[JsonObject]:
    """Yield the conditions about readiness."""
    reason = {"Succeeded": _COMPLETED, "Failed": _FAILED}.get(phase, "")
    names = [c.name for c in scene.view.of_role(Role.SIDECAR, Role.REGULAR)]
    unready = [name for name in names if not _is_ready(scene, name)]
    for kind in (READY, "ContainersReady"):
        if reason:
            yield _condition(kind, holds=False, reason=reason)
        elif unready:
            message = f"containers not ready: [{' '.join(unready)}]"
            yield _condition(kind, holds=False, reason="ContainersNotReady", message=message)
        else:
            yield _condition(kind, holds=True)


def _is_ready(scene: Scene, name: str) -> bool:
    """Say whether a container runs and is ready."""
    container = scene.container(name)
    return container is not None and container.running and name in scene.ready


def _condition(kind: str, *, holds: bool, reason: str = "", message: str = "") -> JsonObject:
    """Return a condition without its times."""
    texts = {"reason": reason, "message": message}
    shown: JsonObject = {"type": kind, "status": "True" if holds else "False", "lastProbeTime": None}
    return shown | {key: value for key, value in texts.items() if value}


def _dated(row: JsonObject, before: JsonObject | None, scene: Scene) -> JsonObject:
    """Return a condition with the time of its last change and the generation it was seen at."""
    if "lastTransitionTime" in row:
        return row
    same = before is not None and before.get("status") == row["status"]
    since = text(before, "lastTransitionTime") if same and before else rfc3339(scene.now)
    dated = row | {"lastTransitionTime": since}
    return dated if scene.view.static else dated | {"observedGeneration": scene.record.synced_generation}


def merged_status(stored: JsonObject, own: JsonObject) -> JsonObject:
    """Return a kubelet's status with the conditions of others that the stored status has.

    Args:
        stored: The status in the API server.
        own: The kubelet's.
    """
    kept = rows(own, "conditions")
    kinds = {text(row, "type") for row in kept} | {"PodResizePending", "PodResizeInProgress"}
    foreign = [row for row in rows(stored, "conditions") if text(row, "type") not in kinds]
    merged = dict(own)
    if kept or foreign:
        merged["conditions"] = [*kept, *foreign]
    nominated = child({"status": stored}, "status").get("nominatedNodeName")
    return merged | ({"nominatedNodeName": nominated} if nominated else {})


def differs(left: JsonObject, right: JsonObject) -> bool:
    """Say whether two statuses differ in more than when conditions were last looked at."""
    return _comparable(left) != _comparable(right)


def _comparable(status: JsonObject) -> JsonObject:
    """Return a status without times of looking."""
    conditions = [{k: v for k, v in row.items() if k != "lastProbeTime"} for row in rows(status, "conditions")]
    return {**status, "conditions": conditions}
