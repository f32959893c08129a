{{/* An Envoy: its bootstrap, container and Service. */}}

{{/* files/ holds what "gatehouse bootstrap" prints, with names in the place of what only a release knows. */}}
{{- define "gatehouse.bootstrap" -}}
{{- $file := printf "files/bootstrap-%s.yaml" .kind -}}
{{- $text := .root.Files.Get $file | replace "NODE_CLUSTER" (.gateway | default "*") -}}
{{- $text | replace "gatehouse-host.invalid" (include "gatehouse.host" .root) | replace "gatehouse-name.invalid" (include "gatehouse.serverName" .root) -}}
{{- end -}}

{{/* Clients are sent away first (connection: close, GOAWAY), and served until they have gone. */}}
{{- define "gatehouse.drainEnvoy" -}}
perl /etc/envoy/admin.pl POST /healthcheck/fail; sleep {{ .Values.envoy.drainSeconds }}
{{- end -}}

{{/* Takes a dict of root, ports, tls and sidecar. */}}
{{- define "gatehouse.envoyContainer" -}}
name: envoy
image: {{ include "gatehouse.envoyImage" .root }}
imagePullPolicy: {{ .root.Values.envoy.pullPolicy }}
command: [envoy, --config-path, /etc/envoy/bootstrap.yaml, --service-node, $(POD_NAME), --disable-hot-restart]
env:
  # Tells Envoys apart in /status and the logs.
  - name: POD_NAME
    valueFrom: { fieldRef: { fieldPath: metadata.name } }
ports:
  {{- range .ports }}
  - { name: {{ .name }}, containerPort: {{ .port }} }
  {{- end }}
# The first listener is there: Envoy has its configuration. Its admin interface is a socket in this container alone.
readinessProbe:
  tcpSocket: { port: {{ (first .ports).name }} }
  periodSeconds: 2
lifecycle:
  preStop:
    exec:
      command: [sh, -c, {{ include "gatehouse.drainEnvoy" .root | quote }}]
resources: {{- toYaml .root.Values.envoy.resources | nindent 2 }}
securityContext:
  runAsNonRoot: true
  runAsUser: 101
  runAsGroup: 101
  {{- include "gatehouse.containerSecurity" .root | nindent 2 }}
volumeMounts:
  - { name: bootstrap, mountPath: /etc/envoy, readOnly: true }
  - { name: envoy-admin, mountPath: /run/envoy }
  {{- if .sidecar }}
  - { name: grpc, mountPath: /run/gatehouse }
  {{- end }}
  {{- if .tls }}
  - { name: tls, mountPath: /etc/gatehouse/tls, readOnly: true }
  {{- end }}
{{- end -}}

{{/* Low ports without a capability. */}}
{{- define "gatehouse.envoyPodSecurity" -}}
seccompProfile: { type: RuntimeDefault }
sysctls:
  - { name: net.ipv4.ip_unprivileged_port_start, value: "0" }
{{- end -}}

{{/* A Service's; takes a dict of ports and type. */}}
{{- define "gatehouse.envoyServiceSpec" -}}
type: {{ .type | default "LoadBalancer" }}
ports:
  {{- range .ports }}
  - { name: {{ .name }}, port: {{ .port }}, targetPort: {{ .name }} }
  {{- end }}
{{- end -}}

{{/* Labels of the Service of a Gateway's Envoys, by which the Gateway gets its addresses; takes NAMESPACE/NAME. */}}
{{- define "gatehouse.gatewayLabels" -}}
{{- $parts := splitn "/" 2 . -}}
{{- if le (len $parts._1) 63 -}}
gateway.networking.k8s.io/gateway-name: {{ $parts._1 }}
policy.gatehouse.dev/gateway-namespace: {{ $parts._0 }}
{{- end -}}
{{- end -}}

{{/* The Envoys of the chart itself, as YAML. */}}
{{- define "gatehouse.envoysByHand" -}}
{{- if kindIs "map" .Values.envoys -}}
{{- toYaml (.Values.envoys.gateways | default list) -}}
{{- else -}}
{{- toYaml (.Values.envoys | default list) -}}
{{- end -}}
{{- end -}}

{{/* Not empty: Gatehouse creates Envoys. */}}
{{- define "gatehouse.provisions" -}}
{{- if kindIs "map" .Values.envoys -}}
{{- if .Values.envoys.provision -}}
{{- if or (ne .Values.mode "central") .Values.mesh -}}
{{- fail "envoys.provision: expected mode central, and no mesh" -}}
{{- end -}}
{{- if and .Values.namespaces (not (has .Release.Namespace .Values.namespaces)) -}}
{{- fail "envoys.provision: expected the release's namespace among namespaces, as the parameters of its Envoys are there" -}}
{{- end -}}
yes
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Requests or limits as ProxyParameters have them; takes a dict with cpu and memory. */}}
{{- define "gatehouse.amounts" -}}
{{- range $name := list "cpu" "memory" }}
{{- with index $ $name }}
{{ $name }}: {{ toString . | quote }}
{{- end }}
{{- end }}
{{- end -}}
