"""``evenkeel export``: recommendations for manifests in a repository; nothing in the cluster is changed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import msgspec
import typer
import yaml

from admission.review import SubmittedPod
from autoscaling.behaviour import Behaviour, Profile
from autoscaling.errors import ApiError, ConfigurationError, InvalidObjectError
from autoscaling.kube.paths import Selection, vertical_pod_autoscalers
from autoscaling.limitrange import NO_LIMITS
from autoscaling.runtime.api_group import ApiGroup
from autoscaling.vpa import Vpa
from evenkeel.cli.completing import autoscalers
from evenkeel.cli.options import (
    AllNamespacesOption,
    ContextOption,
    GroupOption,
    KubeconfigOption,
    NamespaceOption,
    Output,
    OutputOption,
)
from evenkeel.cli.printing import show, text_of, warn
from evenkeel.cli.session import NotReadableError, Session, not_found
from evenkeel.cli.submitting import submission
from evenkeel.cli.surveying import survey
from evenkeel.cli.wrong_usage import WrongUsageError
from evenkeel.inspection.documents import Json
from evenkeel.inspection.exporting import (
    DEFAULT_HELM_KEY,
    ExportedWorkload,
    export_table,
    exported,
    file_name,
    helm_values,
    kustomization,
    patch_of,
)
from evenkeel.inspection.survey import Survey, control

HELP: Final = """Write current recommendations as strategic-merge patches, as a Kustomize component or as Helm values.

The amounts are those that the webhook would give a new pod: capped by policies and LimitRanges, limits in proportion.
Nothing in the cluster is changed. With -o table the amounts are shown beside those of the workloads now.

\b
Exit status:
  0  everything is exported
  1  some of it could not be, which is named on standard error; the rest is exported
  2  wrong usage

\b
Examples:
  evenkeel export -n shop > patches.yaml
  evenkeel export -n shop --format kustomize --directory overlays/prod/sizes
  evenkeel export web -n shop --format helm --helm-key '{container}.resources' > sizes.yaml
  evenkeel export -A -o table
