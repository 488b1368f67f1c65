{{/* The names that go with an API group, as the processes know them: Evenkeel's own, or upstream's. */}}
{{- define "evenkeel.isOwnGroup" -}}{{ if eq .Values.apiGroup "autoscaling.evenkeel.dev" }}true{{ end }}{{- end }}
{{- define "evenkeel.sharedNamespace" -}}{{ if include "evenkeel.isOwnGroup" . }}{{ .Release.Namespace }}{{ else }}kube-system{{ end }}{{- end }}
{{- define "evenkeel.recommenderLease" -}}{{ if include "evenkeel.isOwnGroup" . }}evenkeel-recommender{{ else }}vpa-recommender-lease{{ end }}{{- end }}
{{- define "evenkeel.updaterLease" -}}{{ if include "evenkeel.isOwnGroup" . }}evenkeel-updater{{ else }}vpa-updater{{ end }}{{- end }}
{{- define "evenkeel.statusLease" -}}{{ if include "evenkeel.isOwnGroup" . }}evenkeel-admission-controller{{ else }}vpa-admission-controller{{ end }}{{- end }}
{{- define "evenkeel.webhookConfiguration" -}}{{ if include "evenkeel.isOwnGroup" . }}evenkeel-webhook-config{{ else }}vpa-webhook-config{{ end }}{{- end }}
{{- define "evenkeel.otherWebhookConfiguration" -}}{{ if include "evenkeel.isOwnGroup" . }}vpa-webhook-config{{ else }}evenkeel-webhook-config{{ end }}{{- end }}
{{- define "evenkeel.webhookService" -}}{{ if include "evenkeel.isOwnGroup" . }}evenkeel-webhook{{ else }}vpa-webhook{{ end }}{{- end }}
{{- define "evenkeel.webhookSecret" -}}{{ if include "evenkeel.isOwnGroup" . }}evenkeel-tls-certs{{ else }}vpa-tls-certs{{ end }}{{- end }}

{{/* Namespace of the Leases in flags: the own one as the pod knows it. */}}
{{- define "evenkeel.leaseNamespace" -}}{{ if include "evenkeel.isOwnGroup" . }}$(NAMESPACE){{ else }}kube-system{{ end }}{{- end }}

{{- define "evenkeel.image" -}}
{{ .Values.image.repository }}{{ if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag }}{{ end }}
{{- end }}
