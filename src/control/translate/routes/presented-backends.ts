// Finds backends as one Gateway connects to them: with its client certificate, if it presents one (Gateway tls.backend).

import { ok, type Result } from '../../../kit/result.js'
import { presentedDestination } from '../../../model/names.js'
import {
  type Backend,
  type BackendProblem,
  type BackendRef,
  resolveBackend,
} from '../backends/backends.js'
import { translateGateway } from '../listeners/gateways.js'
import { type Context, query } from '../world/context.js'
import type { Referrer } from '../world/reference-grants.js'

/** presenter: key of the Gateway if it presents a client certificate. */
export function resolvePresented(
  context: Context,
  from: Referrer,
  ref: BackendRef,
  presenter: string | undefined,
): Result<Backend, BackendProblem> {
  const found = resolveBackend(context, from, ref)
  return found.ok && presenter !== undefined
    ? ok(presented(context, found.value, presenter))
    : found
}

/** Returns a backend with TLS as a destination of that Gateway alone, without endpoints if it has no certificate. */
const presented = (context: Context, backend: Backend, presenter: string): Backend =>
  query(context, `presented by ${presenter}`, backend, (own) => {
    const { destination } = backend
    const gateway = translateGateway(own, presenter)
    const certificate = typeof gateway === 'object' ? gateway.clientCertificate : undefined
    if (certificate === undefined || destination.tls === undefined) return backend
    const name = presentedDestination(destination.name, presenter)
    return certificate.ok
      ? {
          ...backend,
          destination: {
            ...destination,
            name,
            tls: { ...destination.tls, certificate: certificate.value.name },
          },
        }
      : {
          ...backend,
          destination: { ...destination, name, endpoints: { type: 'addresses', addresses: [] } },
          problem: {
            reason: 'InvalidBackendTls',
            message:
              'Backends with TLS are not contacted: the client certificate of the Gateway cannot be used',
          },
        }
  })
