"""``evenkeel doctor``: looks for what keeps Evenkeel from working, and names the way out."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Final

import typer

from autoscaling.runtime.api_group import ApiGroup
from evenkeel.cli.examining import Examination
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
from evenkeel.cli.session import Session
from evenkeel.inspection.findings import Area, Diagnosis, Finding, diagnosis, diagnosis_blocks

HELP: Final = """Look for what keeps Evenkeel from working, and name the way out of each finding.

\b
What is looked at:
  server       version, resize subresource, feature gates
  nodes        versions of kubelets
  metrics      the metrics API
  definitions  the CustomResourceDefinitions
  processes    Deployments, leader Leases and the admission controller's Lease
  rights       what each process's service account may do; with --as-me what you may do
  webhook      its registration, certificate, and whether it answers
  conflicts    horizontal autoscalers, several VPAs for one target, other webhooks
  objects      VPAs that cannot be read

\b
Exit status:
  0  nothing is wrong; notes say what could not be looked at
  1  the cluster could not be asked at all
  2  wrong usage
  3  warnings, but no problem
  4  problems

\b
Examples:
  evenkeel doctor
  evenkeel doctor --only rights --only webhook
  evenkeel doctor --api-group autoscaling.k8s.io -o json
  evenkeel doctor --only rights --as-me    # for processes that run with your kubeconfig
"""


def run(
    *,
    only: Annotated[list[Area] | None, typer.Option("--only", help="Look at this area; may be repeated.")] = None,
    as_me: Annotated[
        bool, typer.Option("--as-me", help="Ask for your own rights instead of the service accounts'.")
    ] = False,
    system_namespace: SystemNamespaceOption = "",
    namespace: NamespaceOption = "",
    api_group: GroupOption = ApiGroup.EVENKEEL,
    kubeconfig: KubeconfigOption = "",
    context: ContextOption = "",
    output: OutputOption = Output.TABLE,
) -> None:
    """Print what was found; VPAs and their targets are looked for in all namespaces, unless one is given."""
    session = Session.of(kubeconfig, context, namespace, is_everywhere=not namespace)
    found = asyncio.run(examine(session, api_group, system_namespace, frozenset(only or Area), as_me=as_me))
    emit(output, found, diagnosis_blocks(found))
    raise typer.Exit(found.verdict.exit_code)


async def examine(
    session: Session, group: ApiGroup, system_namespace: str, areas: frozenset[Area], *, as_me: bool = False
) -> Diagnosis:
    """Look at a cluster.

    Args:
        session: The cluster, and the namespace of VPAs; empty for all.
        group: API group of the VPAs.
        system_namespace: Where the processes are; empty for where manifests put them.
        areas: What is looked at.
        as_me: Whether rights are those of whoever asks.

    Raises:
        ConfigurationError: The cluster cannot be asked.
    """
    async with session.client() as client:
        version = (await client.probe()).git_version
        one = Examination(client, group, session.namespace, system_namespace)
        looks: Mapping[Area, Callable[[], Awaitable[list[Finding]]]] = {
            Area.SERVER: lambda: one.server(version),
            Area.NODES: one.nodes,
            Area.METRICS: one.metrics,
            Area.DEFINITIONS: one.definitions,
            Area.PROCESSES: one.processes,
            Area.RIGHTS: lambda: one.rights(as_me=as_me),
            Area.WEBHOOK: one.webhook,
            Area.CONFLICTS: one.conflicts,
            Area.OBJECTS: one.objects,
        }
        findings = [finding for area in Area if area in areas for finding in await looks[area]()]
    return diagnosis(findings)
