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
from evenkeel.cli.wrong_usage import WrongUsageError
from recommender.config import RecommenderConfig
from updater.config import UpdaterConfig

ConfigT = TypeVar("ConfigT", bound=FlagModel)

RECOMMENDER: Final = "recommender"
UPDATER: Final = "updater"
ADMISSION: Final = "admission-controller"
_OPTIONS: Final = {RECOMMENDER: "--recommender-flags", UPDATER: "--updater-flags", ADMISSION: "--admission-flags"}
_OWN_PREFIX: Final = "evenkeel-"


class _Container(msgspec.Struct):
    image: str = ""
    command: list[str] | None = None
    args: list[str] | None = None


class _PodSpec(msgspec.Struct, rename="camel"):
    containers: list[_Container] | None = None
    service_account_name: str = ""


class _Template(msgspec.Struct):
    spec: _PodSpec = msgspec.field(default_factory=_PodSpec)


class _Spec(msgspec.Struct):
    replicas: int = 1
    template: _Template = msgspec.field(default_factory=_Template)


class _Status(msgspec.Struct, rename="camel"):
    available_replicas: int = 0


class _Deployment(msgspec.Struct):
    spec: _Spec = msgspec.field(default_factory=_Spec)
    status: _Status = msgspec.field(default_factory=_Status)


_DEPLOYMENT: Final = msgspec.json.Decoder(_Deployment)


@dataclass(frozen=True, slots=True)
class Deployed:
    """The Deployment of one process.

    Args:
        namespace: Of the Deployment.
        name: Of the Deployment.
        words: Its command line, without the program's name.
        image: What it runs.
        account: Name of its service account.
        wanted: Replicas that there should be.
        available: Replicas that are available.
    """

    namespace: str
    name: str
    words: tuple[str, ...]
    image: str
    account: str
    wanted: int
    available: int

    def __str__(self) -> str:
        """Print as ``Deployment namespace/name``."""
        return f"Deployment {self.namespace}/{self.name}"


def places(group: ApiGroup, namespace: str, process: str) -> tuple[tuple[str, str], ...]:
    """Return namespace and name of the Deployments that a process may have.

    Args:
        group: API group that it serves; upstream's has also upstream's own programs.
        namespace: Where to look; empty for where manifests put them.
        process: Which one.
    """
    own = (namespace or cluster_names(ApiGroup.EVENKEEL).namespace, f"{_OWN_PREFIX}{process}")
    theirs = (namespace or cluster_names(ApiGroup.UPSTREAM).namespace, f"vpa-{process}")
    return (own,) if group is ApiGroup.EVENKEEL else (own, theirs)


async def find_process(client: KubeClient, group: ApiGroup, namespace: str, process: str) -> Deployed | None:
    """Return the Deployment of a process that serves an API group, None where none can be read.

    Args:
        client: Calls to the API server.
        group: API group.
        namespace: Where to look; empty for where manifests put them.
        process: Which one.
    """
    for place, name in places(group, namespace, process):
        try:
            found = await read(client, DEPLOYMENTS, place, name, _DEPLOYMENT.decode)
        except (NotReadableError, ApiError, msgspec.MsgspecError):
            continue
        words, template = _words(found, place, name), found.spec.template.spec
        if _serves(words, group):
            account = template.service_account_name or "default"
            image = next((each.image for each in template.containers or ()), "")
            return Deployed(place, name, words, image, account, found.spec.replicas, found.status.available_replicas)
    return None


def _words(deployment: _Deployment, namespace: str, name: str) -> tuple[str, ...]:
    """Return the flags of a Deployment's first container; upstream's own program decides as upstream does."""
    first = next(iter(deployment.spec.template.spec.containers or ()), _Container())
    words = [word.replace("$(NAMESPACE)", namespace) for word in (*(first.command or ()), *(first.args or ()))]
    flags = tuple(dropwhile(lambda word: not word.startswith("-"), words))
    if name.startswith(_OWN_PREFIX) or _OWN_PREFIX.rstrip("-") in first.image:
        return flags
    return (*flags, f"--api-group={ApiGroup.UPSTREAM.value}", "--profile=upstream")


def _serves(words: Sequence[str], group: ApiGroup) -> bool:
    """Say whether flags are those of a process that serves an API group."""
    text = " ".join(words).replace("--api-group ", "--api-group=")
    named = [each for each in ApiGroup if f"--api-group={each.value}" in text]
    return (named or [ApiGroup.EVENKEEL])[-1] is group


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
        namespace: Where their Deployments are; empty for where manifests put them.
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
            WrongUsageError: Flags that were given cannot be read.
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
            try:
                return self.parsed(model, shlex.split(given), self.namespace)
            except (ConfigurationError, ValueError) as error:
                remedy = f"give the flags as the Deployment of the {process} has them"
                raise WrongUsageError(f"{_OPTIONS[process]} {given!r}: {error}; {remedy}") from error
        found = await find_process(self.client, self.group, self.namespace, process)
        if found is None:
            tried = " and ".join("/".join(place) for place in places(self.group, self.namespace, process))
            self.notes.append(
                f"{process}: default flags are assumed, as no Deployment of it can be read ({tried}); name its "
                f"namespace with --system-namespace, or its flags with {_OPTIONS[process]}"
            )
            return self.parsed(model, (), self.namespace)
        try:
            config = self.parsed(model, found.words, found.namespace)
        except ConfigurationError as error:
            self.notes.append(f"{process}: default flags are assumed, as those of {found} make no sense: {error}")
            return self.parsed(model, (), self.namespace)
        self.notes.append(f"{process}: flags of {found}")
        return config

    def parsed(self, model: type[ConfigT], words: Sequence[str], namespace: str) -> ConfigT:
        """Read a command line; where it names no API group it is the one that was asked about.

        Args:
            model: The process's configuration.
            words: Its flags.
            namespace: Where it runs; empty where that is not known.

        Raises:
            ConfigurationError: It cannot be read.
        """
        try:
            return model.from_command_line([f"--api-group={self.group.value}", *words], {"NAMESPACE": namespace})
        except HelpRequested:
            raise ConfigurationError("flags that ask for help set nothing; leave --help out") from None
