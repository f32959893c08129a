// Resolves the certificate that a Gateway's Envoys present to backends with TLS (Gateway tls.backend).

import type { Certificate } from '../../ir/ir.js'
import type { Condition } from '../../ir/status.js'
import { err, type Result } from '../../result.js'
import { isFalse, isTrue } from '../world/conditions.js'
import type { Context } from '../world/context.js'
import { resolveCertificate } from './certificates.js'
import type { GatewayResource, TranslatedListener } from './listeners.js'

/** Why a client certificate cannot be used. */
export interface ClientCertificateProblem {
  /** Reason of the Gateway's condition ResolvedRefs. */
  readonly reason: string
  readonly message: string
}

/** A certificate, or why there is none: backends with TLS are then not contacted. */
export type ClientCertificate = Result<Certificate, ClientCertificateProblem>

/** Returns undefined for a Gateway that presents no certificate, and for one of a mesh, whose own Envoys present it. */
export function clientCertificateOf(
  context: Context,
  { metadata, spec }: GatewayResource,
): ClientCertificate | undefined {
  const ref = spec.tls?.backend?.clientCertificateRef
  if (ref === undefined || context.options.mesh !== undefined) return undefined
  const from = { kind: 'Gateway', namespace: metadata.namespace }
  const found = resolveCertificate(context, from, ref, 'clientCertificateRef')
  if (found.ok || found.error.reason !== 'InvalidCertificateRef') return found
  return err({ ...found.error, reason: 'InvalidClientCertificateRef' })
}

/** Returns the Gateway's condition ResolvedRefs; none for a Gateway without a clientCertificateRef. */
export function clientCertificateCondition(
  certificate: ClientCertificate | undefined,
  listeners: readonly TranslatedListener[],
): readonly Condition[] {
  if (certificate === undefined) return []
  if (!certificate.ok)
    return [
      isFalse(
        'ResolvedRefs',
        certificate.error.reason,
        `tls.backend: ${certificate.error.message}. Backends with TLS are answered 503`,
      ),
    ]
  const bad = listeners.filter(({ conditions }) =>
    conditions.some(({ type, status }) => type === 'ResolvedRefs' && status === 'False'),
  )
  return [
    bad.length === 0
      ? isTrue('ResolvedRefs', 'ResolvedRefs', 'All references resolved')
      : isFalse(
          'ResolvedRefs',
          'ListenersNotResolved',
          `Listeners with references that are not resolved: ${bad.map(({ spec }) => spec.name).join(', ')}`,
        ),
  ]
}
