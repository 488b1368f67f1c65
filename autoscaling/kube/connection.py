"""Where the API server is and how to prove who we are: kubeconfig or the pod's service account."""

from __future__ import annotations

import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import aiohttp
import msgspec
import yaml
from kubernetes.aio.client.configuration import Configuration
from kubernetes.aio.client.rest import RESTClientObject
from kubernetes.aio.config import ConfigException, load_kube_config
from kubernetes.aio.config.incluster_config import InClusterConfigLoader
from kubernetes.aio.config.kube_config import KubeConfigLoader

from autoscaling.errors import ConfigurationError
from autoscaling.kube.pacing import SYSTEM_PACING, Pacing

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_BUFFER_BYTES = 2**21

IDLE_SECONDS = 90.0
"""How long an idle connection is kept: over the pause between two rounds of a minute."""

RENEWAL_SECONDS = 60.0
"""How often a token that may change is looked at again."""

_LOADING_ERRORS = (ConfigException, OSError, ValueError, KeyError, TypeError, AttributeError)
"""What the kubernetes package raises on a bad kubeconfig: ssl errors are OSErrors, bad base64 is a ValueError."""

Renewal = Callable[[Configuration], Awaitable[None]]


class _User(msgspec.Struct, rename="kebab"):
    exec: dict[str, object] | None = None
    auth_provider: dict[str, object] | None = None
    token_file: str = msgspec.field(default="", name="tokenFile")


class _NamedUser(msgspec.Struct):
    name: str
    user: _User | None = None


class _Cluster(msgspec.Struct):
    server: str = ""


class _NamedCluster(msgspec.Struct):
    name: str
    cluster: _Cluster = msgspec.field(default_factory=_Cluster)


class _Context(msgspec.Struct):
    cluster: str = ""
    user: str = ""
    namespace: str = ""


class _NamedContext(msgspec.Struct):
    name: str
    context: _Context = msgspec.field(default_factory=_Context)


class _Kubeconfig(msgspec.Struct, rename="kebab"):
    current_context: str = ""
    clusters: list[_NamedCluster] | None = None
    contexts: list[_NamedContext] | None = None
    users: list[_NamedUser] | None = None


class _Pool(RESTClientObject):
    """The package's connection pool, made to notice dead peers and to hand out its session."""

    def _create_connector(self) -> aiohttp.TCPConnector:
        # As many connections as there are calls under way: whoever makes calls side by side bounds them, and a Lease
        # must not wait for them.
        return aiohttp.TCPConnector(
            limit=0,
            ssl=self.ssl_context,
            keepalive_timeout=IDLE_SECONDS,
            socket_factory=_watched_socket,
        )

    def _create_pool_manager(self) -> aiohttp.ClientSession:
        # The library would look for proxies and into .netrc at every request, in threads that take longer than the
        # request itself; proxies are looked for once, and .netrc knows nothing of API servers.
        return aiohttp.ClientSession(connector=self._create_connector(), trust_env=False, read_bufsize=_BUFFER_BYTES)

    def session(self) -> aiohttp.ClientSession:
        """The one session of this pool; opened on first use, because it belongs to the running loop."""
        if self.pool_manager is None:
            self.pool_manager = self._create_pool_manager()
        return self.pool_manager


def _watched_socket(address: aiohttp.AddrInfoType) -> socket.socket:
    """Open a socket on which the kernel notices a dead peer within a minute: a live watch may be silent for longer."""
    opened = socket.socket(family=address[0], type=address[1], proto=address[2])
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            opened.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return opened


