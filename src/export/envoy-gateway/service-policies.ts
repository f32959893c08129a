// Exports the policies for the Services: a ReferenceGrant for routes of other namespaces, and a BackendTLSPolicy.

import type { MeshRoute } from '../../ir/mesh-route.js'
import { type ExportAddress, type ExportTargets, type Manifest, metadataOf } from '../manifest.js'
import { closingNamespaces } from './backends.js'
import { AUTHORITY, GROUP } from './names.js'

const GATEWAY_API = 'gateway.networking.k8s.io'

/** Returns no manifests for addresses that are not Services. */
export function servicePolicies(
  routes: readonly MeshRoute[],
  { gatehouse, serverName, closed, newSeal }: ExportTargets,
): readonly Manifest[] {
  const all = [...new Set(routes.map(({ namespace }) => namespace))]
  return [
    ...grant(gatehouse, 'gatehouse', POLICIES, all),
    ...grant(closed, 'gatehouse-closed', ROUTES, closingNamespaces(routes, newSeal !== undefined)),
    ...(serverName === undefined || all.length === 0 ? [] : tlsPolicy(gatehouse, serverName)),
  ]
}

interface Referrer {
  readonly group: string
  readonly kind: string
}

const POLICIES: readonly Referrer[] = [
  { group: GROUP, kind: 'SecurityPolicy' },
  { group: GROUP, kind: 'EnvoyExtensionPolicy' },
]
const ROUTES: readonly Referrer[] = [{ group: GATEWAY_API, kind: 'HTTPRoute' }]

function grant(
  { service }: ExportAddress,
  name: string,
  referrers: readonly Referrer[],
  namespaces: readonly string[],
): readonly Manifest[] {
  if (service === undefined) return []
  const others = namespaces.filter((namespace) => namespace !== service.namespace)
  if (others.length === 0) return []
  return [
    {
      apiVersion: `${GATEWAY_API}/v1beta1`,
      kind: 'ReferenceGrant',
      metadata: metadataOf(service.namespace, name),
      spec: {
        from: others.flatMap((namespace) =>
          referrers.map((referrer) => ({ ...referrer, namespace })),
        ),
        to: [{ group: '', kind: 'Service', name: service.name }],
      },
    },
  ]
}

/** The ConfigMap with the CA is in the namespace of the Service. */
const tlsPolicy = ({ service }: ExportAddress, hostname: string): readonly Manifest[] =>
  service === undefined
    ? []
    : [
        {
          apiVersion: `${GATEWAY_API}/v1`,
          kind: 'BackendTLSPolicy',
          metadata: metadataOf(service.namespace, 'gatehouse'),
          spec: {
            targetRefs: [{ group: '', kind: 'Service', name: service.name }],
            validation: { caCertificateRefs: [AUTHORITY], hostname },
          },
        },
      ]
