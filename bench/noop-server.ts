// The reference for checks: an ext_authz server on grpc-js that decodes nothing and allows everything. Argument: its
// address.

import { type sendUnaryData, Server, ServerCredentials } from '@grpc/grpc-js'

const [address = ''] = process.argv.slice(2)
/** CheckResponse { status {} , ok_response {} }. */
const OK = Buffer.from([0x0a, 0x00, 0x1a, 0x00])
const asIs = (bytes: Buffer): Buffer => bytes

const server = new Server()
server.addService(
  {
    check: {
      path: '/envoy.service.auth.v3.Authorization/Check',
      requestStream: false,
      responseStream: false,
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    },
  },
  { check: (_call: unknown, callback: sendUnaryData<Buffer>) => callback(null, OK) },
)
server.bindAsync(address, ServerCredentials.createInsecure(), (error) => {
  if (error !== null) throw error
  process.stdout.write('ready\n')
})
