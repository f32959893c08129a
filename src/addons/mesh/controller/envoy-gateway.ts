// Exports single routes to Envoy Gateway for the controller, and knows the kinds that it applies there.

import { err } from '../../../kit/result.js'
import { isJsonObject, type Json } from '../../../model/json.js'
import { exportEnvoyGateway } from '../export/envoy-gateway/export.js'
import type { ExportTargets, Manifest } from '../export/manifest.js'
import type { MeshKind } from './mesh-kind.js'
import type { MeshExport } from './wanted.js'

const own = (kind: string): MeshKind => ({
  group: 'gateway.envoyproxy.io',
  kind,
  versions: ['v1alpha1'],
})
const gatewayApi = (kind: string): MeshKind => ({
  group: 'gateway.networking.k8s.io',
  kind,
  versions: ['v1', 'v1beta1'],
})

/** The kinds that are applied, in the order in which they are: what others refer to comes first. */
export const ENVOY_GATEWAY_KINDS: readonly MeshKind[] = [
  own('Backend'),
  gatewayApi('ReferenceGrant'),
  gatewayApi('BackendTLSPolicy'),
  own('ClientTrafficPolicy'),
  own('SecurityPolicy'),
  own('EnvoyExtensionPolicy'),
  own('BackendTrafficPolicy'),
  gatewayApi('HTTPRoute'),
]

/** Kinds whose objects several routes share. */
const SHARED: ReadonlySet<string> = new Set([
  'Backend',
  'ReferenceGrant',
  'BackendTLSPolicy',
  'ClientTrafficPolicy',
])

/** Returns the export to Envoy Gateway. */
export const envoyGatewayExport = (targets: ExportTargets): MeshExport => ({
  ofRoute: (route) => {
    const exported = exportEnvoyGateway([route], targets)
    return exported.ok ? exported : err(exported.error.map(({ message }) => message))
  },
  merge: (one, other) =>
    one.kind === 'ReferenceGrant'
      ? mergedGrant(one, other)
      : SHARED.has(one.kind)
        ? one
        : undefined,
  hasOneKey: false,
})

/** A ReferenceGrant for the referrers of both. */
function mergedGrant(one: Manifest, other: Manifest): Manifest {
  const from = [...fromOf(one), ...fromOf(other)]
  const unique = new Map(from.map((each) => [JSON.stringify(each), each]))
  return { ...one, spec: { ...one.spec, from: [...unique.values()] } }
}

function fromOf({ spec }: Manifest): readonly Json[] {
  const { from } = isJsonObject(spec as Json) ? (spec as { readonly from?: Json }) : {}
  return Array.isArray(from) ? (from as readonly Json[]) : []
}
