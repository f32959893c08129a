{{/* The container of Gatehouse, the same in both modes but for who may reach it. */}}

{{- define "gatehouse.args" -}}
- serve
- --kubernetes
- --grpc={{ eq .Values.mode "sidecar" | ternary "unix:/run/gatehouse/gatehouse.sock" "0.0.0.0:18000" }}
- --admin=0.0.0.0:18001
- --admin-token-file=/run/gatehouse-admin/token
- --api-group={{ .Values.apiGroup }}
- --cluster-domain={{ .Values.clusterDomain }}
- --drain-timeout={{ .Values.drainTimeoutSeconds }}s
- --log-level={{ .Values.logLevel }}
{{- with .Values.otlp }}
- --otlp={{ . }}
{{- end }}
{{- if ne .Values.decisionLog "refusals" }}
- --decision-log={{ .Values.decisionLog }}
{{- end }}
{{- if ne (toString .Values.workers) "1" }}
- --workers={{ .Values.workers }}
{{- end }}
{{- if .Values.mesh }}
{{- if or (ne .Values.mode "central") .Values.tls.secretName }}
{{- fail "mesh: expected mode central and no tls.secretName" }}
{{- end }}
- --for={{ .Values.mesh }}
- --connect={{ include "gatehouse.host" . }}:18000
{{- end }}
{{- if eq .Values.mesh "envoy-gateway" }}
- --route-key=envoy-gateway
- --closed=0.0.0.0:18009
{{- end }}
{{- if include "gatehouse.provisions" . }}
- --provision
- --connect={{ include "gatehouse.host" . }}:18000
{{- if include "gatehouse.hasTls" . }}
- --connect-tls={{ include "gatehouse.serverName" . }}
- --connect-ca=/etc/gatehouse/{{ empty .Values.tls.clientSecretName | ternary "tls" "connect" }}/ca.crt
{{- end }}
{{- end }}
{{- if .Values.requirePolicy }}
- --require-policy
{{- end }}
{{- with .Values.statusLease }}
- --status-lease={{ . }}
{{- end }}
{{- range .Values.namespaces }}
- --namespace={{ . }}
{{- end }}
{{- if and (eq .Values.mode "sidecar") (not .Values.sidecar.gateway) }}
- --shared-envoys
{{- end }}
{{- if include "gatehouse.hasTls" . }}
- --grpc-tls-cert=/etc/gatehouse/tls/tls.crt
- --grpc-tls-key=/etc/gatehouse/tls/tls.key
- --grpc-client-ca=/etc/gatehouse/tls/ca.crt
{{- end }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Not empty: the gRPC address speaks mutual TLS. A socket that two containers share needs none. */}}
{{- define "gatehouse.hasTls" -}}
{{- if and .Values.tls.secretName (eq .Values.mode "central") -}}yes{{- end -}}
{{- end -}}

{{/* Not empty: the authority by which created Envoys check Gatehouse's certificate is in the Envoys' own Secret. */}}
{{- define "gatehouse.hasConnectCa" -}}
{{- if and (include "gatehouse.provisions" .) (include "gatehouse.hasTls" .) .Values.tls.clientSecretName -}}yes{{- end -}}
{{- end -}}

{{- define "gatehouse.container" -}}
name: gatehouse
image: {{ include "gatehouse.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
args:
  {{- include "gatehouse.args" . | nindent 2 }}
env:
  # Who it is among its replicas, and where their Lease stands.
  - name: POD_NAME
    valueFrom: { fieldRef: { fieldPath: metadata.name } }
  - name: POD_NAMESPACE
    valueFrom: { fieldRef: { fieldPath: metadata.namespace } }
  - name: LEASE_NAME
    value: {{ include "gatehouse.fullname" . }}
  {{- with .Values.extraEnv }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
ports:
  {{- if eq .Values.mode "central" }}
  - { name: grpc, containerPort: 18000 }
  {{- end }}
  {{- if eq .Values.mesh "envoy-gateway" }}
  - { name: closed, containerPort: 18009 }
  {{- end }}
  - { name: admin, containerPort: 18001 }
# Ready: everything was read once and is published.
readinessProbe:
  httpGet: { path: /readyz, port: admin }
  periodSeconds: 2
livenessProbe:
  httpGet: { path: /healthz, port: admin }
  periodSeconds: 10
  timeoutSeconds: 5
# A slow start is no reason to begin again.
startupProbe:
  httpGet: { path: /healthz, port: admin }
  periodSeconds: 1
  failureThreshold: 60
resources: {{- toYaml .Values.resources | nindent 2 }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  {{- include "gatehouse.containerSecurity" . | nindent 2 }}
volumeMounts:
  # The token of the status page, made anew by each pod.
  - { name: admin-token, mountPath: /run/gatehouse-admin }
  {{- if eq .Values.mode "sidecar" }}
  - { name: grpc, mountPath: /run/gatehouse }
  {{- end }}
  {{- if include "gatehouse.hasTls" . }}
  - { name: tls, mountPath: /etc/gatehouse/tls, readOnly: true }
  {{- end }}
  {{- if include "gatehouse.hasConnectCa" . }}
  - { name: connect, mountPath: /etc/gatehouse/connect, readOnly: true }
  {{- end }}
{{- end -}}

{{/* In memory, and small: a socket or a token. */}}
{{- define "gatehouse.emptyVolume" -}}
emptyDir: { medium: Memory, sizeLimit: 1Mi }
{{- end -}}
