"""What keeps a collection from being followed, in words that name the way out."""

from __future__ import annotations

from dataclasses import dataclass

from autoscaling.errors import ApiError, ApiRefusedError
from autoscaling.kube.paths import Selection
from autoscaling.kube.refusals import FORBIDDEN, NOT_FOUND, UNAUTHORIZED


@dataclass(frozen=True, slots=True)
class Trouble:
    """One failure to list or watch; the next try follows by itself.

    Args:
        selection: What could not be followed.
        error: Why not, with the way out.
        consecutive: How many failures in a row this makes.
        retry_seconds: When the next try comes.
    """

    selection: Selection
    error: ApiError
    consecutive: int
    retry_seconds: float


def explain(selection: Selection, error: ApiError) -> ApiError:
    """Add the way out to a refusal that an administrator can do something about.

    Args:
        selection: What was listed or watched.
        error: What came instead; anything but a refusal explains itself and is returned unchanged.
    """
    if not isinstance(error, ApiRefusedError):
        return error
    remedy = _remedy(selection, error.code)
    if not remedy:
        return error
    return ApiRefusedError(
        error.request,
        error.code,
        reason=error.reason,
        message=f"{error.message or 'no explanation was given'}; {remedy}",
        causes=error.causes,
        retry_after_seconds=error.retry_after_seconds,
    )


def _remedy(selection: Selection, code: int) -> str:
    resource = selection.resource
    if code == FORBIDDEN:
        where = f" in namespace {selection.namespace}" if selection.namespace else " in the whole cluster"
        group = resource.group or '""'
        return (
            f"grant this process's service account the verbs list and watch on resource {resource.plural} "
            f"of API group {group}{where} (the roles under manifests/rbac do)"
        )
    if code == NOT_FOUND and not resource.plural.startswith("verticalpodautoscaler"):
        return f"the API server does not serve {resource.title} in version {resource.version}: it may be too old"
    if code == NOT_FOUND:
        return (
            f"the API server does not serve {resource.title} in version {resource.version}: install the "
            f"CustomResourceDefinition {resource.title} (under manifests/crd), or correct --api-group"
        )
    if code == UNAUTHORIZED:
        return "the server does not accept this process's credentials: renew the token or the client certificate"
    return ""