class Connection:
    """One API server, one identity, one pool of connections.

    Args:
        configuration: As the kubernetes package loaded it.
        renewal: Reads credentials again; None when they never change or renew themselves.
        pacing: Clock for the renewals.
        periodic: Whether to renew every minute, or only when the server turned the credentials down.

    Raises:
        ConfigurationError: Certificates that cannot be loaded.
    """

    def __init__(
        self,
        configuration: Configuration,
        renewal: Renewal | None = None,
        pacing: Pacing = SYSTEM_PACING,
        *,
        periodic: bool = True,
    ) -> None:
        self._configuration = configuration
        self._renewal = renewal
        self._pacing = pacing
        self._periodic = periodic
        self._renewed = pacing.monotonic()
        self._proxy = configuration.proxy or _proxy_of_environment(configuration.host)
        self._pool = _pool_of(configuration)
        self._outdated: list[_Pool] = []

    @property
    def server(self) -> str:
        """Address of the API server."""
        return self._configuration.host

    @property
    def session(self) -> aiohttp.ClientSession:
        """The pool of connections; must be used inside the running loop."""
        return self._pool.session()

    @property
    def proxy(self) -> str | None:
        """Proxy named by the kubeconfig, else by the environment variables of proxies as they were at the start."""
        return self._proxy

    @property
    def tls_server_name(self) -> str | None:
        """Name the server's certificate must carry, where it differs from the address."""
        return self._configuration.tls_server_name

    async def authorization(self) -> str:
        """The Authorization header, renewed when due; empty when a client certificate speaks for us.

        Raises:
            ConfigurationError: The token's source can no longer be read.
        """
        if self._renewal is not None and self._periodic and self._pacing.monotonic() - self._renewed >= RENEWAL_SECONDS:
            await self.renew()
        settings = await self._configuration.auth_settings()
        token = settings.get("BearerToken")
        return (token["value"] or "").strip() if token else ""

    async def renew(self) -> bool:
        """Read the credentials again.

        Returns:
            Whether there was anything to read again.

        Raises:
            ConfigurationError: The kubeconfig, or what it points at, can no longer be used.
        """
        if self._renewal is None:
            return False
        certificate = self._configuration.cert_file
        await self._renewal(self._configuration)
        self._renewed = self._pacing.monotonic()
        if self._configuration.cert_file != certificate:
            # Calls that are under way keep the old connections until close().
            self._outdated.append(self._pool)
            self._pool = _pool_of(self._configuration)
        return True

    async def close(self) -> None:
        """Close every connection."""
        for pool in (*self._outdated, self._pool):
            await pool.close()


def _proxy_of_environment(server: str) -> str | None:
    """Return the proxy that HTTPS_PROXY, HTTP_PROXY and NO_PROXY name for a server."""
    try:
        address = urlsplit(server)
    except ValueError as error:
        raise ConfigurationError(
            f"API server {server}: is no address: {error}; correct clusters[].cluster.server"
        ) from error
    if not address.hostname or proxy_bypass(address.hostname):
        return None
    return getproxies().get(address.scheme)


def _pool_of(configuration: Configuration) -> _Pool:
    try:
        return _Pool(configuration)
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"API server {configuration.host}: the certificates to reach it cannot be loaded: {error}; "
            "check certificate-authority, client-certificate and client-key"
        ) from error


async def connect(
    kubeconfig: str = "",
    environment: Mapping[str, str] | None = None,
    service_account: Path = SERVICE_ACCOUNT,
    pacing: Pacing = SYSTEM_PACING,
    *,
    context: str = "",
) -> Connection:
    """Load configuration and credentials.

    Args:
        kubeconfig: Value of ``--kubeconfig``; empty means the pod's service account.
        environment: Where ``KUBERNETES_SERVICE_HOST`` and ``_PORT`` are looked up; the process's own by default.
        service_account: Folder with the pod's token and certificate authority.
        pacing: Clock for renewing tokens.
        context: Of the kubeconfig's contexts; empty for its current one.

    Raises:
        ConfigurationError: Anything that keeps the configuration from being used.
    """
    if kubeconfig:
        return await _from_file(Path(kubeconfig), context, pacing)
    return _from_pod(os.environ if environment is None else environment, service_account, pacing)


def _from_pod(environment: Mapping[str, str], service_account: Path, pacing: Pacing) -> Connection:
    configuration = Configuration()
    # The package would read the token again by itself, but by a clock of its own and never at the server's word.
    loader = InClusterConfigLoader(  # type: ignore[no-untyped-call]
        token_filename=str(service_account / "token"),
        cert_filename=str(service_account / "ca.crt"),
        try_refresh_token=False,
        environ=environment,
    )

    async def renew(configuration: Configuration) -> None:
        try:
            loader.load_and_set(configuration)  # type: ignore[no-untyped-call]
        except _LOADING_ERRORS as error:
            raise ConfigurationError(
                f"the service account's token in {service_account} could not be renewed: {error}; "
                "check the pod's projected token volume"
            ) from error

    try:
        loader.load_and_set(configuration)  # type: ignore[no-untyped-call]
    except _LOADING_ERRORS as error:
        raise ConfigurationError(
            f"--kubeconfig is empty, and this process does not look like a pod of a cluster: {error}; "
            "give --kubeconfig, or run in a pod with a mounted service account token"
        ) from error
    return Connection(configuration, renew, pacing)


