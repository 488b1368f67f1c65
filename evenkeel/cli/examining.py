"""Asks a cluster what ``evenkeel doctor`` wants to know; what cannot be asked becomes a note."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Final

import msgspec

from autoscaling.errors import ApiError, ApiRefusedError
from autoscaling.kube.calls import NO_QUERY
from autoscaling.kube.client import KubeClient
from autoscaling.kube.lease_object import LeaseFile
from autoscaling.kube.liveness import LivenessSettings, Verdict, read_liveness
from autoscaling.kube.paths import (
    ACCESS_REVIEWS,
    CUSTOM_RESOURCE_DEFINITIONS,
    NODES,
    POD_METRICS,
    Resource,
    Selection,
    vertical_pod_autoscalers,
)
from autoscaling.kube.refusals import FORBIDDEN, is_missing
from autoscaling.kube.retry import ONE_TRY
from autoscaling.runtime.api_group import ApiGroup, cluster_names
from autoscaling.wire.objects import decode_vpa
from evenkeel.cli.process_flags import ADMISSION, RECOMMENDER, UPDATER, Deployed, FlagReader, find_process
from evenkeel.cli.session import NotReadableError
from evenkeel.cli.surveying import Reader, survey
from evenkeel.cli.webhook_probe import WebhookProbe
from evenkeel.crd.definitions import definitions
from evenkeel.inspection.conflict_checks import horizontal_findings, rival_vpa_findings
from evenkeel.inspection.documents import Json, document
from evenkeel.inspection.findings import Area, Finding, Level
from evenkeel.inspection.platform_checks import (
    NodeFacts,
    ServerFacts,
    definition_findings,
    image_findings,
    metrics_finding,
    node_findings,
    server_findings,
)
from evenkeel.inspection.rights import (
    Access,
    Right,
    accesses,
    right_findings,
    rights_of_admission,
    rights_of_recommender,
    rights_of_updater,
)
from evenkeel.inspection.survey import Survey
from evenkeel.inspection.webhook_checks import (
    certificate_findings,
    reach_finding,
    registration_findings,
    rival_findings,
)
from updater.__main__ import decision_settings
from updater.config import UpdaterConfig

_SUBJECT_REVIEWS: Final = Resource(
    "authorization.k8s.io", "v1", "subjectaccessreviews", "SubjectAccessReview", namespaced=False
)
_LEASE_SLACK: Final = 2.0
"""How many times the duration of a Lease may have passed since its last renewal."""


class _Names(msgspec.Struct):
    name: str = ""


class _Resources(msgspec.Struct):
    resources: list[_Names] = []


class _NodeInfo(msgspec.Struct, rename="camel"):
    kubelet_version: str = ""
    operating_system: str = "linux"


class _NodeStatus(msgspec.Struct, rename="camel"):
    node_info: _NodeInfo = msgspec.field(default_factory=_NodeInfo)


class _Node(msgspec.Struct):
    metadata: _Names = msgspec.field(default_factory=_Names)
    status: _NodeStatus = msgspec.field(default_factory=_NodeStatus)


class _Listed(msgspec.Struct):
    items: list[msgspec.Raw] = []


class _ReviewStatus(msgspec.Struct):
    allowed: bool = False


class _Review(msgspec.Struct):
    status: _ReviewStatus = msgspec.field(default_factory=_ReviewStatus)


class Examination:
    """One look at a cluster.

    Args:
        client: Calls to the API server.
        group: API group of the VPAs.
        namespace: Of the VPAs; empty for all.
        system: Namespace of the processes; empty for where manifests put them.
    """

    def __init__(self, client: KubeClient, group: ApiGroup, namespace: str, system: str) -> None:
        self._client = client
        self._group = group
        self._namespace = namespace
        self._system = system
        self._survey: Survey | None = None
        self._probe = WebhookProbe(client, group)
        self._deployed: dict[str, Deployed | None] = {}

    async def server(self, version: str) -> list[Finding]:
        """Look at the API server."""
        resources: frozenset[str] | None = None
        metrics: str | None = None
        try:
            core = msgspec.json.decode(await self._client.get("/api/v1"), type=_Resources)
            resources = frozenset(each.name for each in core.resources)
            metrics = (await self._client.get("/metrics", NO_QUERY, ONE_TRY)).decode(errors="replace")
        except (ApiError, msgspec.MsgspecError):
            # What is not told is None, and that is a finding of its own.
            pass
        return list(server_findings(ServerFacts(version, resources, metrics)))

    async def nodes(self) -> list[Finding]:
        """Look at the nodes."""
        reader = Reader(self._client, "")
        nodes = await reader.optional(Selection(NODES), msgspec.json.Decoder(_Node).decode)
        if nodes is None:
            return [
                Finding(Area.NODES, Level.NOTE, f"nodes cannot be looked at: {problem}") for problem in reader.problems
            ]
        infos = ((each.metadata.name, each.status.node_info) for each in nodes)
        return list(node_findings(NodeFacts(name, info.kubelet_version, info.operating_system) for name, info in infos))

    async def metrics(self) -> list[Finding]:
        """Look at the metrics API."""
        path = POD_METRICS.path(self._namespace)
        try:
            found = msgspec.json.decode(await self._client.get(path, {"limit": "1"}, ONE_TRY), type=_Listed)
        except ApiRefusedError as refusal:
            if refusal.code == FORBIDDEN:
                return [Finding(Area.METRICS, Level.NOTE, f"the metrics API may not be asked: {refusal.message}")]
            return [metrics_finding(None, str(refusal))]
        except (ApiError, msgspec.MsgspecError) as error:
            return [metrics_finding(None, str(error))]
        return [metrics_finding(len(found.items), "")]

    async def definitions(self) -> list[Finding]:
        """Look at the definitions."""
        wanted = {name: document(body) for name, body in _by_name(self._group).items()}
        present: dict[str, Json | None] = {}
        for name in wanted:
            try:
                present[name] = msgspec.json.decode(await self._client.get(CUSTOM_RESOURCE_DEFINITIONS.path(name=name)))
            except ApiError as error:
                if not is_missing(error):
                    return [Finding(Area.DEFINITIONS, Level.NOTE, f"definitions cannot be looked at: {error}")]
                present[name] = None
        return list(definition_findings(self._group, wanted, present))

    async def processes(self) -> list[Finding]:
        """Look at the processes and their Leases."""
        names, now = cluster_names(self._group), self._client.pacing.now()
        found: list[Finding] = []
        leases = {RECOMMENDER: names.recommender_lease, UPDATER: names.updater_lease}
        for process in (RECOMMENDER, UPDATER, ADMISSION):
            deployed = await self._process(process)
            found.append(_deployment_finding(process, deployed))
            if process in leases:
                found += await self._lease(process, leases[process], now)
        found.append(await self._status_lease(names.status_lease))
        images = {process: deployed.image for process, deployed in self._deployed.items() if deployed is not None}
        return [*found, *image_findings(images)]

    async def rights(self, *, as_me: bool) -> list[Finding]:
        """Ask what processes may do.

        Args:
            as_me: Whether it is asked for whoever asks, and not for the service accounts.
        """
        found: list[Finding] = []
        for process in (RECOMMENDER, UPDATER, ADMISSION):
            deployed = await self._process(process)
            place = deployed.namespace if deployed else self._system or cluster_names(ApiGroup.EVENKEEL).namespace
            account = deployed.account if deployed else f"evenkeel-{process}"
            user = "" if as_me else f"system:serviceaccount:{place}:{account}"
            asked = accesses(self._rights_of(process, place))
            try:
                answers = await asyncio.gather(*(self._may(access, user) for access in asked))
            except (ApiError, msgspec.MsgspecError) as error:
                message = f"{process}: what {user or 'you'} may do cannot be asked: {error}"
                remedy = "ask somebody who may create subjectaccessreviews, or ask for your own rights with --as-me"
                found.append(Finding(Area.RIGHTS, Level.NOTE, message, remedy))
                continue
            found += right_findings(process, user or "you", dict(zip(asked, answers, strict=True)))
        return found

    async def webhook(self) -> list[Finding]:
        """Look at the webhook."""
        now = self._client.pacing.now()
        try:
            seen = await self._probe.look()
        except (ApiError, msgspec.MsgspecError) as error:
            return [Finding(Area.WEBHOOK, Level.NOTE, f"the webhook's registration cannot be looked at: {error}")]
        name = cluster_names(self._group).webhook_configuration
        found = list(registration_findings(name, self._group.value, seen.own))
        found += [reach_finding(each) for each in seen.reaches]
        return [*found, *certificate_findings(seen.certificates, now)]

    async def conflicts(self) -> list[Finding]:
        """Look for what gets in each other's way."""
        seen = await self._surveyed()
        if isinstance(seen, Finding):
            return [seen]
        vpas = [selecting.vpa for selecting in seen.snapshot.vpas]
        other = next(each for each in ApiGroup if each is not self._group)
        reader = Reader(self._client, self._namespace)
        foreign = await reader.optional(Selection(vertical_pod_autoscalers(other), self._namespace), decode_vpa)
        flags = FlagReader(self._client, self._group, self._system)
        settings = decision_settings(flags.parsed(UpdaterConfig, (), self._system))
        found = [
            *horizontal_findings(vpas, seen.hpas),
            *rival_vpa_findings(seen.snapshot.vpas, foreign or (), settings),
        ]
        try:
            name = cluster_names(self._group).webhook_configuration
            found += rival_findings(name, await self._probe.configurations())
        except (ApiError, msgspec.MsgspecError) as error:
            found.append(Finding(Area.CONFLICTS, Level.NOTE, f"other webhooks cannot be looked at: {error}"))
        return found or [Finding(Area.CONFLICTS, Level.OK, "nothing gets in each other's way")]

    async def objects(self) -> list[Finding]:
        """Look for objects that cannot be read."""
        seen = await self._surveyed()
        if isinstance(seen, Finding):
            return [] if seen.area is Area.OBJECTS else [seen]
        bad = [Finding(Area.OBJECTS, Level.PROBLEM, problem) for problem in seen.problems]
        return bad or [Finding(Area.OBJECTS, Level.OK, f"all {len(seen.snapshot.vpas)} VPAs can be read")]

    async def _surveyed(self) -> Survey | Finding:
        """Return the cluster as the updater sees it, or why that is not known."""
        if self._survey is None:
            try:
                self._survey = await survey(self._client, self._group, self._namespace, is_thorough=True)
            except (NotReadableError, ApiError) as error:
                return Finding(Area.CONFLICTS, Level.NOTE, f"VPAs and pods cannot be looked at: {error}")
        return self._survey

    async def _process(self, process: str) -> Deployed | None:
        """Return the Deployment of a process."""
        if process not in self._deployed:
            self._deployed[process] = await find_process(self._client, self._group, self._system, process)
        return self._deployed[process]

    def _lease_namespace(self) -> str:
        """Return where Leases are that all processes of the API group share."""
        return (
            self._system if self._system and self._group is ApiGroup.EVENKEEL else cluster_names(self._group).namespace
        )

    async def _lease(self, process: str, name: str, now: datetime) -> list[Finding]:
        """Look at the Lease by which replicas elect their leader; without leader election there is none."""
        place = self._lease_namespace()
        try:
            stored = await LeaseFile(self._client, place, name).read(ONE_TRY)
        except ApiError as error:
            return [Finding(Area.PROCESSES, Level.NOTE, f"{process}: Lease {place}/{name} cannot be read: {error}")]
        if stored is None or stored.state.renewed is None:
            message = f"{process}: nobody has ever led by Lease {place}/{name}; without --leader-elect nobody does"
            return [Finding(Area.PROCESSES, Level.NOTE, message)]
        allowed = timedelta(seconds=stored.state.duration_seconds * _LEASE_SLACK)
        if stored.state.renewed + allowed < now:
            last = f"{stored.state.renewed:%Y-%m-%d %H:%M:%S}"
            message = f"{process}: nobody leads; Lease {place}/{name} was last renewed at {last}"
            return [Finding(Area.PROCESSES, Level.PROBLEM, message, f"look at the pods and the log of the {process}")]
        return [Finding(Area.PROCESSES, Level.OK, f"{process}: {stored.state.holder} leads")]

    async def _status_lease(self, name: str) -> Finding:
        """Look at the Lease by which the admission controller says that it lives."""
        place = self._lease_namespace()
        try:
            await LeaseFile(self._client, place, name).read(ONE_TRY)
        except ApiError as error:
            message = f"whether the admission controller lives is not known: {error}"
            return Finding(Area.PROCESSES, Level.NOTE, message)
        seen = await read_liveness(self._client, LivenessSettings(place, name), self._client.pacing)
        if seen.verdict is Verdict.VALID:
            return Finding(Area.PROCESSES, Level.OK, "the admission controller renews its Lease")
        message = f"the admission controller is not known to live, so nobody is evicted: {seen.detail}"
        return Finding(Area.PROCESSES, Level.PROBLEM, message, "look at the admission controller's pods and log")

    def _rights_of(self, process: str, own_namespace: str) -> tuple[Right, ...]:
        """Return what a process needs."""
        place = self._lease_namespace()
        if process == RECOMMENDER:
            return rights_of_recommender(self._group, place)
        if process == UPDATER:
            return rights_of_updater(self._group, place)
        return rights_of_admission(self._group, place, own_namespace)

    async def _may(self, access: Access, user: str) -> bool:
        """Ask whether somebody may do something; an empty user is whoever asks."""
        resource, _, subresource = access.resource.partition("/")
        attributes = {
            "group": access.group, "resource": resource, "subresource": subresource, "verb": access.verb,
            "name": access.name, "namespace": access.namespace,
        }  # fmt: skip
        spec: dict[str, object] = {"resourceAttributes": {name: text for name, text in attributes.items() if text}}
        reviews = ACCESS_REVIEWS
        if user:
            place = user.split(":")[2]
            groups = ["system:serviceaccounts", f"system:serviceaccounts:{place}", "system:authenticated"]
            reviews, spec = _SUBJECT_REVIEWS, {**spec, "user": user, "groups": groups}
        body = {"apiVersion": reviews.api_version, "kind": reviews.kind, "spec": spec}
        answer = await self._client.create(reviews.path(), msgspec.json.encode(body))
        return msgspec.json.decode(answer, type=_Review).status.allowed


def _by_name(group: ApiGroup) -> dict[str, object]:
    """Return the definitions of a group by the names of their objects."""
    found: dict[str, object] = {}
    for body in definitions(group).values():
        metadata = body["metadata"]
        if isinstance(metadata, dict):
            found[str(metadata["name"])] = body
    return found


def _deployment_finding(process: str, deployed: Deployed | None) -> Finding:
    """Return what there is to say about a process's Deployment."""
    if deployed is None:
        message = f"{process}: no Deployment of it can be read, so it may run elsewhere, or not at all"
        return Finding(Area.PROCESSES, Level.NOTE, message, "name its namespace with --system-namespace")
    if deployed.available < deployed.wanted:
        message = f"{process}: {deployed} has {deployed.available} of {deployed.wanted} replicas available"
        level = Level.WARNING if deployed.available else Level.PROBLEM
        return Finding(
            Area.PROCESSES, level, message, f"kubectl describe deployment -n {deployed.namespace} {deployed.name}"
        )
    return Finding(Area.PROCESSES, Level.OK, f"{process}: {deployed} is available")
