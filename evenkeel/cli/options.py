"""Options of all commands on a cluster."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Annotated

import typer

from autoscaling.runtime.api_group import ApiGroup
from autoscaling.runtime.go_literals import parse_duration
from evenkeel.cli.completing import contexts, namespaces


class Output(StrEnum):
    """How findings are printed."""

    TABLE = "table"
    JSON = "json"
    YAML = "yaml"


def read_duration(given: str | timedelta) -> timedelta:
    """Read a duration as kubectl and the processes spell it; a default is one already.

    Raises:
        typer.BadParameter: It is none, or less than nothing.
    """
    if isinstance(given, timedelta):
        return given
    try:
        duration = parse_duration(given)
    except ValueError as error:
        raise typer.BadParameter(f"{given!r} is {error}; write for example 30s, 5m or 1h30m") from error
    if duration < timedelta(0):
        raise typer.BadParameter(f"{given} is less than nothing; write for example 30s, 5m or 1h30m")
    return duration


KubeconfigOption = Annotated[
    str,
    typer.Option(
        "--kubeconfig",
        envvar="KUBECONFIG",
        metavar="FILE",
        help="Kubeconfig to use; by default ~/.kube/config, and in a pod its service account.",
    ),
]
ContextOption = Annotated[
    str,
    typer.Option(
        "--context",
        metavar="NAME",
        help="Context of the kubeconfig; its current one by default.",
        autocompletion=contexts,
    ),
]
NamespaceOption = Annotated[
    str,
    typer.Option(
        "--namespace",
        "-n",
        metavar="NAME",
        help="Namespace; by default the one of the context.",
        autocompletion=namespaces,
    ),
]
AllNamespacesOption = Annotated[bool, typer.Option("--all-namespaces", "-A", help="Look into all namespaces.")]
GroupOption = Annotated[
    ApiGroup, typer.Option("--api-group", help="API group of the VerticalPodAutoscalers: our own, or upstream's.")
]
SystemNamespaceOption = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Namespace of the processes; by default where manifests put them.",
        autocompletion=namespaces,
    ),
]
OutputOption = Annotated[Output, typer.Option("--output", "-o", help="Form of the output.")]
