// Certificate → Envoy's Secret.

import type { Certificate } from '../../ir/ir.js'
import type { JsonObject } from '../../ir/json.js'
import { any } from './json-object.js'

/** envoy.extensions.transport_sockets.tls.v3.Secret. Holds the private key: never logged or dumped. */
export const buildSecret = (certificate: Certificate): JsonObject =>
  any('envoy.extensions.transport_sockets.tls.v3.Secret', {
    name: certificate.name,
    tls_certificate: {
      certificate_chain: { inline_string: certificate.certificateChain },
      private_key: { inline_string: certificate.privateKey },
    },
  })
