"""``evenkeel compare``: our recommendations beside upstream's, and why they differ."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Final

import typer

from autoscaling.errors import ApiError, ConfigurationError, InvalidObjectError
from autoscaling.kube.client import KubeClient
from autoscaling.kube.paths import Selection, checkpoints, vertical_pod_autoscalers
from autoscaling.runtime.api_group import ApiGroup
from autoscaling.vpa import Vpa
from evenkeel.cli.options import (
    AllNamespacesOption,
    ContextOption,
    KubeconfigOption,
    NamespaceOption,
    Output,
    OutputOption,
    read_duration,
)
from evenkeel.cli.printing import emit, warn
from evenkeel.cli.process_flags import RECOMMENDER, find_process
from evenkeel.cli.session import NotReadableError, Session, read_all
from evenkeel.cli.wrong_usage import WrongUsageError
from evenkeel.comparison.comparing import Sides, compare
from evenkeel.comparison.page import page
from evenkeel.comparison.report import Measure, Report, report, report_blocks
from evenkeel.comparison.retracing import SideSettings
from evenkeel.comparison.shell.flags import given_settings, side_settings
from evenkeel.comparison.shell.metrics import watch_metrics
from evenkeel.comparison.shell.pods import ownership
from evenkeel.comparison.shell.prometheus import PrometheusSource, ask_prometheus
from evenkeel.comparison.shell.states import Found, decoded_state
from evenkeel.comparison.use import ObservedUse

HELP: Final = """Compare our recommendations with upstream's: for every VerticalPodAutoscaler, container and resource.

