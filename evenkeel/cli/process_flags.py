"""What the three processes of a cluster are set to do, as their Deployments say it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import dropwhile
from typing import Final, TypeVar

import msgspec

from admission.config import AdmissionConfig
from autoscaling.errors import ApiError, ConfigurationError
from autoscaling.kube.client import KubeClient
from autoscaling.kube.paths import DEPLOYMENTS
from autoscaling.runtime.api_group import ApiGroup, cluster_names
from autoscaling.runtime.flag_model import FlagModel, HelpRequested
from evenkeel.cli.session import NotReadableError, read
from recommender.config import RecommenderConfig
from updater.config import UpdaterConfig

ConfigT = TypeVar("ConfigT", bound=FlagModel)

RECOMMENDER: Final = "recommender"
UPDATER: Final = "updater"
ADMISSION: Final = "admission-controller"
PREFIXES: Final[Mapping[ApiGroup, str]] = {ApiGroup.EVENKEEL: "evenkeel-", ApiGroup.UPSTREAM: "vpa-"}
"""How the names of Deployments begin."""

_OPTIONS: Final = {RECOMMENDER: "--recommender-flags", UPDATER: "--updater-flags", ADMISSION: "--admission-flags"}
_OWN_IMAGE: Final = "evenkeel"


class _Container(msgspec.Struct):
    image: str = ""
    command: list[str] | None = None
    args: list[str] | None = None


class _PodSpec(msgspec.Struct):
    containers: list[_Container] | None = None


class _Template(msgspec.Struct):
    spec: _PodSpec = msgspec.field(default_factory=_PodSpec)


class _Spec(msgspec.Struct):
    template: _Template = msgspec.field(default_factory=_Template)


class _Deployment(msgspec.Struct):
    spec: _Spec = msgspec.field(default_factory=_Spec)


_DEPLOYMENT: Final = msgspec.json.Decoder(_Deployment)


@dataclass(frozen=True, slots=True)
class ProcessFlags:
    """The configurations of the three processes.

    Args:
        notes: Where each comes from.
    """

    recommender: RecommenderConfig
    updater: UpdaterConfig
    admission: AdmissionConfig
    notes: tuple[str, ...]


@dataclass(slots=True)
class FlagReader:
    """Finds out what processes are set to do.

    Args:
        client: Calls to the API server.
        group: API group that they serve.
        namespace: Where their Deployments are; empty for the one that goes with the group.
        given: Flags by process, as somebody has given them, in the place of what Deployments say.
        notes: Where each configuration comes from.
    """

    client: KubeClient
    group: ApiGroup
    namespace: str = ""
    given: Mapping[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    async def flags(self) -> ProcessFlags:
        """Return the configurations of the three processes.

        Raises:
            ConfigurationError: Flags that were given cannot be read.
        """
        return ProcessFlags(
            await self._config(RECOMMENDER, RecommenderConfig),
            await self._config(UPDATER, UpdaterConfig),
            await self._config(ADMISSION, AdmissionConfig),
            tuple(self.notes),
        )

    async def _config(self, process: str, model: type[ConfigT]) -> ConfigT:
        """Return the configuration of one process: as given, as its Deployment says, or the default."""
        given = self.given.get(process, "")
        if given:
            self.notes.append(f"{process}: flags as given")
            return self._parsed(model, shlex.split(given))
        place = self.namespace or cluster_names(self.group).namespace
        name = f"{PREFIXES[self.group]}{process}"
        try:
            deployment = await read(self.client, DEPLOYMENTS, place, name, _DEPLOYMENT.decode)
            config = self._parsed(model, _words(deployment, place))
        except (NotReadableError, ApiError):
            self.notes.append(
                f"{process}: default flags are assumed, as Deployment {place}/{name} cannot be read; name its "
                f"namespace with --system-namespace, or its flags with {_OPTIONS[process]}"
            )
            return self._parsed(model, ())
        except (ConfigurationError, msgspec.MsgspecError) as error:
            self.notes.append(
                f"{process}: default flags are assumed, as those of Deployment {place}/{name} make no sense: {error}"
            )
            return self._parsed(model, ())
        self.notes.append(f"{process}: flags of Deployment {place}/{name}")
        return config

    def _parsed(self, model: type[ConfigT], words: Sequence[str]) -> ConfigT:
        """Read a command line; the API group is the one that was asked about."""
        place = self.namespace or cluster_names(self.group).namespace
        try:
            return model.from_command_line([f"--api-group={self.group.value}", *words], {"NAMESPACE": place})
        except HelpRequested:
            raise ConfigurationError("flags that ask for help set nothing; leave --help out") from None


def _words(deployment: _Deployment, namespace: str) -> list[str]:
    """Return the flags of a Deployment's first container; upstream's own program decides as upstream does."""
    first = next(iter(deployment.spec.template.spec.containers or ()), _Container())
    words = [word.replace("$(NAMESPACE)", namespace) for word in (*(first.command or ()), *(first.args or ()))]
    flags = list(dropwhile(lambda word: not word.startswith("-"), words))
    return flags if _OWN_IMAGE in first.image else [*flags, "--profile=upstream"]
