"""``evenkeel explain``: why a VPA recommends what it does, and what becomes of its pods."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

import msgspec
import typer

from admission.__main__ import review_rules
from autoscaling.behaviour import Behaviour
from autoscaling.errors import ApiError, InvalidObjectError
from autoscaling.kube.client import KubeClient
from autoscaling.kube.liveness import LivenessSettings, Verdict, read_liveness
from autoscaling.kube.paths import POD_METRICS, PODS, Selection, checkpoints, vertical_pod_autoscalers
from autoscaling.objectref import ObjectRef
from autoscaling.runtime.api_group import ApiGroup
from autoscaling.targets import resolve_target
from autoscaling.vpa import Vpa
from autoscaling.wire.objects import decode_vpa
from autoscaling.wire.pods import decode_pod_with_sidecars
from evenkeel.cli.completing import explained
from evenkeel.cli.options import (
    ContextOption,
    GroupOption,
    KubeconfigOption,
    NamespaceOption,
    Output,
    OutputOption,
    SystemNamespaceOption,
)
from evenkeel.cli.printing import emit
from evenkeel.cli.process_flags import ADMISSION, RECOMMENDER, UPDATER, FlagReader, ProcessFlags
from evenkeel.cli.session import NotReadableError, Session, read
from evenkeel.cli.submitting import submission
from evenkeel.cli.surveying import Reader, survey
from evenkeel.inspection.estimation import Estimation, Question, RecommenderRules, estimation
from evenkeel.inspection.explanation import Explanation, explained_containers, explanation_blocks
from evenkeel.inspection.next_steps import AdmissionAnswer, UpdaterAnswer, admission_answer, updater_answers
from evenkeel.inspection.survey import Control, Survey, control, controlling
from recommender.__main__ import loop_settings, model_settings
from recommender.checkpoint import ContainerCheckpoint
from recommender.wire.checkpoints import decode_checkpoint
from updater.__main__ import decision_settings
from updater.config import UpdaterConfig
from updater.surroundings import MemoryUse
from updater.wire.memory_use import decode_memory

HELP: Final = """Explain what a VerticalPodAutoscaler recommends, and what becomes of its pods.

Shows the samples, the histogram as it is stored, each step from the percentile to the recommendation, what caps it,
what the webhook would make of a new pod, and what the updater would do about each pod now, and why. The
recommender's, the webhook's and the updater's own code says so, with the flags of their Deployments.

\b
Exit status:
  0  explained; notes say what could not be read
  1  the object is not there, or cannot be read
  2  wrong usage

\b
Examples:
  evenkeel explain vpa web -n shop
  evenkeel explain pod web-6f7d-x2x8z -n shop -o json
  evenkeel explain vpa web --whole-cluster    # so that room on nodes counts, too
  evenkeel explain vpa web --updater-flags "--min-replicas=1"
"""

_FORGETFUL: Final = (
    "what the updater remembers of earlier rounds is not known here: refused resizes, back-off, storm budgets"
)

_PARTIAL: Final = (
    "room on nodes does not count for the updater, nor do DaemonSets of other namespaces for the recommender; both do "
    "with --whole-cluster"
)


class Kind(StrEnum):
    """What is explained."""

    VPA = "vpa"
    POD = "pod"


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for.

    Args:
        flags: Flags by process, in the place of what Deployments say.
        system: Namespace of the processes; empty for the one that goes with the group.
        is_whole: Whether the whole cluster is read.
    """

    kind: Kind
    name: str
    group: ApiGroup
    flags: dict[str, str]
    system: str
    is_whole: bool


@dataclass(frozen=True, slots=True)
class _Subject:
    """What is explained, as it was found.

    Args:
        notes: What was assumed, and what could not be read.
    """

    vpa: Vpa | None
    pod: ObjectRef | None
    found: Survey
    controlled: Control
    notes: tuple[str, ...]


