// A relay beside a real istiod: serve --kubernetes --for istio.

import { ADDRESS } from '../../testing/api-server.js'
import { hostOf, PORT, route, serviceTo, startIstio } from './support/istio.js'
import { testRelay } from './support/relay-suite.js'

const GRPC_PORT = 18_005

testRelay({
  origin: `http://127.0.0.1:${PORT}`,
  grpc: `${ADDRESS}:${String(GRPC_PORT)}`,
  flags: ['--for', 'istio', '--connect', `${hostOf('gatehouse')}:${String(GRPC_PORT)}`],
  start: async () => {
    const mesh = await startIstio()
    await mesh.api.apply(...serviceTo('gatehouse', GRPC_PORT, 'grpc'))
    return {
      api: mesh.api,
      close: () => mesh.close(),
      service: (name, port) => mesh.service(name, port),
      route: (name, match, service, port) => route(name, '', service, port, { matches: [match] }),
    }
  },
})
