{{/*
Deployment, metrics Service and PodDisruptionBudget of one process. Takes a dict: root (the chart's context), process
(the part of its name that is its own), values, port (of its metrics) and args; serves is true for the webhook's server.
*/}}
{{- define "evenkeel.process" }}
{{- $name := printf "evenkeel-%s" .process }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ $name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    app.kubernetes.io/name: {{ $name }}
    app.kubernetes.io/part-of: evenkeel
spec:
  replicas: {{ .values.replicas }}
  selector:
    matchLabels:
      app.kubernetes.io/name: {{ $name }}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: {{ $name }}
      {{- with .values.podAnnotations }}
      annotations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ $name }}
      automountServiceAccountToken: true
      {{- with .root.Values.image.pullSecrets }}
      imagePullSecrets:
        {{- range . }}
        - name: {{ . }}
        {{- end }}
      {{- end }}
      {{- with .values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      {{- with .values.nodeSelector }}
      nodeSelector:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.tolerations }}
      tolerations:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.affinity }}
      affinity:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        fsGroup: 65532
        seccompProfile:
          type: RuntimeDefault
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              app.kubernetes.io/name: {{ $name }}
      containers:
        - name: {{ .process }}
          image: {{ include "evenkeel.image" .root | quote }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          command: [{{ $name }}]
          args:
            {{- range concat .args .values.extraArgs }}
            - {{ . | quote }}
            {{- end }}
          env:
            - name: NAMESPACE
              valueFrom:
                fieldRef:
                  fieldPath: metadata.namespace
          ports:
            {{- if .serves }}
            - name: webhook
              containerPort: 8000
            {{- end }}
            - name: metrics
              containerPort: {{ .port }}
          livenessProbe:
            httpGet:
              path: /health-check
              port: metrics
            initialDelaySeconds: 5
            periodSeconds: 10
            timeoutSeconds: 5
          readinessProbe:
            httpGet:
              path: /readyz
              port: metrics
            periodSeconds: 5
            timeoutSeconds: 5
          resources:
            {{- toYaml .values.resources | nindent 12 }}
          securityContext:
            allowPrivilegeEscalation: false
            readOnlyRootFilesystem: true
            capabilities:
              drop: [ALL]
          {{- if .serves }}
          volumeMounts:
            - name: certificates
              mountPath: /etc/tls-certs
              readOnly: true
            # A private key that was just made is loaded from here; it never reaches a disk.
            - name: memory
              mountPath: /tmp
          {{- end }}
      {{- if .serves }}
      volumes:
        - name: certificates
          secret:
            secretName: {{ include "evenkeel.webhookSecret" .root }}
            defaultMode: 0440
        - name: memory
          emptyDir:
            medium: Memory
            sizeLimit: 8Mi
      {{- end }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ $name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    app.kubernetes.io/name: {{ $name }}
    app.kubernetes.io/part-of: evenkeel
spec:
  # Without a cluster address: every replica is read for its metrics, none stands for the others.
  clusterIP: None
  selector:
    app.kubernetes.io/name: {{ $name }}
  ports:
    - name: metrics
      port: {{ .port }}
      targetPort: metrics
{{- if .values.podDisruptionBudget }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ $name }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    app.kubernetes.io/part-of: evenkeel
spec:
  maxUnavailable: 1
  # A pod that is not ready serves nobody, so it never holds up a drain.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      app.kubernetes.io/name: {{ $name }}
{{- end }}
{{- end }}
