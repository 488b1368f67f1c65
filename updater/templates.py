"""What a pod's controller has in its template, which a new pod begins with (updater K-17)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from autoscaling.asked_resources import asked_template
from autoscaling.behaviour import Behaviour
from autoscaling.limit_range_check import completed
from autoscaling.limitrange import LimitRangeItem
from autoscaling.objectref import ObjectRef
from autoscaling.pod import Pod
from autoscaling.policy import container_policy, controlled_values
from autoscaling.resources import CONTROLLED, ContainerResources
from autoscaling.target_resources import NOTHING
from autoscaling.vpa import ControlledValues, Vpa
from autoscaling.workload import NO_TEMPLATE, Template, Workload


def template_of(pod: Pod, group: ObjectRef, workloads: Mapping[ObjectRef, Workload], behaviour: Behaviour) -> Template:
    """Return what the template of a pod's direct controller asks for, empty where nobody asks or knows.

    Where the controller does not tell, as one of a kind of its own, the pod may say itself what it asked for.

    Spec: updater K-17, case:46.
    """
    if not behaviour.templates_are_read:
        return NO_TEMPLATE
    workload = workloads.get(group)
    return (workload.template if workload is not None else NO_TEMPLATE) or asked_template(pod)


def made_anew(pod: Pod, template: Template, items: Iterable[LimitRangeItem]) -> Pod:
    """Return the pod that a controller would make in place of one, as the admission controller gets to see it.

    The API server has a container request what it is limited to where it requests nothing, and LimitRanges have filled
    in what is left open. Containers that are not in the template, which something else has put into the pod, are as in
    the pod; those that the template has by now and the pod has not are left out.

    Args:
        template: What the controller's containers ask for; where it is not known they are as in the pod's spec.
        items: Of the LimitRanges of the namespace.

    Spec: updater K-17, resize 1.2, 1.5.
    """
    told = {name: NOTHING.merged_into(resources) for name, resources in template.items()}
    bare = replace(
        pod,
        containers=tuple(replace(c, resources=told.get(c.name, c.resources)) for c in pod.containers),
        init_containers=tuple(replace(c, resources=told.get(c.name, c.resources)) for c in pod.init_containers),
        statuses=(),
        init_statuses=(),
        conditions=(),
        qos_class="",
    )
    return completed(bare, items)


def with_own_ratios(pod: Pod, template: Template, vpa: Vpa, items: Iterable[LimitRangeItem]) -> Pod:
    """Return a pod whose containers have the amounts in force that a limit's ratio to its request is taken from.

    That is the template's where it has a limit, for containers whose limits the VPA scales: so the ratio is that of new
    pods, however often amounts were rounded down or whoever has changed them. A limit that only the pod has cannot be
    taken away and keeps its own ratio; containers without a recommendation and those with ``controlledValues:
    RequestsOnly``, whose limits stay, are as they are.

    Spec: updater K-17, X-2.
    """
    if not template:
        return pod
    made = made_anew(pod, template, items)
    taken: dict[str, ContainerResources] = {}
    for container, new in zip(pod.containers, made.containers, strict=True):
        if container.name in template and _is_scaled(vpa, container.name):
            taken[container.name] = _with_ratios(pod.actual_resources(container), new.resources)
    return replace(
        pod,
        containers=tuple(replace(c, resources=taken.get(c.name, c.resources)) for c in pod.containers),
        statuses=tuple(replace(s, resources=taken.get(s.name, s.resources)) for s in pod.statuses),
    )


def _is_scaled(vpa: Vpa, name: str) -> bool:
    """Say whether a container's limits follow its requests."""
    is_recommended = vpa.recommendation is not None and vpa.recommendation.of(name) is not None
    return is_recommended and controlled_values(container_policy(vpa, name)) is not ControlledValues.REQUESTS_ONLY


def _with_ratios(actual: ContainerResources, new: ContainerResources) -> ContainerResources:
    """Return what is in force with request and limit of others for each resource that has a limit there."""
    names = [name for name in CONTROLLED if not new.limit(name).is_zero()]
    return ContainerResources(
        {**(actual.requests or {}), **{name: new.request(name) for name in names}},
        {**(actual.limits or {}), **{name: new.limit(name) for name in names}},
    )
