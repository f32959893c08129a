{{/* What Gatehouse may do, each with what for. docs/kubernetes.md has the same as a table. */}}

{{/* Whether the Envoys of a mesh connect by TLS, for which its Service gets a BackendTLSPolicy. */}}
{{- define "gatehouse.connectsByTls" -}}
{{- range .Values.extraArgs }}{{ if hasPrefix "--connect-tls" . }}true{{ end }}{{ end }}
{{- end -}}

{{/* In every namespace that is read. */}}
{{- define "gatehouse.namespacedRules" -}}
# Policies and what they refer to.
- apiGroups: [{{ .Values.apiGroup }}]
  resources: [proxypolicies, proxybackends, proxyparameters]
  verbs: [list, watch]
# Whether they are in force, for their authors.
- apiGroups: [{{ .Values.apiGroup }}]
  resources: [proxypolicies/status, proxybackends/status, proxyparameters/status]
  verbs: [update]
# Listeners, routes, TLS towards backends, and who may refer to whom.
- apiGroups: [gateway.networking.k8s.io]
  resources: [gateways, listenersets, httproutes, backendtlspolicies, referencegrants]
  verbs: [list, watch]
# Whether they are in force.
- apiGroups: [gateway.networking.k8s.io]
  resources: [{{ if not .Values.mesh }}gateways/status, listenersets/status, httproutes/status, {{ end }}backendtlspolicies/status]
  verbs: [update]
{{- if eq .Values.mesh "envoy-gateway" }}
# What the Envoys of the mesh need: whether it is in force, and who else claims a route.
- apiGroups: [gateway.envoyproxy.io]
  resources: [clienttrafficpolicies, securitypolicies, envoyextensionpolicies, backendtrafficpolicies]
  verbs: [list, watch, create, patch, delete]
# Gatehouse is a Service, so no Backend is ever made. Nothing is applied until it is known that there is none.
- apiGroups: [gateway.envoyproxy.io]
  resources: [backends]
  verbs: [list, watch]
- apiGroups: [gateway.networking.k8s.io]
  resources: [httproutes, referencegrants{{ if include "gatehouse.connectsByTls" . }}, backendtlspolicies{{ end }}]
  verbs: [create, patch, delete]
{{- end }}
{{- if eq .Values.mesh "istio" }}
# What the gateways of the mesh need.
- apiGroups: [networking.istio.io]
  resources: [envoyfilters]
  verbs: [list, watch, create, patch, delete]
# Who else decides at a Gateway.
- apiGroups: [security.istio.io]
  resources: [authorizationpolicies]
  verbs: [list, watch]
# The routes of the OAuth documents, and a Service without endpoints that they lead to.
- apiGroups: [gateway.networking.k8s.io]
  resources: [httproutes]
  verbs: [create, patch, delete]
- apiGroups: [""]
  resources: [services]
  verbs: [create]
- apiGroups: [""]
  resources: [services]
  resourceNames: [gatehouse-closed]
  verbs: [patch, delete]
{{- end }}
{{- if .Values.mesh }}
# That a policy is no longer enforced.
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
{{- end }}
{{- if include "gatehouse.provisions" . }}
# The Envoys of Gateways, and whether they are ready.
- apiGroups: [apps]
  resources: [deployments]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [serviceaccounts, configmaps]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [""]
  resources: [services]
  verbs: [get, create, patch, delete]
{{- end }}
# The ports of backends.
- apiGroups: [""]
  resources: [services]
  verbs: [list, watch]
# The addresses of backends.
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [list, watch]
{{- if eq (toString .Values.references) "all" }}
# Certificates of listeners, authorities of backends. Gatehouse asks only for those that something refers to.
- apiGroups: [""]
  resources: [secrets, configmaps]
  verbs: [list, watch]
{{- end }}
{{- end -}}

{{- define "gatehouse.clusterRules" -}}
# Which Gateways are ours: those whose class names our controller.
- apiGroups: [gateway.networking.k8s.io]
  resources: [gatewayclasses]
  verbs: [list, watch]
# The labels that a listener's selector asks for.
- apiGroups: [""]
  resources: [namespaces]
  {{- with .Values.namespaces }}
  resourceNames: {{ toJson . }}
  {{- end }}
  verbs: [list, watch]
{{- if and (include "gatehouse.provisions" .) (include "gatehouse.hasTls" .) }}
# Whose token an Envoy has sent.
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
{{- end }}
{{- if not .Values.mesh }}
# That the class is accepted.
- apiGroups: [gateway.networking.k8s.io]
  resources: [gatewayclasses/status]
  verbs: [update]
{{- end }}
{{- end -}}

{{- define "gatehouse.subjects" -}}
- kind: ServiceAccount
  name: {{ include "gatehouse.fullname" . }}
  namespace: {{ .Release.Namespace }}
{{- end -}}
