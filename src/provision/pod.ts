// The pod of an Envoy that Gatehouse creates: without rights, with probes, and drained before it ends.

import type { ProvisionedGateway } from '../ir/provisioned-gateway.js'

/** How long an Envoy keeps serving after it begins to drain, in seconds. */
const DRAIN_SECONDS = 10

/** The folder of the ConfigMap. */
export const CONFIG_FOLDER = '/etc/envoy'
/** The file in the ConfigMap that names the token's file. */
export const TOKEN_SECRET_FILE = 'token.yaml'
/** The folder of the token, which the kubelet renews. */
export const TOKEN_FOLDER = '/run/gatehouse-token'
/** The file of the token in its folder. */
export const TOKEN_NAME = 'token'
/** How long a token is valid, in seconds. The kubelet renews it after four fifths: it outlives a long failure of the API server. */
const TOKEN_SECONDS = 86_400

/** Returns the pod's spec. audience: of the token by which Gatehouse knows the pod; absent: it has none. */
export const podSpec = (
  { objectName, image, resources }: ProvisionedGateway,
  audience: string | undefined,
): object => ({
  serviceAccountName: objectName,
  // Envoy asks Gatehouse for all it knows, never the API server.
  automountServiceAccountToken: false,
  enableServiceLinks: false,
  terminationGracePeriodSeconds: DRAIN_SECONDS + 15,
  securityContext: {
    seccompProfile: { type: 'RuntimeDefault' },
    // Low ports without a capability.
    sysctls: [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '0' }],
  },
  containers: [
    {
      ...{ name: 'envoy', image, command: COMMAND, resources },
      env: [
        // Tells Envoys apart in /status and the logs.
        { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      ],
      // Ready when Envoy has its configuration.
      readinessProbe: {
        exec: { command: ['perl', '/etc/envoy/admin.pl', 'GET', '/ready'] },
        periodSeconds: 2,
        timeoutSeconds: 5,
      },
      lifecycle: { preStop: { exec: { command: ['sh', '-c', DRAIN] } } },
      securityContext: {
        ...{ runAsNonRoot: true, runAsUser: 101, runAsGroup: 101 },
        ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
        capabilities: { drop: ['ALL'] },
      },
      volumeMounts: [
        { name: 'bootstrap', mountPath: CONFIG_FOLDER, readOnly: true },
        { name: 'envoy-admin', mountPath: '/run/envoy' },
        ...(audience === undefined
          ? []
          : [{ name: 'token', mountPath: TOKEN_FOLDER, readOnly: true }]),
      ],
    },
  ],
  volumes: [
    { name: 'bootstrap', configMap: { name: objectName } },
    { name: 'envoy-admin', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
    ...(audience === undefined ? [] : [tokenVolume(audience)]),
  ],
})

const tokenVolume = (audience: string): object => ({
  name: 'token',
  projected: {
    sources: [
      { serviceAccountToken: { audience, expirationSeconds: TOKEN_SECONDS, path: TOKEN_NAME } },
    ],
  },
})

const COMMAND: readonly string[] = [
  'envoy',
  ...['--config-path', '/etc/envoy/bootstrap.yaml'],
  ...['--service-node', '$(POD_NAME)', '--disable-hot-restart'],
]

/** Clients are sent away first (connection: close, GOAWAY), and served until they have gone. */
const DRAIN = `perl /etc/envoy/admin.pl POST /healthcheck/fail; sleep ${DRAIN_SECONDS}`