Upstream's objects are those of autoscaling.k8s.io; ours are their twins in autoscaling.evenkeel.dev, which `evenkeel
shadow sync` makes, or objects of ours for the same workload. Shown are both targets, how many percent of the larger one
they are apart, which is nearer to what the pods use now (or used over --window), and the first step on the way from
samples to target at which the two part: samples, age of a checkpoint, percentile, margin, minimum, rounding or caps.

\b
Exit status:
  0  compared, and with --threshold no target is farther apart
  1  it could not be found out, or some objects could not be read
  2  wrong usage
  3  with --threshold: targets are farther apart, or there is one on one side only

\b
Examples:
  evenkeel compare -n shop
  evenkeel compare -A --window 10m --html compare.html
  evenkeel compare -A --prometheus http://localhost:9090 --window 24h
  evenkeel compare -A -o json --threshold 15        # for CI
  evenkeel compare -n shop --their-flags '--recommendation-margin-fraction=0.2'
"""

_OPTIONS: Final = {ApiGroup.EVENKEEL: "--our-flags", ApiGroup.UPSTREAM: "--their-flags"}
_APART: Final = 3
_UNREADABLE: Final = 1
_OF_PROMETHEUS: Final = timedelta(days=1)


ThresholdOption = Annotated[
    float | None, typer.Option(min=0.0, max=100.0, metavar="PERCENT", help="Distance that ends with status 3.")
]
WindowOption = Annotated[
    timedelta | None,
    typer.Option(
        parser=read_duration,
        metavar="DURATION",
        help="How long use is looked at: one look by default, and a day that has passed with --prometheus.",
    ),
]
PercentileOption = Annotated[
    float, typer.Option(min=1.0, max=100.0, metavar="PERCENT", help="Percentile of use that targets are held against.")
]
PrometheusOption = Annotated[
    str, typer.Option(metavar="URL", help="Prometheus to ask for use, in place of the metrics API.")
]
TokenOption = Annotated[Path | None, typer.Option(metavar="FILE", help="File with the bearer token for it.")]
PodLabelOption = Annotated[
    str, typer.Option(metavar="NAME", help="Label of its container metrics with the pod's name.")
]
ContainerLabelOption = Annotated[str, typer.Option(metavar="NAME", help="Likewise with the container's name.")]
OurFlagsOption = Annotated[
    str, typer.Option(metavar="FLAGS", help="Flags of our recommender; by default those of its Deployment.")
]
TheirFlagsOption = Annotated[str, typer.Option(metavar="FLAGS", help="Flags of upstream's, likewise.")]
HtmlOption = Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a page with plots to this file.")]


@dataclass(frozen=True, slots=True)
class Wishes:
    """What was asked for.

    Args:
        ours: Flags of our recommender; None for those of its Deployment.
        theirs: Flags of upstream's, likewise.
        window: Time over which use is looked at; None for what the source has by default.
        prometheus: Where use is asked for; None for the metrics API.
        percentile: Of use that targets are held against.
        threshold: Distance in percent that is too far; None for none.
    """

    ours: SideSettings | None
    theirs: SideSettings | None
    window: timedelta | None
    prometheus: PrometheusSource | None
    percentile: float
    threshold: float | None


@dataclass(frozen=True, slots=True)
class Finding:
    """What was found out.

    Args:
        report: The comparison.
        use: What pods were seen to use.
        at: When the objects were read.
        problems: What could not be read.
    """

    report: Report
    use: ObservedUse
    at: datetime
    problems: tuple[str, ...]


def run(
    *,
    namespace: NamespaceOption = "",
    everywhere: AllNamespacesOption = False,
    threshold: ThresholdOption = None,
    window: WindowOption = None,
    percentile: PercentileOption = 90.0,
    prometheus: PrometheusOption = "",
    prometheus_token_file: TokenOption = None,
    pod_label: PodLabelOption = "pod",
    container_label: ContainerLabelOption = "container",
    our_flags: OurFlagsOption = "",
    their_flags: TheirFlagsOption = "",
    html: HtmlOption = None,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Print the report; the status says whether anything is too far apart."""
    source = PrometheusSource(prometheus, _token(prometheus_token_file), pod_label, container_label)
    wishes = Wishes(
        _given(ApiGroup.EVENKEEL, our_flags),
        _given(ApiGroup.UPSTREAM, their_flags),
        window,
        source if prometheus else None,
        percentile,
        threshold,
    )
    session = Session.of(kubeconfig, context, namespace, is_everywhere=everywhere)
    found = asyncio.run(_compare(session, wishes))
    if html is not None:
        _write(html, page(found.report, found.use, found.at))
    emit(output, found.report, report_blocks(found.report))
    warn((*found.problems, *(found.report.notes if output is Output.TABLE else ())))
    if found.report.summary.beyond:
        raise typer.Exit(_APART)
    if found.problems:
        raise typer.Exit(_UNREADABLE)


def _given(group: ApiGroup, flags: str) -> SideSettings | None:
    """Return what given flags say, None where there are none."""
    try:
        return given_settings(_OPTIONS[group], flags) if flags else None
    except ConfigurationError as error:
        raise WrongUsageError(str(error)) from error


def _token(file: Path | None) -> str:
    """Return the token in a file, empty where there is none."""
    if file is None:
        return ""
    try:
        return file.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"--prometheus-token-file {file}: {error}; name a readable file that holds the token"
        ) from error


def _write(file: Path, text: str) -> None:
    """Write a page."""
    try:
        file.write_text(text)
    except OSError as error:
        raise ConfigurationError(f"--html {file}: {error}; name a file that can be written") from error


async def _compare(session: Session, wishes: Wishes) -> Finding:
    """Look at use, then read both groups: what they recommend in the end is what is compared."""
    async with session.client() as client:
        vpas = decoded_state(await _vpas(client, ApiGroup.UPSTREAM, session), ()).state.vpas
        observed = await _observe(client, session, vpas, wishes)
        theirs = await _side(client, ApiGroup.UPSTREAM, session, wishes.theirs)
        ours = await _side(client, ApiGroup.EVENKEEL, session, wishes.ours)
        now = client.pacing.now()
    compared = compare(Sides(ours.found.state, theirs.found.state, now), observed.use, wishes.percentile / 100.0)
    compared = replace(compared, notes=(*observed.notes, *ours.notes, *theirs.notes, *compared.notes))
    measure = Measure(observed.source, wishes.percentile, wishes.threshold)
    return Finding(report(compared, measure), observed.use, now, (*ours.found.problems, *theirs.found.problems))


async def _vpas(client: KubeClient, group: ApiGroup, session: Session) -> list[bytes]:
    """Read the autoscalers of one group."""
    return await read_all(client, Selection(vertical_pod_autoscalers(group), session.namespace), bytes)


@dataclass(frozen=True, slots=True)
class _Side:
    """One group.

    Args:
        found: Its objects.
        notes: What was assumed.
    """

    found: Found
    notes: tuple[str, ...]


async def _side(client: KubeClient, group: ApiGroup, session: Session, given: SideSettings | None) -> _Side:
    """Read one group and its recommender's flags; without checkpoints it is compared all the same."""
    vpas, stored, notes = await _vpas(client, group, session), list[bytes](), list[str]()
    try:
        stored = await read_all(client, Selection(checkpoints(group), session.namespace), bytes)
    except NotReadableError as error:
        notes.append(f"no checkpoints of {group} to look into: {error}")
    found = decoded_state(vpas, stored)
    settings = given or await _deployed_settings(client, group, notes)
    return _Side(replace(found, state=replace(found.state, settings=settings)), tuple(notes))


async def _deployed_settings(client: KubeClient, group: ApiGroup, notes: list[str]) -> SideSettings:
    """Return what the flags of a recommender's Deployment say, the defaults where there is none."""
    whose = f"recommender of {group}"
    deployed = await find_process(client, group, "", RECOMMENDER)
    if deployed is None:
        notes.append(
            f"{whose}: default flags are assumed, as no Deployment of it was found; give them with {_OPTIONS[group]}"
        )
        return SideSettings()
    try:
        return side_settings(deployed.words)
    except ConfigurationError as error:
        notes.append(f"{whose}: default flags are assumed, as those of {deployed} make no sense: {error}")
        return SideSettings()


@dataclass(frozen=True, slots=True)
class _Observed:
    """What pods were seen to use.

    Args:
        use: The samples.
        source: Where they are from and what time they cover, as a report says it; empty for nowhere.
        notes: What is not known.
    """

    use: ObservedUse
    source: str = ""
    notes: tuple[str, ...] = ()


async def _observe(client: KubeClient, session: Session, vpas: Iterable[Vpa], wishes: Wishes) -> _Observed:
    """Look at use; where nobody has asked for it in particular, it may be missing."""
    try:
        owned = await ownership(client, vpas, session.namespace)
        use = ObservedUse(owned.owners)
        return _Observed(use, await _gather(client, session, use, wishes), owned.problems)
    except (ApiError, InvalidObjectError) as error:
        if wishes.window is not None or wishes.prometheus is not None:
            raise
        return _Observed(ObservedUse({}), "", (f"use was not looked at: {error}",))


async def _gather(client: KubeClient, session: Session, use: ObservedUse, wishes: Wishes) -> str:
    """Gather use, and say where it is from."""
    if wishes.prometheus is not None:
        end = client.pacing.now()
        begin = end - (wishes.window or _OF_PROMETHEUS)
        await asyncio.to_thread(ask_prometheus, wishes.prometheus, session.namespace, use, (begin, end))
        return f"from Prometheus over {end - begin}"
    window = wishes.window or timedelta(0)
    await watch_metrics(client, session.namespace, use, window)
    return f"from the metrics API over {window}" if window else "from one look at the metrics API"
