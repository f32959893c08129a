// Makes the objects of the Envoys that Gatehouse creates for a Gateway: ServiceAccount, ConfigMap, Deployment and Service. Pure.

import { hash } from 'node:crypto'
import { stringify } from 'yaml'
import type { WantedManifest } from '../../control/sources/kubernetes/wanted-object.js'
import type { ProvisionedGateway } from '../../model/provisioned-gateway.js'
import { bootstrapJson, buildBootstrap } from '../../xds/bootstrap/bootstrap.js'
import type {
  GatehouseAddress,
  GatehouseConnection,
} from '../../xds/bootstrap/gatehouse-clusters.js'
import { tokenSecret } from '../../xds/bootstrap/token-filters.js'

// The pod of an Envoy that Gatehouse creates: without rights, with probes, and drained before it ends.

/** How long an Envoy keeps serving after it begins to drain, in seconds. */
const DRAIN_SECONDS = 10

/** The folder of the ConfigMap. */
const CONFIG_FOLDER = '/etc/envoy'
/** The file in the ConfigMap that names the token's file. */
const TOKEN_SECRET_FILE = 'token.yaml'
/** The folder of the token, which the kubelet renews. */
const TOKEN_FOLDER = '/run/gatehouse-token'
/** The file of the token in its folder. */
const TOKEN_NAME = 'token'
/** How long a token is valid, in seconds. The kubelet renews it after four fifths: it outlives a long failure of the API server. */
const TOKEN_SECONDS = 86_400

/** Returns the pod's spec. audience: of the token by which Gatehouse knows the pod; absent: it has none. */
const podSpec = (
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
      name: 'envoy',
      image,
      command: COMMAND,
      resources,
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
        runAsNonRoot: true,
        runAsUser: 101,
        runAsGroup: 101,
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
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
  '--config-path',
  '/etc/envoy/bootstrap.yaml',
  '--service-node',
  '$(POD_NAME)',
  '--disable-hot-restart',
]

/** Clients are sent away first (connection: close, GOAWAY), and served until they have gone. */
const DRAIN = `perl /etc/envoy/admin.pl POST /healthcheck/fail; sleep ${DRAIN_SECONDS}`

// The script in the pods of Envoys for single requests to their admin interface. The chart has the same one in files/admin.pl.

/** Text of admin.pl. */
export const ADMIN_SCRIPT = String.raw`# perl admin.pl METHOD PATH [SOCKET]: one request to Envoy's admin interface, which listens on a Unix socket; its answer on stdout.
# Perl, as Envoy's image has it and no curl.
use strict;
use warnings;
use IO::Socket::UNIX;

my ($method, $path, $peer) = @ARGV;
die "usage: perl admin.pl METHOD PATH, e.g. GET /stats\n" unless defined $path;
my $socket = IO::Socket::UNIX->new(Peer => $peer // '/run/envoy/admin.sock')
  or die "Envoy's admin interface cannot be reached: $!\n";
print {$socket} "$method $path HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
$socket->flush;
my $answer = do { local $/; <$socket> } // '';
my ($head, $body) = split /\r\n\r\n/, $answer, 2;
die "Envoy's admin interface gave no answer\n" unless defined $body;
if ($head =~ /^transfer-encoding: *chunked/mi) {
  my $whole = '';
  while ($body =~ /\G([0-9a-f]+)\r\n/gci and my $size = hex $1) {
    $whole .= substr $body, pos $body, $size;
    pos($body) += $size + 2;
  }
  $body = $whole;
}
print $body;
exit($head =~ m{^HTTP/1\.1 2} ? 0 : 1);
`

/** A kind that is applied for Envoys. */
export interface ProvisionedKind {
  readonly group: string
  readonly kind: string
  readonly versions: readonly string[]
}

/** The kinds, in the order in which they are applied: what others refer to comes first. */
export const PROVISIONED_KINDS: readonly ProvisionedKind[] = [
  { group: '', kind: 'ServiceAccount', versions: ['v1'] },
  { group: '', kind: 'ConfigMap', versions: ['v1'] },
  { group: '', kind: 'Service', versions: ['v1'] },
  { group: 'apps', kind: 'Deployment', versions: ['v1'] },
]

/** What all Envoys of a release share. */
export interface EnvoySettings {
  readonly address: GatehouseAddress
  /** Absent: Envoys connect without TLS. */
  readonly tls?: EnvoyTls
  /** Name of the release, by which its NetworkPolicy selects Envoys. */
  readonly release: string
}

/** How Envoys know Gatehouse. It knows them by the tokens of their service accounts. */
export interface EnvoyTls {
  /** Authorities of Gatehouse's certificate (PEM). */
  readonly authorities: string
  /** The name in that certificate, and the audience of the tokens. */
  readonly serverName: string
}

