"""``evenkeel list``: every VerticalPodAutoscaler with what is recommended and what stands in the way."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from autoscaling.errors import EvenkeelError
from autoscaling.kube.calls import ClientSettings
from autoscaling.kube.client import KubeClient, user_agent
from autoscaling.kube.connection import connect
from autoscaling.kube.paths import Selection, vertical_pod_autoscalers
from autoscaling.pod import ConditionStatus
from autoscaling.resources import CPU, MEMORY, ResourceList, amount
from autoscaling.runtime.api_group import ApiGroup
from autoscaling.vpa import ContainerRecommendation, Vpa
from autoscaling.wire.objects import decode_vpa


class Output(StrEnum):
    """How the list is printed."""

    TABLE = "table"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class Row:
    """One container of one VPA; a VPA without a recommendation has one row without a container."""

    namespace: str
    name: str
    target: str
    mode: str
    container: str
    cpu: str
    memory: str
    conditions: str


def run(
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Only this namespace; all by default.")] = "",
    api_group: Annotated[ApiGroup, typer.Option(help="API group of the VerticalPodAutoscalers.")] = ApiGroup.EVENKEEL,
    kubeconfig: Annotated[str, typer.Option(envvar="KUBECONFIG", help="Path of a kubeconfig file.")] = "",
    output: Annotated[Output, typer.Option("--output", "-o", help="Form of the output.")] = Output.TABLE,
) -> None:
    """List VPAs; an object that cannot be read is named on standard error and ends the command with status 1."""
    rows, faults = asyncio.run(_rows(kubeconfig, Selection(vertical_pod_autoscalers(api_group), namespace)))
    if output is Output.JSON:
        typer.echo(json.dumps([_as_json(row) for row in rows], indent=2))
    else:
        Console().print(_table(rows) if rows else f"No VerticalPodAutoscaler of {api_group} found.")
    for fault in faults:
        typer.echo(f"evenkeel: {fault}", err=True)
    if faults:
        raise typer.Exit(1)


async def _rows(kubeconfig: str, selection: Selection) -> tuple[list[Row], list[str]]:
    """Return the rows and what could not be read."""
    client = KubeClient(await connect(kubeconfig), ClientSettings(user_agent("cli")))
    rows: list[Row] = []
    faults: list[str] = []
    try:
        for raw in await client.items(selection, bytes):
            try:
                rows += rows_of(decode_vpa(raw))
            except EvenkeelError as error:
                faults.append(str(error))
    finally:
        await client.close()
    return sorted(rows, key=lambda row: (row.namespace, row.name, row.container)), faults


def rows_of(vpa: Vpa) -> Iterator[Row]:
    """Return one row for each recommended container."""
    target = f"{vpa.target_ref.kind}/{vpa.target_ref.name}" if vpa.target_ref else "-"
    notable = (c for c in vpa.conditions if c.status is ConditionStatus.TRUE and c.type != "RecommendationProvided")
    conditions = ", ".join(f"{c.type}: {c.message}" if c.message else c.type for c in notable)
    entries: Iterable[ContainerRecommendation | None] = vpa.recommendation.containers if vpa.recommendation else ()
    for entry in entries or (None,):
        yield Row(
            namespace=vpa.namespace,
            name=vpa.name,
            target=target,
            mode=vpa.update_mode.value,
            container=entry.container_name if entry else "-",
            cpu=_range(entry, CPU),
            memory=_range(entry, MEMORY),
            conditions=conditions,
        )


def _range(entry: ContainerRecommendation | None, resource: str) -> str:
    """Return a target with its bounds, such as ``400m (300m to 1)``."""
    if entry is None or resource not in entry.target:
        return "-"
    bounds: tuple[ResourceList | None, ResourceList | None] = (entry.lower_bound, entry.upper_bound)
    lower, upper = (amount(bound, resource) for bound in bounds)
    return f"{entry.target[resource]} ({lower} to {upper})"


def _as_json(row: Row) -> dict[str, str]:
    """Return a row with the names of its columns."""
    return {name: getattr(row, name) for name in Row.__slots__}


def _table(rows: Iterable[Row]) -> Table:
    """Return the rows as a table; colours are off where the output is no terminal."""
    table = Table(box=None, pad_edge=False)
    for name in Row.__slots__:
        table.add_column(name.upper(), overflow="fold")
    for row in rows:
        table.add_row(*(_as_json(row).values()))
    return table
