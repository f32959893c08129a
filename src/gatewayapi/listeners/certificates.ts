// Resolves references of a Gateway to certificates: certificateRefs of HTTPS listeners, and clientCertificateRef. Parses
// each certificate, as Envoy would NACK the whole listener or cluster for a bad one.

import type { Certificate } from '../../ir/ir.js'
import { certificateName } from '../../ir/names.js'
import { GATEWAY_API_GROUP } from '../../resources/kinds/fields.js'
import type { CertificateRef } from '../../resources/kinds/gateway-tls.js'
import { err, ok, type Result } from '../../result.js'
import { type Context, query } from '../world/context.js'
import { isServerPair } from '../world/pem.js'
import { isReferencePermitted, missingGrant } from '../world/reference-grants.js'
import { keyIn } from '../world/world.js'

/** A Gateway or a ListenerSet. */
export interface CertificateUser {
  readonly kind: string
  readonly namespace: string
}

/** Why a reference to a certificate cannot be used. */
export interface CertificateProblem {
  /** Reason of the listener's condition ResolvedRefs. */
  readonly reason:
    | 'InvalidCertificateRef'
    | 'RefNotPermitted'
    | 'InvalidCACertificateRef'
    | 'InvalidCACertificateKind'
  readonly message: string
}

/** field: the name of the reference in messages. */
export function resolveCertificate(
  context: Context,
  { kind, namespace }: CertificateUser,
  ref: CertificateRef,
  field = 'certificateRefs',
): Result<Certificate, CertificateProblem> {
  const to = {
    group: ref.group,
    kind: ref.kind,
    namespace: ref.namespace ?? namespace,
    name: ref.name,
  }
  if (to.group !== '' || to.kind !== 'Secret')
    return invalid(`${field}: ${to.kind} ${to.name} is not a Secret`)
  const from = { group: GATEWAY_API_GROUP, kind, namespace }
  if (!isReferencePermitted(context, from, to))
    return err({ reason: 'RefNotPermitted', message: missingGrant(from, to) })
  const key = keyIn(to.namespace, to.name)
  return query(context, 'certificate', key, (own) => readCertificate(own, to.namespace, to.name))
}

const invalid = (message: string) => err({ reason: 'InvalidCertificateRef', message } as const)

function readCertificate(
  context: Context,
  namespace: string,
  name: string,
): Result<Certificate, CertificateProblem> {
  const key = keyIn(namespace, name)
  const secret = context.reader.read('secrets', key)
  if (secret === undefined) return invalid(`Secret ${key} not found`)
  const certificateChain = secret.spec.data['tls.crt']
  const privateKey = secret.spec.data['tls.key']
  if (certificateChain === undefined || privateKey === undefined)
    return invalid(`Secret ${key} needs tls.crt and tls.key`)
  return isServerPair(certificateChain, privateKey)
    ? ok({ name: certificateName(namespace, name), certificateChain, privateKey })
    : invalid(
        `Secret ${key}: tls.crt and tls.key are not a certificate and its private key in PEM (RSA from 2048 bits, or ECDSA)`,
      )
}