"""

_BEHAVIOUR: Final = Behaviour.of(Profile.EVENKEEL)
_KUSTOMIZATION: Final = "kustomization.yaml"


class Form(StrEnum):
    """What is written."""

    PATCHES = "patches"
    KUSTOMIZE = "kustomize"
    HELM = "helm"


@dataclass(frozen=True, slots=True)
class Found:
    """What is exported.

    Args:
        problems: What could not be, and why.
    """

    workloads: tuple[ExportedWorkload, ...]
    problems: tuple[str, ...]


def run(
    names: Annotated[
        list[str] | None, typer.Argument(help="VPAs to export; all by default.", autocompletion=autoscalers)
    ] = None,
    *,
    form: Annotated[Form, typer.Option("--format", "-f", help="What is written.")] = Form.PATCHES,
    directory: Annotated[
        Path | None, typer.Option("--directory", "-d", metavar="FOLDER", help="Write files there, not to the output.")
    ] = None,
    helm_key: Annotated[
        str,
        typer.Option(
            metavar="KEY",
            help="Place of a container's resources in the values, with {namespace}, {kind}, {name}, {container}.",
        ),
    ] = DEFAULT_HELM_KEY,
    namespace: NamespaceOption = "",
    everywhere: AllNamespacesOption = False,
    api_group: GroupOption = ApiGroup.EVENKEEL,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.YAML,
) -> None:
    """Export recommendations; what cannot be exported is named and ends the command with status 1."""
    session = Session.of(kubeconfig, context, namespace, is_everywhere=everywhere)
    found = asyncio.run(collect(session, api_group, frozenset(names or ())))
    if directory is not None:
        _write(directory, _files(found.workloads, form, helm_key))
    elif output is Output.TABLE:
        show((export_table(found.workloads),))
    else:
        typer.echo(_text(found.workloads, form, helm_key, output), nl=False)
    warn(found.problems)
    if found.problems:
        raise typer.Exit(1)


async def collect(session: Session, group: ApiGroup, names: frozenset[str]) -> Found:
    """Read recommendations and work out what the workloads should ask for.

    Args:
        session: The cluster and the namespace.
        group: API group of the VPAs.
        names: Names of VPAs; empty for all.

    Raises:
        NotReadableError: VPAs cannot be read.
    """
    async with session.client() as client:
        seen = await survey(client, group, session.namespace, is_thorough=True)
        vpas = sorted(
            (c.vpa for c in seen.snapshot.vpas if not names or c.vpa.name in names), key=lambda v: (v.namespace, v.name)
        )
        wanted = Selection(vertical_pod_autoscalers(group), session.namespace)
        missing = sorted(names - {vpa.name for vpa in vpas})
        problems = [str(await not_found(client, wanted, name)) for name in missing]
        problems += seen.problems
        workloads: list[ExportedWorkload] = []
        pods = control(seen).pods
        for vpa in vpas:
            try:
                first = next(iter(pods.get(vpa.ref, ())), None)
                made = await submission(client, vpa, first.ref if first else None)
            except (NotReadableError, ApiError, InvalidObjectError, msgspec.MsgspecError) as error:
                problems.append(f"{vpa.ref}: {error}")
                continue
            if made is None:
                problems.append(f"{vpa.ref}: its target has neither a template that could be read nor pods")
                continue
            outcome = _exported(vpa, made.pod, seen)
            if isinstance(outcome, str):
                problems.append(outcome)
            else:
                workloads.append(outcome)
        return Found(tuple(workloads), tuple(problems))


def _exported(vpa: Vpa, template: SubmittedPod, seen: Survey) -> ExportedWorkload | str:
    """Return what a workload should ask for, or why there is nothing."""
    if vpa.recommendation is None:
        return f"{vpa.ref}: has no recommendation yet"
    try:
        workload = exported(vpa, template, seen.snapshot.limits.get(vpa.namespace, NO_LIMITS), _BEHAVIOUR)
    except InvalidObjectError as error:
        return f"{vpa.ref}: {error}"
    return workload or f"{vpa.ref}: its recommendation sets nothing of its target's containers"


def _text(workloads: tuple[ExportedWorkload, ...], form: Form, helm_key: str, output: Output) -> str:
    """Return what is printed: one document, or one for each patch."""
    if form is Form.PATCHES:
        patches = [patch_of(each) for each in workloads]
        if output is Output.JSON:
            return text_of(output, list[Json](patches))
        return yaml.safe_dump_all(patches, sort_keys=False)
    return text_of(output, kustomization(workloads) if form is Form.KUSTOMIZE else _values(workloads, helm_key))


def _values(workloads: tuple[ExportedWorkload, ...], helm_key: str) -> Json:
    """Return Helm values.

    Raises:
        WrongUsageError: The key gives no place for each container's resources.
    """
    try:
        return helm_values(workloads, helm_key)
    except ConfigurationError as error:
        raise WrongUsageError(str(error)) from error


def _files(workloads: tuple[ExportedWorkload, ...], form: Form, helm_key: str) -> Mapping[str, str]:
    """Return the contents of files by their names."""
    patches = {file_name(each): yaml.safe_dump(patch_of(each), sort_keys=False) for each in workloads}
    if form is Form.PATCHES:
        return patches
    if form is Form.HELM:
        return {"values.yaml": text_of(Output.YAML, _values(workloads, helm_key))}
    return {**patches, _KUSTOMIZATION: text_of(Output.YAML, kustomization(workloads, in_files=True))}


def _write(directory: Path, files: Mapping[str, str]) -> None:
    """Write files; those of an earlier export are overwritten, others are left alone.

    Raises:
        ConfigurationError: They cannot be written.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (directory / name).write_text(text)
    except OSError as error:
        raise ConfigurationError(f"--directory {directory}: cannot be written: {error}; name another folder") from error
    for name in files:
        typer.echo(directory / name)