def run(
    kind: Annotated[Kind, typer.Argument(help="What is explained.")],
    name: Annotated[str, typer.Argument(help="Its name.", autocompletion=explained)],
    *,
    namespace: NamespaceOption = "",
    api_group: GroupOption = ApiGroup.EVENKEEL,
    whole_cluster: Annotated[
        bool, typer.Option("--whole-cluster", help="Read the pods of all namespaces, so that room on nodes counts.")
    ] = False,
    system_namespace: SystemNamespaceOption = "",
    recommender_flags: Annotated[str, typer.Option(metavar="FLAGS", help="Instead of its Deployment's.")] = "",
    updater_flags: Annotated[str, typer.Option(metavar="FLAGS", help="Instead of its Deployment's.")] = "",
    admission_flags: Annotated[str, typer.Option(metavar="FLAGS", help="Instead of its Deployment's.")] = "",
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Print the explanation."""
    flags = {RECOMMENDER: recommender_flags, UPDATER: updater_flags, ADMISSION: admission_flags}
    wish = Wish(kind, name, api_group, flags, system_namespace, whole_cluster)
    explanation = asyncio.run(explain(Session.of(kubeconfig, context, namespace), wish))
    emit(output, explanation, explanation_blocks(explanation))


async def explain(session: Session, wish: Wish) -> Explanation:
    """Read what there is and explain it.

    Raises:
        NotReadableError: There is no such object, or it may not be read.
        WrongUsageError: Flags that were given cannot be read.
    """
    async with session.client() as client:
        flags = await FlagReader(client, wish.group, wish.system, wish.flags).flags()
        subject = await _subject(client, session, wish, flags.updater.switches())
        subject = await _with_surroundings(client, subject, flags.updater, session.namespace)
        now = client.pacing.now()
        vpa, found = subject.vpa, subject.found
        stored = await _checkpoints(client, wish.group, vpa) if vpa is not None else _Stored()
        estimated = _estimated(subject, stored.checkpoints, flags, now)
        admitted, problems = await _admitted(client, subject, flags)
        answers = updater_answers(found, decision_settings(flags.updater), now)
        return Explanation(
            vpa=vpa.ref if vpa else None,
            pod=subject.pod,
            target=vpa.target_ref if vpa else None,
            mode=vpa.update_mode.value if vpa else "",
            conditions=vpa.conditions if vpa else (),
            cautions=estimated.cautions,
            containers=explained_containers(vpa, estimated, stored.checkpoints) if vpa else (),
            admission=admitted,
            updater=_answers_about(subject, answers.values()),
            notes=(
                *flags.notes,
                *subject.notes,
                *found.problems,
                *stored.problems,
                *estimated.failures,
                *problems,
                _FORGETFUL,
            ),
        )


async def _subject(client: KubeClient, session: Session, wish: Wish, behaviour: Behaviour) -> _Subject:
    """Find what is explained.

    Raises:
        NotReadableError: There is no such object, or it may not be read.
    """
    place = "" if wish.is_whole else session.namespace
    found = await survey(client, wish.group, place, is_thorough=True, behaviour=behaviour)
    controlled = control(found)
    notes: tuple[str, ...] = () if wish.is_whole else (_PARTIAL,)
    if wish.kind is Kind.VPA:
        selecting = found.vpa(session.namespace, wish.name)
        if selecting is None:
            await read(client, vertical_pod_autoscalers(wish.group), session.namespace, wish.name, decode_vpa)
            raise NotReadableError(f"VerticalPodAutoscaler {wish.name}: has changed while it was read; try again")
        return _Subject(selecting.vpa, None, found, controlled, notes)
    ref = ObjectRef(PODS.kind, session.namespace, wish.name)
    vpa = controlled.vpas.get(ref)
    if found.pod(session.namespace, wish.name) is None:
        pod = await read(client, PODS, session.namespace, wish.name, decode_pod_with_sidecars)
        vpa = controlling(pod, found)
        notes += (f"{ref} is not placed on a node yet, or has ended, so the updater leaves it alone",)
    return _Subject(vpa, ref, found, controlled, notes)


async def _with_surroundings(client: KubeClient, subject: _Subject, config: UpdaterConfig, namespace: str) -> _Subject:
    """Add what the updater asks for in each round: the use of memory, and whether the webhook lives."""
    found, notes = subject.found, subject.notes
    memory: dict[ObjectRef, dict[str, MemoryUse]] | None = None
    try:
        page = decode_memory(await client.get(POD_METRICS.path(namespace)), {namespace})
        memory = {ref: dict(uses) for ref, uses in page.uses.items()}
    except (ApiError, InvalidObjectError) as error:
        notes += (f"use of memory is not known, so no memory limit would be lowered: {error}",)
    is_proven: bool | None = None
    if config.use_admission_controller_status:
        lease = LivenessSettings(
            config.admission_controller_status_lease_namespace,
            config.admission_controller_status_lease_name,
            config.admission_controller_status_lease_timeout.total_seconds(),
        )
        seen = await read_liveness(client, lease, client.pacing)
        is_proven = seen.verdict is Verdict.VALID
        if not is_proven:
            notes += (f"the admission controller is not known to live, so nobody is evicted: {seen.detail}",)
    snapshot = found.snapshot
    around = replace(snapshot.surroundings, memory=memory, is_webhook_proven=is_proven)
    return replace(subject, found=replace(found, snapshot=replace(snapshot, surroundings=around)), notes=notes)


@dataclass(frozen=True, slots=True)
class _Stored:
    """Checkpoints of one VPA, and what could not be read."""

    checkpoints: tuple[ContainerCheckpoint, ...] = ()
    problems: tuple[str, ...] = ()


async def _checkpoints(client: KubeClient, group: ApiGroup, vpa: Vpa) -> _Stored:
    """Return the checkpoints of a VPA."""
    reader = Reader(client, vpa.namespace)
    listed = await reader.optional(Selection(checkpoints(group), vpa.namespace), decode_checkpoint)
    return _Stored(tuple(each for each in listed or () if each.vpa_name == vpa.name), tuple(reader.problems))


async def _admitted(
    client: KubeClient, subject: _Subject, flags: ProcessFlags
) -> tuple[AdmissionAnswer | None, tuple[str, ...]]:
    """Return what the webhook would make of a new pod, or why that cannot be told."""
    try:
        made = await submission(client, subject.vpa, subject.pod or _first_pod(subject))
    except (NotReadableError, ApiError, InvalidObjectError, msgspec.MsgspecError) as error:
        return None, (f"what the webhook would do is not told, as no new pod could be made up: {error}",)
    if made is None:
        return None, ("what the webhook would do is not told: there is neither a template nor a pod",)
    return admission_answer(made.source, made.pod, subject.found, review_rules(flags.admission)), ()


def _estimated(
    subject: _Subject, stored: tuple[ContainerCheckpoint, ...], flags: ProcessFlags, now: datetime
) -> Estimation:
    """Return how the VPA's recommendation comes about; without a VPA there is none."""
    vpa, found = subject.vpa, subject.found
    if vpa is None:
        return Estimation((), (), ())
    settings = loop_settings(flags.recommender)
    rules = RecommenderRules(
        settings.behaviour, model_settings(flags.recommender), settings.estimator, settings.rendering
    )
    target = resolve_target(vpa, found.known)
    question = Question(vpa, target, subject.controlled.pods.get(vpa.ref, ()), stored, now)
    return estimation(question, found, rules)


def _first_pod(subject: _Subject) -> ObjectRef | None:
    """Return one of the VPA's pods, None where it has none."""
    pods = subject.controlled.pods.get(subject.vpa.ref, ()) if subject.vpa else ()
    return pods[0].ref if pods else None


def _answers_about(subject: _Subject, answers: Iterable[UpdaterAnswer]) -> tuple[UpdaterAnswer, ...]:
    """Return the answers about the VPA and its pods, or about the one pod."""
    vpa, pod = subject.vpa, subject.pod
    wanted = {vpa.ref} if vpa is not None else set()
    if pod is not None:
        wanted.add(pod)
    elif vpa is not None:
        wanted |= {each.ref for each in subject.controlled.pods.get(vpa.ref, ())}
    return tuple(sorted((each for each in answers if each.object in wanted), key=lambda each: each.object))
