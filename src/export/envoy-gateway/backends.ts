// Builds Backends for Gatehouse and the closed address in each namespace that refers to them.

import { isIP } from 'node:net'
import type { MeshRoute } from '../../ir/mesh-route.js'
import type { ExportAddress, ExportTargets, Manifest } from '../manifest.js'
import { CLOSED_BACKEND, GATEHOUSE_BACKEND, GROUP, manifestOf } from './names.js'

/** Name of the ConfigMap with the CA of Gatehouse's certificate, which the administrator creates. */
const AUTHORITY = 'gatehouse-ca'

/** Returns the Backends for the namespaces of the routes. */
export function backends(
  routes: readonly MeshRoute[],
  { gatehouse, serverName, closed, newSeal }: ExportTargets,
): readonly Manifest[] {
  const all = new Set(routes.map(({ namespace }) => namespace))
  const closing = new Set(
    routes
      .filter(({ documents }) => documents !== undefined || newSeal !== undefined)
      .map(({ namespace }) => namespace),
  )
  return [
    ...[...all].map((namespace) =>
      backend(namespace, GATEHOUSE_BACKEND, gatehouse, connectionTo(serverName)),
    ),
    ...[...closing].map((namespace) => backend(namespace, CLOSED_BACKEND, closed)),
  ]
}

/** Selects HTTP/2 in both cases: with TLS, Envoy Gateway sets it for every gRPC service. */
const connectionTo = (serverName: string | undefined): object =>
  serverName === undefined
    ? { appProtocols: [`${GROUP}/h2c`] }
    : {
        tls: {
          caCertificateRefs: [{ group: '', kind: 'ConfigMap', name: AUTHORITY }],
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
