"""Which fields the messages have that Go programs write as protobuf: name, number and type, as on the wire."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

_FIELD = re.compile(r"(\w+)=(\d+):(\w+)([?*%^]?)")


class Shape(Enum):
    """How a field's value appears in JSON."""

    PLAIN = ""
    """A single value; zero and empty ones are left out, as Go writes every field that is no pointer."""

    POINTER = "?"
    """A single value that means something even when it is zero."""

    LIST = "*"
    """A list of values."""

    MAP = "%"
    """Values by text."""

    INLINE = "^"
    """A message whose fields stand among those of the message around it."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of one message.

    Args:
        name: Name in JSON.
        number: Number on the wire.
        type: Scalar type of protobuf, or the name of a message.
        shape: How its value appears.
    """

    name: str
    number: int
    type: str
    shape: Shape


ROOTS: dict[tuple[str, str], str] = {
    ("v1", "Event"): "Event",
    ("v1", "Binding"): "Binding",
    ("events.k8s.io/v1", "Event"): "NewEvent",
    ("coordination.k8s.io/v1", "Lease"): "Lease",
    ("policy/v1", "Eviction"): "Eviction",
    ("autoscaling/v1", "Scale"): "Scale",
    ("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"): "MutatingWebhookConfiguration",
    ("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"): "ValidatingWebhookConfiguration",
    ("authorization.k8s.io/v1", "SelfSubjectAccessReview"): "SelfSubjectAccessReview",
    ("authorization.k8s.io/v1", "SubjectAccessReview"): "SubjectAccessReview",
    ("authorization.k8s.io/v1", "SelfSubjectRulesReview"): "SelfSubjectRulesReview",
    ("authentication.k8s.io/v1", "SelfSubjectReview"): "SelfSubjectReview",
    ("authentication.k8s.io/v1", "TokenReview"): "TokenReview",
    ("authentication.k8s.io/v1", "TokenRequest"): "TokenRequest",
}
"""Message by apiVersion and kind of the whole objects that are read."""

OPTIONS_KIND = "DeleteOptions"
"""Read in whatever group a client names."""

