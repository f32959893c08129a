// Translates how the clients of an HTTPS listener are checked (Gateway API, FrontendTLSConfig): by their certificates,
// per port or for all ports of the Gateway.

import { err, ok, type Result } from '../../../kit/result.js'
import type { ClientTls } from '../../../model/ir.js'
import { GATEWAY_API_GROUP } from '../../schema/kinds/fields.js'
import type { GatewaySpec } from '../../schema/kinds/gateway.js'
import type { ClientValidationSpec } from '../../schema/kinds/gateway-tls.js'
import type { Resource } from '../../schema/kinds/resources.js'
import { authoritiesIn, CA_KEY, joinAuthorities } from '../world/authorities.js'
import { type Context, query } from '../world/context.js'
import { isReferencePermitted, missingGrant } from '../world/reference-grants.js'
import { keyIn } from '../world/world.js'
import type { CertificateProblem } from './certificates.js'

/** How the clients of a listener are checked. */
export interface ClientValidation {
  /** Absent: clients need no certificate, or the listener is refused. */
  readonly clients?: ClientTls
  /** Problems of references; the others are in force. */
  readonly problems: readonly CertificateProblem[]
  /** Whether no reference is usable, so that the listener must be refused. */
  readonly isUnusable: boolean
}

type Listener = GatewaySpec['listeners'][number]

const NONE: ClientValidation = { problems: [], isUnusable: false }

/** Returns how the clients of a listener are checked. */
export function validationOf(
  context: Context,
  gateway: Resource<GatewaySpec>,
  listener: Pick<Listener, 'port' | 'protocol'>,
): ClientValidation {
  const validation = listener.protocol === 'HTTPS' ? specOf(gateway, listener) : undefined
  const { namespace } = gateway.metadata
  return validation === undefined
    ? NONE
    : query(context, `client-validation of ${namespace}`, validation, (own) =>
        readValidation(own, namespace, validation),
      )
}

/** Characters of the authorities in PEM; each of 128 listeners has a copy. Some 200 certificates. */
const MOST_CHARACTERS = 256 * 1024

/** Its authorities are one text for all listeners that are checked by them. */
function readValidation(
  context: Context,
  namespace: string,
  validation: ClientValidationSpec,
): ClientValidation {
  const refs = validation.caCertificateRefs.map((ref) => readAuthorities(context, namespace, ref))
  const usable = refs.flatMap((ref) => (ref.ok ? [ref.value] : []))
  const problems = refs.flatMap((ref) => (ref.ok ? [] : [ref.error]))
  if (usable.length === 0) return { problems, isUnusable: true }
  const authorities = joinAuthorities(usable, MOST_CHARACTERS)
  if (!authorities.ok) {
    const message = `tls.frontend: ${authorities.error}`
    return {
      problems: [...problems, { reason: 'InvalidCACertificateRef', message }],
      isUnusable: true,
    }
  }
  return {
    clients: {
      authorities: authorities.value,
      isRequired: validation.mode === 'AllowValidOnly',
    },
    problems,
    isUnusable: false,
  }
}

/** Returns the validation for the listener's port: that of the port alone, if it has a setting, else the default. */
function specOf(
  { spec }: Resource<GatewaySpec>,
  { port }: Pick<Listener, 'port'>,
): ClientValidationSpec | undefined {
  const { perPort = [], default: ofAll } = spec.tls?.frontend ?? {}
  const ofPort = perPort.find((one) => one.port === port)
  return ofPort === undefined ? ofAll?.validation : ofPort.tls.validation
}

/** Whether clients of some port may connect without a valid certificate although one is asked for. */
export const allowsInsecure = ({ spec }: Resource<GatewaySpec>): boolean =>
  [spec.tls?.frontend?.default, ...(spec.tls?.frontend?.perPort ?? []).map(({ tls }) => tls)].some(
    (tls) => tls?.validation?.mode === 'AllowInsecureFallback',
  )

function readAuthorities(
  context: Context,
  namespace: string,
  ref: ClientValidationSpec['caCertificateRefs'][number],
): Result<string, CertificateProblem> {
  const to = { ...ref, namespace: ref.namespace ?? namespace }
  if (ref.group !== '' || ref.kind !== 'ConfigMap')
    return err({
      reason: 'InvalidCACertificateKind',
      message: `tls.frontend: ${ref.kind} ${ref.name} is not a ConfigMap`,
    })
  const from = { group: GATEWAY_API_GROUP, kind: 'Gateway', namespace }
  if (!isReferencePermitted(context, from, to))
    return err({ reason: 'RefNotPermitted', message: missingGrant(from, to) })
  const key = keyIn(to.namespace, to.name)
  const pem = authoritiesIn(context, 'configMaps', key)
  return pem !== undefined
    ? ok(pem)
    : err({
        reason: 'InvalidCACertificateRef',
        message: `tls.frontend: ConfigMap ${key} not found, or without certificates in ${CA_KEY}`,
      })
}
