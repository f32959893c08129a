// Makes the objects of the Envoys that Gatehouse creates for a Gateway: ServiceAccount, ConfigMap, Deployment and Service. Pure.

import { hash } from 'node:crypto'
import { stringify } from 'yaml'
import type { ProvisionedGateway } from '../ir/provisioned-gateway.js'
import type { WantedManifest } from '../resources/kubernetes/wanted-object.js'
import { bootstrapJson, buildBootstrap } from '../xds/bootstrap/bootstrap.js'
import type { GatehouseAddress, GatehouseConnection } from '../xds/bootstrap/gatehouse-clusters.js'
import { tokenSecret } from '../xds/bootstrap/token-filters.js'
import { ADMIN_SCRIPT } from './admin-script.js'
import { CONFIG_FOLDER, podSpec, TOKEN_FOLDER, TOKEN_NAME, TOKEN_SECRET_FILE } from './pod.js'

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
      ...{ kind: 'ConfigMap', metadata },
      data: {
        ...{ 'bootstrap.yaml': bootstrap, 'admin.pl': ADMIN_SCRIPT },
        ...(settings.tls && { [TOKEN_SECRET_FILE]: TOKEN_SECRET }),
      },
    },
    {
      ...{ kind: 'Service', metadata: metadataOf(gateway) },
      spec: {
        ...{ type: gateway.serviceType, selector: selectorOf(gateway) },
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