_ENVELOPE = {
    "Unknown": "typeMeta=1:TypeMeta raw=2:bytes contentEncoding=3:string contentType=4:string",
    "TypeMeta": "apiVersion=1:string kind=2:string",
}
_META = {
    "ObjectMeta": "name=1:string generateName=2:string namespace=3:string uid=5:string resourceVersion=6:string"
    " generation=7:int64 creationTimestamp=8:Time deletionTimestamp=9:Time? deletionGracePeriodSeconds=10:int64?"
    " labels=11:string% annotations=12:string% ownerReferences=13:OwnerReference* finalizers=14:string*"
    " managedFields=17:ManagedFieldsEntry*",
    "OwnerReference": "kind=1:string name=3:string uid=4:string apiVersion=5:string controller=6:bool?"
    " blockOwnerDeletion=7:bool?",
    "ManagedFieldsEntry": "manager=1:string operation=2:string apiVersion=3:string time=4:Time? fieldsType=6:string"
    " fieldsV1=7:FieldsV1? subresource=8:string",
    "FieldsV1": "Raw=1:bytes",
    "Time": "seconds=1:int64 nanos=2:int32",
    "MicroTime": "seconds=1:int64 nanos=2:int32",
    "DeleteOptions": "gracePeriodSeconds=1:int64? preconditions=2:Preconditions? orphanDependents=3:bool?"
    " propagationPolicy=4:string? dryRun=5:string* ignoreStoreReadErrorWithClusterBreakingPotential=6:bool?",
    "Preconditions": "uid=1:string? resourceVersion=2:string?",
    "LabelSelector": "matchLabels=1:string% matchExpressions=2:LabelSelectorRequirement*",
    "LabelSelectorRequirement": "key=1:string operator=2:string values=3:string*",
}
_CORE = {
    "Event": "metadata=1:ObjectMeta involvedObject=2:ObjectReference reason=3:string message=4:string"
    " source=5:EventSource firstTimestamp=6:Time lastTimestamp=7:Time count=8:int32 type=9:string"
    " eventTime=10:MicroTime series=11:EventSeries? action=12:string related=13:ObjectReference?"
    " reportingComponent=14:string reportingInstance=15:string",
    "EventSource": "component=1:string host=2:string",
    "EventSeries": "count=1:int32 lastObservedTime=2:MicroTime",
    "NewEvent": "metadata=1:ObjectMeta eventTime=2:MicroTime series=3:EventSeries? reportingController=4:string"
    " reportingInstance=5:string action=6:string reason=7:string regarding=8:ObjectReference"
    " related=9:ObjectReference? note=10:string type=11:string deprecatedSource=12:EventSource"
    " deprecatedFirstTimestamp=13:Time deprecatedLastTimestamp=14:Time deprecatedCount=15:int32",
    "ObjectReference": "kind=1:string namespace=2:string name=3:string uid=4:string apiVersion=5:string"
    " resourceVersion=6:string fieldPath=7:string",
    "Binding": "metadata=1:ObjectMeta target=2:ObjectReference",
    "Lease": "metadata=1:ObjectMeta spec=2:LeaseSpec",
    "LeaseSpec": "holderIdentity=1:string? leaseDurationSeconds=2:int32? acquireTime=3:MicroTime?"
    " renewTime=4:MicroTime? leaseTransitions=5:int32? strategy=6:string? preferredHolder=7:string?",
    "Eviction": "metadata=1:ObjectMeta deleteOptions=2:DeleteOptions?",
    "Scale": "metadata=1:ObjectMeta spec=2:ScaleSpec status=3:ScaleStatus",
    "ScaleSpec": "replicas=1:int32?",
    "ScaleStatus": "replicas=1:int32? selector=2:string",
}
_WEBHOOKS = {
    "MutatingWebhookConfiguration": "metadata=1:ObjectMeta webhooks=2:MutatingWebhook*",
    "MutatingWebhook": "name=1:string clientConfig=2:WebhookClientConfig rules=3:RuleWithOperations*"
    " failurePolicy=4:string? namespaceSelector=5:LabelSelector? sideEffects=6:string? timeoutSeconds=7:int32?"
    " admissionReviewVersions=8:string* matchPolicy=9:string? reinvocationPolicy=10:string?"
    " objectSelector=11:LabelSelector? matchConditions=12:MatchCondition*",
    "ValidatingWebhookConfiguration": "metadata=1:ObjectMeta webhooks=2:ValidatingWebhook*",
    "ValidatingWebhook": "name=1:string clientConfig=2:WebhookClientConfig rules=3:RuleWithOperations*"
    " failurePolicy=4:string? namespaceSelector=5:LabelSelector? sideEffects=6:string? timeoutSeconds=7:int32?"
    " admissionReviewVersions=8:string* matchPolicy=9:string? objectSelector=10:LabelSelector?"
    " matchConditions=11:MatchCondition*",
    "WebhookClientConfig": "service=1:ServiceReference? caBundle=2:bytes url=3:string?",
    "ServiceReference": "namespace=1:string name=2:string path=3:string? port=4:int32?",
    "RuleWithOperations": "operations=1:string* rule=2:Rule^",
    "Rule": "apiGroups=1:string* apiVersions=2:string* resources=3:string* scope=4:string?",
    "MatchCondition": "name=1:string expression=2:string",
}
_ACCESS = {
    "SelfSubjectAccessReview": "metadata=1:ObjectMeta spec=2:SelfSubjectAccessReviewSpec",
    "SelfSubjectAccessReviewSpec": "resourceAttributes=1:ResourceAttributes?"
    " nonResourceAttributes=2:NonResourceAttributes?",
    "SubjectAccessReview": "metadata=1:ObjectMeta spec=2:SubjectAccessReviewSpec",
    "SubjectAccessReviewSpec": "resourceAttributes=1:ResourceAttributes? nonResourceAttributes=2:NonResourceAttributes?"
    " user=3:string groups=4:string* extra=5:ExtraValue% uid=6:string",
    "ExtraValue": "items=1:string*",
    "ResourceAttributes": "namespace=1:string verb=2:string group=3:string version=4:string resource=5:string"
    " subresource=6:string name=7:string",
    "NonResourceAttributes": "path=1:string verb=2:string",
    "SelfSubjectRulesReview": "metadata=1:ObjectMeta spec=2:SelfSubjectRulesReviewSpec",
    "SelfSubjectRulesReviewSpec": "namespace=1:string",
    "SelfSubjectReview": "metadata=1:ObjectMeta",
    "TokenReview": "metadata=1:ObjectMeta spec=2:TokenReviewSpec",
    "TokenReviewSpec": "token=1:string audiences=2:string*",
    "TokenRequest": "metadata=1:ObjectMeta spec=2:TokenRequestSpec",
    "TokenRequestSpec": "audiences=1:string* boundObjectRef=3:BoundObjectReference? expirationSeconds=4:int64?",
    "BoundObjectReference": "kind=1:string apiVersion=2:string name=3:string uid=4:string",
}


def _parsed(fields: str) -> tuple[Field, ...]:
    """Return the fields that one line of the tables lists."""
    return tuple(Field(name, int(number), kind, Shape(shape)) for name, number, kind, shape in _FIELD.findall(fields))


MESSAGES: dict[str, tuple[Field, ...]] = {
    name: _parsed(fields) for group in (_ENVELOPE, _META, _CORE, _WEBHOOKS, _ACCESS) for name, fields in group.items()
}
"""Fields by message name."""
