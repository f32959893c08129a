// Builds Backends for Gatehouse and the closed address in each namespace that refers to them.

import { isIP } from 'node:net'
import type { MeshRoute } from '../../ir/mesh-route.js'
import type { ExportAddress, ExportTargets, Manifest } from '../manifest.js'
import { AUTHORITY, CLOSED_BACKEND, GATEHOUSE_BACKEND, GROUP, manifestOf } from './names.js'

/** Returns the Backends for the namespaces of the routes; none for an address that is a Service. */
export function backends(
  routes: readonly MeshRoute[],
  { gatehouse, serverName, closed, newSeal }: ExportTargets,
): readonly Manifest[] {
  const all = new Set(routes.map(({ namespace }) => namespace))
  return [
    ...(gatehouse.service === undefined ? [...all] : []).map((namespace) =>
      backend(namespace, GATEHOUSE_BACKEND, gatehouse, connectionTo(serverName)),
    ),
    ...(closed.service === undefined ? closingNamespaces(routes, newSeal !== undefined) : []).map(
      (namespace) => backend(namespace, CLOSED_BACKEND, closed),
    ),
  ]
}

/** Returns the namespaces with routes that lead to the closed address. */
export const closingNamespaces = (
  routes: readonly MeshRoute[],
  isSealed: boolean,
): readonly string[] => [
  ...new Set(
    routes
      .filter(({ documents }) => documents !== undefined || isSealed)
      .map(({ namespace }) => namespace),
  ),
]

/** Selects HTTP/2 in both cases: with TLS, Envoy Gateway sets it for every gRPC service. */
const connectionTo = (serverName: string | undefined): object =>
  serverName === undefined
    ? { appProtocols: [`${GROUP}/h2c`] }
    : {
        tls: {
          caCertificateRefs: [AUTHORITY],
          sni: serverName,
        },
      }

const backend = (
  namespace: string,
  name: string,
  { host, port }: ExportAddress,
  protocols: object = {},
): Manifest =>
  manifestOf('Backend', namespace, name, {
    endpoints: [
      isIP(host) === 0 ? { fqdn: { hostname: host, port } } : { ip: { address: host, port } },
    ],
    ...protocols,
  })
