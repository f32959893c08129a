// Resolves references of a Gateway to certificates: certificateRefs of HTTPS listeners, and clientCertificateRef. Parses
// each certificate, as Envoy would NACK the whole listener or cluster for a bad one.

import { err, ok, type Result } from '../../../kit/result.js'
import { atOnce, type Work } from '../../../kit/turns.js'
import type { Certificate } from '../../../model/ir.js'
import { certificateName } from '../../../model/names.js'
import { GATEWAY_API_GROUP } from '../../schema/kinds/fields.js'
import type { CertificateRef } from '../../schema/kinds/gateway-tls.js'
import { LONG_PEM } from '../world/authorities.js'
import { type Context, query, queryWork } from '../world/context.js'
import { isServerPair } from '../world/pem.js'
import type { LongQuery } from '../world/prepared.js'
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
  return query(context, CERTIFICATE, key, (own) => atOnce(readCertificate(own, key)))
}

/** Name of the query about a Secret. */
const CERTIFICATE = 'certificate'

const CHAIN_KEY = 'tls.crt'

/** Certificates whose chains take long to be parsed. */
export const LONG_CERTIFICATES: LongQuery = {
  table: 'secrets',
  isLong: ({ reader }, key) =>
    (reader.read('secrets', key)?.spec.data[CHAIN_KEY]?.length ?? 0) > LONG_PEM,
  ask: (context, key) => queryWork(context, CERTIFICATE, key, (own) => readCertificate(own, key)),
}

const invalid = (message: string) => err({ reason: 'InvalidCertificateRef', message } as const)

function* readCertificate(
  context: Context,
  key: string,
): Work<Result<Certificate, CertificateProblem>> {
  const secret = context.reader.read('secrets', key)
  if (secret === undefined) return invalid(`Secret ${key} not found`)
  const certificateChain = secret.spec.data[CHAIN_KEY]
  const privateKey = secret.spec.data['tls.key']
  if (certificateChain === undefined || privateKey === undefined)
    return invalid(`Secret ${key} needs tls.crt and tls.key`)
  const { namespace, name } = secret.metadata
  return (yield* isServerPair(certificateChain, privateKey))
    ? ok({ name: certificateName(namespace, name), certificateChain, privateKey })
    : invalid(
        `Secret ${key}: tls.crt and tls.key are not a certificate and its private key in PEM (RSA from 2048 bits, or ECDSA)`,
      )
}
