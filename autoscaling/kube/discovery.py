"""Which collections hold the objects of a kind: what the API server says of itself, remembered for a while."""

from __future__ import annotations

import msgspec

from autoscaling.errors import ApiRefusedError, ApiUnreachableError
from autoscaling.kube.client import KubeClient
from autoscaling.kube.paths import Resource
from autoscaling.kube.refusals import is_missing
from autoscaling.wire.unreadable import UNREADABLE_JSON

REMEMBERED_SECONDS = 300.0


class _Version(msgspec.Struct):
    version: str = ""


class _Group(msgspec.Struct, rename="camel"):
    versions: list[_Version] | None = None
    preferred_version: _Version | None = None


class _CoreVersions(msgspec.Struct):
    versions: list[str] | None = None


class _Entry(msgspec.Struct):
    name: str = ""
    kind: str = ""
    namespaced: bool = False


class _Resources(msgspec.Struct):
    resources: list[_Entry] | None = None


_GROUP = msgspec.json.Decoder(_Group)
_CORE_VERSIONS = msgspec.json.Decoder(_CoreVersions)
_RESOURCES = msgspec.json.Decoder(_Resources)


class Discovery:
    """Maps API group and kind to collections.

    Args:
        client: Calls to the API server; its pacing tells when to forget.

    Spec: recommender:11.1 (everything known is forgotten every 5 minutes).
    """

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._groups: dict[str, tuple[Resource, ...]] = {}
        self._forgotten_at = client.pacing.monotonic()

    async def resources_for(self, group: str, kind: str) -> tuple[Resource, ...]:
        """Collections that hold objects of a kind, the server's preferred version first.

        Args:
            group: API group; empty for the core group.
            kind: As in objects.

        Returns:
            Empty when the server knows no such group or kind.

        Raises:
            ApiError: The server did not say.
        """
        return tuple(resource for resource in await self._group(group) if resource.kind == kind)

    def forget(self) -> None:
        """Ask the server anew from now on."""
        self._groups.clear()
        self._forgotten_at = self._client.pacing.monotonic()

    async def _group(self, group: str) -> tuple[Resource, ...]:
        if self._client.pacing.monotonic() - self._forgotten_at >= REMEMBERED_SECONDS:
            self.forget()
        if group not in self._groups:
            found: list[Resource] = []
            for version in await self._versions(group):
                found.extend(await self._resources(group, version))
            self._groups[group] = tuple(found)
        return self._groups[group]

    async def _versions(self, group: str) -> list[str]:
        try:
            body = await self._client.get(f"/apis/{group}" if group else "/api")
        except ApiRefusedError as refusal:
            if is_missing(refusal):
                return []
            raise
        try:
            return _group_versions(_GROUP.decode(body)) if group else _CORE_VERSIONS.decode(body).versions or []
        except UNREADABLE_JSON as error:
            raise self._unreadable(f"API group {group or '(core)'}", error) from error

    async def _resources(self, group: str, version: str) -> list[Resource]:
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        try:
            entries = _RESOURCES.decode(await self._client.get(path)).resources or []
        except UNREADABLE_JSON as error:
            raise self._unreadable(path, error) from error
        return [
            Resource(group, version, entry.name, entry.kind, entry.namespaced)
            for entry in entries
            if "/" not in entry.name
        ]

    def _unreadable(self, what: str, error: Exception) -> ApiUnreachableError:
        return ApiUnreachableError(
            f"discovery of {what}: API server {self._client.server} answered with something unreadable: {error}; "
            "check that no proxy in between rewrites answers"
        )


def _group_versions(group: _Group) -> list[str]:
    """Versions of a group, the preferred one first."""
    versions = [entry.version for entry in group.versions or ()]
    preferred = group.preferred_version.version if group.preferred_version else ""
    return sorted(versions, key=lambda version: version != preferred)