@dataclass(frozen=True, slots=True)
class _Source:
    """What the kubeconfig's chosen context says about its credentials."""

    has_plugin: bool
    may_change: bool


async def _from_file(path: Path, context: str, pacing: Pacing) -> Connection:
    source = _inspect(path, context)
    configuration = Configuration()
    try:
        loader = await load_kube_config(  # type: ignore[no-untyped-call]
            config_file=str(path), context=context or None, client_configuration=configuration, persist_config=False
        )
    except _LOADING_ERRORS as error:
        raise ConfigurationError(
            f"--kubeconfig {path}: {error}; correct the file, `kubectl config view` shows how kubectl reads it"
        ) from error
    if source.has_plugin and not configuration.api_key and not configuration.cert_file:
        raise ConfigurationError(
            f"--kubeconfig {path}: the exec plugin of the context's user gave no credentials; "
            "run its command by hand to see why"
        )
    renewal = _renewal_of(loader, path) if source.may_change else None
    # A plugin that names no expiry keeps its answer until the server turns it down.
    periodic = not source.has_plugin or hasattr(loader, "exec_plugin_expiry")
    return Connection(configuration, renewal, pacing, periodic=periodic)


def _renewal_of(loader: KubeConfigLoader, path: Path) -> Renewal:
    async def renew(configuration: Configuration) -> None:
        try:
            await loader.load_and_set(configuration)  # type: ignore[no-untyped-call]
        except _LOADING_ERRORS as error:
            raise ConfigurationError(
                f"--kubeconfig {path}: the credentials could not be renewed: {error}; log in again"
            ) from error

    return renew


def namespace_of(kubeconfig: str, context: str = "") -> str:
    """Return the namespace that a kubeconfig's context prefers, empty where it names none.

    Args:
        kubeconfig: Path of the file.
        context: One of its contexts; empty for the current one.

    Raises:
        ConfigurationError: The file cannot be read or has no such context.
    """
    path = Path(kubeconfig)
    return _chosen(_parse(path), path, context).namespace


def _chosen(document: _Kubeconfig, path: Path, name: str) -> _Context:
    """Return a context by its name, the current one where none is given."""
    wanted = name or document.current_context
    context = next((entry.context for entry in document.contexts or () if entry.name == wanted), None)
    if context is None and name:
        known = ", ".join(sorted(entry.name for entry in document.contexts or ())) or "none"
        raise ConfigurationError(f"--kubeconfig {path}: has no context {name!r}; its contexts are: {known}")
    if context is None:
        raise ConfigurationError(
            f"--kubeconfig {path}: current-context {document.current_context!r} is not among its contexts; "
            "`kubectl config use-context` sets it"
        )
    return context


def _inspect(path: Path, name: str) -> _Source:
    """Read the kubeconfig far enough to say what is missing, where the package would stumble over it."""
    document = _parse(path)
    context = _chosen(document, path, name)
    cluster = next((entry.cluster for entry in document.clusters or () if entry.name == context.cluster), None)
    if cluster is None or not cluster.server.startswith(("http://", "https://")):
        raise ConfigurationError(
            f"--kubeconfig {path}: cluster {context.cluster!r} of the context has no server address; "
            "set clusters[].cluster.server"
        )
    user = next((entry.user or _User() for entry in document.users or () if entry.name == context.user), None)
    if user is None:
        raise ConfigurationError(
            f"--kubeconfig {path}: user {context.user!r} of the context is not among its users; add it to users"
        )
    has_plugin = user.exec is not None
    return _Source(has_plugin, may_change=has_plugin or user.auth_provider is not None or bool(user.token_file))


def _parse(path: Path) -> _Kubeconfig:
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not text"
        raise ConfigurationError(
            f"--kubeconfig {path}: cannot be read: {reason}; give a kubeconfig file, or leave the flag empty in a pod"
        ) from error
    try:
        return msgspec.convert(yaml.safe_load(text), _Kubeconfig)
    except (yaml.YAMLError, msgspec.ValidationError, ValueError, TypeError, RecursionError) as error:
        raise ConfigurationError(
            f"--kubeconfig {path}: is no kubeconfig: {' '.join(str(error).split())}; correct the file"
        ) from error
