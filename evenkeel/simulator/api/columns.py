"""The columns of every kind's table; of custom kinds those that their definitions name."""

from __future__ import annotations

from collections.abc import Callable

from evenkeel.simulator.api.builtin import BUDGETS, EVENTS, PODS, RBAC
from evenkeel.simulator.api.cluster_columns import (
    BINDING_COLUMNS,
    BUDGET_COLUMNS,
    EVENT_COLUMNS,
    NAMESPACE_COLUMNS,
    NODE_COLUMNS,
    OTHER_COLUMNS,
    QUOTA_COLUMNS,
    SERVICE_COLUMNS,
)
from evenkeel.simulator.api.fields import as_object
from evenkeel.simulator.api.jsonpath import JsonPath
from evenkeel.simulator.api.kinds import GroupResource, Kind, PrinterColumn
from evenkeel.simulator.api.pod_columns import POD_COLUMNS
from evenkeel.simulator.api.tables import AGE, CREATED, NAME, Column, Shown, printed_value
from evenkeel.simulator.api.workload_columns import (
    AUTOSCALER_COLUMNS,
    CRON_JOB_COLUMNS,
    DAEMON_SET_COLUMNS,
    DEPLOYMENT_COLUMNS,
    JOB_COLUMNS,
    REPLICA_SET_COLUMNS,
    REVISION_COLUMNS,
    STATEFUL_SET_COLUMNS,
)

_BUILTIN: dict[GroupResource, tuple[Column, ...]] = {
    PODS: POD_COLUMNS,
    EVENTS: EVENT_COLUMNS,
    BUDGETS: BUDGET_COLUMNS,
    GroupResource("", "nodes"): NODE_COLUMNS,
    GroupResource("", "namespaces"): NAMESPACE_COLUMNS,
    GroupResource("", "services"): SERVICE_COLUMNS,
    GroupResource("", "resourcequotas"): QUOTA_COLUMNS,
    GroupResource("", "replicationcontrollers"): REPLICA_SET_COLUMNS,
    GroupResource("apps", "deployments"): DEPLOYMENT_COLUMNS,
    GroupResource("apps", "replicasets"): REPLICA_SET_COLUMNS,
    GroupResource("apps", "statefulsets"): STATEFUL_SET_COLUMNS,
    GroupResource("apps", "daemonsets"): DAEMON_SET_COLUMNS,
    GroupResource("apps", "controllerrevisions"): REVISION_COLUMNS,
    GroupResource("batch", "jobs"): JOB_COLUMNS,
    GroupResource("batch", "cronjobs"): CRON_JOB_COLUMNS,
    GroupResource("autoscaling", "horizontalpodautoscalers"): AUTOSCALER_COLUMNS,
    GroupResource(RBAC, "clusterrolebindings"): BINDING_COLUMNS,
    GroupResource(RBAC, "rolebindings"): BINDING_COLUMNS,
    **OTHER_COLUMNS,
}
_DEFAULT = (NAME, CREATED)


def columns_of(kind: Kind) -> tuple[Column, ...]:
    """Return the columns of a kind's table."""
    if not kind.is_custom:
        return _BUILTIN.get(kind.resource, _DEFAULT)
    if not kind.printer_columns:
        return (NAME, Column("Age", AGE.cell, type="date"))
    return (NAME, *(_custom(column) for column in kind.printer_columns))


def _custom(column: PrinterColumn) -> Column:
    """Return a column that a definition names."""
    return Column(column.name, _found(column.path, column.type), column.type, column.priority, column.format)


def _found(path: JsonPath, kind: str) -> Callable[[Shown], object]:
    """Return the maker of the cells that show what a path finds."""
    return lambda shown: printed_value(path.first(as_object(shown.body)), kind, shown.now)