/** An object for the Envoys of a Gateway. */
export interface EnvoyManifest extends WantedManifest {
  readonly metadata: WantedManifest['metadata'] & {
    readonly annotations: Readonly<Record<string, string>>
  }
  readonly spec?: object
  readonly data?: Readonly<Record<string, string>>
  readonly automountServiceAccountToken?: boolean
}

const ENVOY_ADMIN = { type: 'unix', path: '/run/envoy/admin.sock' } as const
/** Maximum length of a label's value. */
const LONGEST_LABEL = 63

/** Returns the objects for the Envoys of one Gateway. */
export function envoyManifests(
  gateway: ProvisionedGateway,
  settings: EnvoySettings,
): readonly EnvoyManifest[] {
  const metadata = metadataOf(withoutPrefixes(gateway))
  const bootstrap = bootstrapOf(gateway, connectionOf(settings))
  return [
    { kind: 'ServiceAccount', metadata, automountServiceAccountToken: false },
    {
      kind: 'ConfigMap',
      metadata,
      data: {
        'bootstrap.yaml': bootstrap,
        'admin.pl': ADMIN_SCRIPT,
        ...(settings.tls && { [TOKEN_SECRET_FILE]: TOKEN_SECRET }),
      },
    },
    {
      kind: 'Service',
      metadata: metadataOf(gateway),
      spec: {
        type: gateway.serviceType,
        selector: selectorOf(gateway),
        ports: gateway.ports.map((port) => ({ name: `port-${port}`, port, targetPort: port })),
      },
    },
    { kind: 'Deployment', metadata, spec: deploymentSpec(gateway, settings, bootstrap) },
  ]
}

function deploymentSpec(
  gateway: ProvisionedGateway,
  { tls, release }: EnvoySettings,
  bootstrap: string,
): object {
  const { labels, annotations } = metadataOf(withoutPrefixes(gateway))
  return {
    ...(gateway.replicas !== undefined && { replicas: gateway.replicas }),
    selector: { matchLabels: selectorOf(gateway) },
    // A new Envoy is ready before an old one goes.
    strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    template: {
      metadata: {
        labels: { ...labels, 'policy.gatehouse.dev/envoy-of': release },
        // A changed bootstrap takes new pods.
        annotations: { ...annotations, 'gatehouse/bootstrap': hash('sha256', bootstrap) },
      },
      spec: podSpec(gateway, tls?.serverName),
    },
  }
}

/**
 * The Gateway with the labels and annotations that objects other than its Service have: those without a prefix.
 * Controllers that add containers, volumes, networks or credentials to pods read keys with one
 * (sidecar.istio.io/proxyImage).
 */
const withoutPrefixes = (gateway: ProvisionedGateway): ProvisionedGateway => ({
  ...gateway,
  labels: withoutPrefix(gateway.labels),
  annotations: withoutPrefix(gateway.annotations),
})

const withoutPrefix = (all: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(all).filter(([key]) => !key.includes('/')))

const selectorOf = ({ objectName }: ProvisionedGateway) => ({
  'app.kubernetes.io/name': 'envoy',
  'app.kubernetes.io/instance': objectName,
})

function metadataOf(gateway: ProvisionedGateway): EnvoyManifest['metadata'] {
  const { namespace, name, objectName, labels, annotations } = gateway
  return {
    namespace,
    name: objectName,
    labels: {
      ...labels,
      ...selectorOf(gateway),
      'app.kubernetes.io/managed-by': 'gatehouse',
      'gateway.networking.k8s.io/gateway-name': name.length <= LONGEST_LABEL ? name : objectName,
    },
    annotations,
  }
}

function connectionOf({ address, tls }: EnvoySettings): GatehouseConnection {
  if (tls === undefined) return { address }
  const { authorities, serverName } = tls
  const token = { secretFile: `${CONFIG_FOLDER}/${TOKEN_SECRET_FILE}`, folder: TOKEN_FOLDER }
  return { address, tls: { ca: { pem: authorities }, serverName, token } }
}

const TOKEN_SECRET = stringify(tokenSecret(`${TOKEN_FOLDER}/${TOKEN_NAME}`))

const bootstrapOf = (
  { namespace, name }: ProvisionedGateway,
  connection: GatehouseConnection,
): string =>
  stringify(
    bootstrapJson(
      buildBootstrap({
        nodeCluster: `${namespace}/${name}`,
        nodeId: 'envoy',
        connection,
        envoyAdmin: ENVOY_ADMIN,
      }),
    ),
    { lineWidth: 0, aliasDuplicateObjects: false },
  )
