// Flags for use beside the control plane of a mesh.

import { one, onOff } from './flag.js'
import { readDomain, readOneOf, readTcpAddress, readText } from './values.js'

/** Flags by the name of their property in Settings, as in FLAGS. */
export const MESH_FLAGS = {
  for: one(readOneOf('envoy-gateway', 'istio', 'envoy'), {
    value: 'MESH',
    commands: ['serve', 'translate'],
    meaning:
      "whose Gateways and HTTPRoutes the policies protect: those of envoy-gateway or istio; default Gatehouse's own; translate: envoy prints the parts that an Envoy which you configure needs",
  }),
  routeKey: one(readOneOf('envoy-gateway', 'istio'), {
    value: 'MESH',
    commands: ['serve'],
    meaning:
      'ext_proc streams without x-gatehouse-route are for the route that the attribute xds.route_name names, as this mesh makes its names',
  }),
  sealed: onOff({
    commands: ['translate'],
    meaning:
      "with --for envoy-gateway or istio: HTTPRoutes are printed too, and lead nowhere without Gatehouse's mark, the secret of the Secret gatehouse-seal in their namespace, which is made where it is missing",
  }),
  connectTls: one(readDomain, {
    value: 'NAME',
    commands: ['serve', 'translate'],
    meaning:
      "with --for envoy-gateway: Envoys connect by TLS, to a certificate of this name whose authority is ca.crt of the ConfigMap gatehouse-ca in the routes' namespace; with --provision: created Envoys do, and --connect-ca has the authority",
  }),
  customProvider: one(readText, {
    value: 'NAME',
    commands: ['serve', 'translate'],
    meaning:
      'with --for istio: an AuthorizationPolicy with action CUSTOM and this extension provider of the mesh asks Gatehouse, in front of CORS; default a filter of its own, behind CORS',
  }),
  closed: one(readTcpAddress, {
    value: 'HOST:PORT',
    commands: ['serve', 'translate'],
    meaning:
      'the address that answers 503 to everything, for closed routes of a mesh; translate: default port 9 of 127.0.0.1, where nothing listens',
  }),
}
