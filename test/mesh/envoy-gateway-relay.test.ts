// A relay beside a real Envoy Gateway with an API server: serve --kubernetes --for envoy-gateway.

import { ADDRESS } from '../../testing/api-server.js'
import { eventually } from '../../testing/eventually.js'
import { apiServerFor } from '../kubernetes/support/shared-api-server.js'
import { applyDefinitions, furtherDefinitions } from './support/definitions.js'
import { startEnvoyGateway } from './support/envoy-gateway.js'
import { testRelay } from './support/relay-suite.js'
import { backend, gatewayDocumentsFor, route } from './support/resources.js'

/** Not 8080, on which Envoy Gateway itself listens beside an API server. */
const PORT = 8096
const [GRPC, CLOSED] = [`${ADDRESS}:18005`, `${ADDRESS}:18009`]

testRelay({
  origin: `http://127.0.0.1:${String(PORT)}`,
  grpc: GRPC,
  flags: [
    '--for',
    'envoy-gateway',
    '--route-key',
    'envoy-gateway',
    '--connect',
    GRPC,
    '--closed',
    CLOSED,
  ],
  start: async () => {
    const api = await apiServerFor()
    await applyDefinitions(api, furtherDefinitions('GATEHOUSE_TEST_ENVOY_GATEWAY_DEFINITIONS'))
    // A new kind is served a moment later.
    await eventually(() =>
      api.apply(
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'envoy-gateway-system' } },
        ...gatewayDocumentsFor(PORT, { addresses: [{ type: 'IPAddress', value: ADDRESS }] }),
      ),
    )
    const mesh = await startEnvoyGateway(api)
    return {
      api,
      close: async () => {
        await mesh.close()
        await api.close()
      },
      service: async (name, port) => {
        await api.apply(backend(name, port))
        return port
      },
      route: (name, match, service) => route(name, '', service, { matches: [match] }),
    }
  },
})
