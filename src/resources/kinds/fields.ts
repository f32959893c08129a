// Fields that several kinds share: ports, names, durations, references.

import { z } from 'zod'
import { parseDuration } from './duration.js'

/** The API group of the Gateway API's kinds. */
export const GATEWAY_API_GROUP = 'gateway.networking.k8s.io'

/** A port number, 1-65535. */
export const port = () => z.int().min(1).max(65_535)

/** A name of a resource, a key of its data or similar: 1 to 253 characters. */
export const name = () => z.string().min(1).max(253)

/** A namespace. */
export const namespace = () => z.string().min(1).max(63)

/** An API group; "" is the core group. */
export const group = () => z.string().max(253)

/** A kind of resource. */
export const kind = () => z.string().min(1).max(63)

/** A GEP-2257 duration ("1h30m", "500ms"), decoded to milliseconds. */
export const duration = () =>
  z
    .string()
    .regex(/^([0-9]{1,5}(h|m|s|ms)){1,4}$/, 'is not a duration such as 30s, 500ms or 1m30s')
    .transform(parseDuration)

/** The server that a policy's own calls go to: a Service, or a ProxyBackend with its group. */
export const backendRef = () =>
  z.object({
    group: group()
      .default('')
      .describe('API group of the backend: empty for a Service, the policy API group otherwise.'),
    kind: kind().default('Service').describe('Service or ProxyBackend.'),
    name: name().describe('Name of the backend.').meta({ example: 'idp' }),
    namespace: namespace()
      .optional()
      .describe(
        'Namespace of the backend, the one of the policy when absent; another one needs a ReferenceGrant there.',
      )
      .meta({ example: 'identity' }),
    port: port()
      .optional()
      .describe("Port of the backend; for a ProxyBackend it equals the backend's own.")
      .meta({ example: 443 }),
  })
