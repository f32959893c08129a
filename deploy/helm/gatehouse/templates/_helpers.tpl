{{/* Names, labels and the parts that pods share. */}}

{{- define "gatehouse.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains "gatehouse" .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-gatehouse" (.Release.Name | trunc 30 | trimSuffix "-") -}}
{{- end -}}
{{- end -}}

{{/* Of what stands in no namespace: releases of several namespaces may have one name. */}}
{{- define "gatehouse.clusterName" -}}
{{- printf "%s:%s" .Release.Namespace (include "gatehouse.fullname" .) -}}
{{- end -}}

{{/* Of the pods with Gatehouse. */}}
{{- define "gatehouse.selector" -}}
app.kubernetes.io/name: gatehouse
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: gatehouse
{{- end -}}

{{- define "gatehouse.labels" -}}
app.kubernetes.io/name: gatehouse
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "gatehouse.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag | default $.Chart.AppVersion }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* A value of earlier versions is the whole reference. */}}
{{- define "gatehouse.envoyImage" -}}
{{- with .Values.envoy.image -}}
{{- if kindIs "string" . -}}
{{ . }}
{{- else if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag }}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* What the gRPC address is called by Envoys of other pods. */}}
{{- define "gatehouse.host" -}}
{{- printf "%s.%s.svc.%s" (include "gatehouse.fullname" .) .Release.Namespace .Values.clusterDomain -}}
{{- end -}}

{{- define "gatehouse.serverName" -}}
{{- .Values.tls.serverName | default (printf "%s.%s.svc" (include "gatehouse.fullname" .) .Release.Namespace) -}}
{{- end -}}

{{/* Of every container. */}}
{{- define "gatehouse.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end -}}

{{/* Of every pod; takes a dict of root and selector. */}}
{{- define "gatehouse.placement" -}}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
{{- with .root.Values.spreadOver }}
topologySpreadConstraints:
  {{- range . }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- $.selector | nindent 8 }}
  {{- end }}
{{- end }}
{{- with .root.Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{/* Everywhere but to what a cloud tells its machines. */}}
{{- define "gatehouse.egress" -}}
- to:
    - namespaceSelector: {}
    - ipBlock: { cidr: 0.0.0.0/0, except: {{ toJson .Values.networkPolicy.egressExcept }} }
    - ipBlock: { cidr: "::/0", except: {{ toJson .Values.networkPolicy.egressExceptIpv6 }} }
{{- end -}}
