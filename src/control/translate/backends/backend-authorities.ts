// Translates the authorities that a BackendTLSPolicy trusts, within what Envoy and Gatehouse have room for.

import { err, ok, type Result } from '../../../kit/result.js'
import { atOnce, type Work } from '../../../kit/turns.js'
import type { UpstreamTls } from '../../../model/destination.js'
import type { BackendTlsPolicySpec } from '../../schema/kinds/backend-tls-policy.js'
import type { Resource } from '../../schema/kinds/resources.js'
import { authoritiesIn, CA_KEY, joinAuthorities } from '../world/authorities.js'
import { type Context, query, queryWork } from '../world/context.js'
import type { LongQuery } from '../world/prepared.js'
import { createRoom } from '../world/room.js'
import { keyIn } from '../world/world.js'

/** A decoded BackendTLSPolicy. */
export type TlsPolicy = Resource<BackendTlsPolicySpec>

/** Why a policy cannot be used. */
export interface TlsPolicyProblem {
  /** Reason of the condition Accepted. */
  readonly reason: 'Invalid' | 'NoValidCACertificate'
  /** Reason of the condition ResolvedRefs, if the problem is a reference. */
  readonly refReason?: 'InvalidCACertificateRef' | 'InvalidKind'
  readonly message: string
}

/** Translates the authorities of a policy. */
export function translateAuthorities(
  context: Context,
  policy: TlsPolicy,
): Result<UpstreamTls['authorities'], TlsPolicyProblem> {
  const { wellKnownCACertificates, caCertificateRefs } = policy.spec.validation
  if ((wellKnownCACertificates === undefined) === (caCertificateRefs.length === 0))
    return err({
      reason: 'Invalid',
      message: 'exactly one of wellKnownCACertificates and caCertificateRefs is needed',
    })
  if (wellKnownCACertificates !== undefined)
    return systemAuthorities(context, policy, wellKnownCACertificates)
  const bundles = bundlesOf(context, policy)
  const usable = bundles.flatMap((bundle) => (bundle.ok ? [bundle.value] : []))
  const bad = bundles.find((bundle) => !bundle.ok)
  if (bad !== undefined && usable.length === 0) return bad
  const pem = joinAuthorities(usable, MOST_CHARACTERS)
  if (!pem.ok) return unusable(pem.error)
  const problem = roomProblem(context, policy)
  return problem === undefined ? ok({ pem: pem.value }) : unusable(problem)
}

function systemAuthorities(
  context: Context,
  policy: TlsPolicy,
  wellKnown: string,
): Result<'System', TlsPolicyProblem> {
  if (wellKnown !== 'System')
    return err({
      reason: 'Invalid',
      message: `wellKnownCACertificates ${wellKnown} is not known; expected System`,
    })
  const problem = roomProblem(context, policy)
  return problem === undefined ? ok('System') : unusable(problem, 'wellKnownCACertificates')
}

const unusable = (why: string, field = 'caCertificateRefs'): Result<never, TlsPolicyProblem> =>
  err({ reason: 'NoValidCACertificate', message: `${field}: ${why}` })

/** Characters of the authorities in PEM; each cluster of Envoy has a copy. */
const MOST_CHARACTERS = 1024 * 1024
/** Characters of all copies for the backends of a namespace: thousands of small policies may name one large ConfigMap. */
const MOST_IN_NAMESPACE = 32 * 1024 * 1024
/** Characters that a copy of the system's authorities counts as; they take 350 KB of each cluster in Envoy. */
const SYSTEM_CHARACTERS = 128 * 1024
/** Authorities up to this many characters always have room, so that a change among thousands of policies concerns few. */
const SMALL = 16 * 1024

/** Returns what is wrong if the authorities have no room beside those of older policies. */
function roomProblem(context: Context, policy: TlsPolicy): string | undefined {
  const { namespace } = policy.metadata
  if (sizeOf(context, policy) <= SMALL || withRoom(context, namespace).has(policy)) return undefined
  return `the authorities of the BackendTLSPolicies of namespace ${namespace}, each counted for every port of its targets, have more than ${MOST_IN_NAMESPACE} characters together; older policies have precedence`
}

/** Returns the policies of a namespace that are not small and have room, the oldest first. */
const withRoom = (context: Context, namespace: string): ReadonlySet<TlsPolicy> =>
  query(context, ROOM, namespace, (own) => atOnce(findRoom(own, namespace)))

const ROOM = 'tls-room'

function* findRoom(context: Context, namespace: string): Work<ReadonlySet<TlsPolicy>> {
  const found = new Set<TlsPolicy>()
  const room = createRoom(MOST_IN_NAMESPACE)
  for (const policy of context.reader.read('tlsPoliciesIn', namespace) ?? []) {
    const size = sizeOf(context, policy)
    // What is too long for one policy reaches no cluster.
    const counts = size > SMALL && size <= MOST_CHARACTERS
    const copies = counts ? size * copiesOf(context, policy) : 0
    if (copies > 0 && room(copies)) found.add(policy)
    yield
  }
  return found
}

/** Policies of one namespace from which on their room is computed in slices. */
const MANY = 100

/** Namespaces whose policies are many. */
export const MANY_TLS_POLICIES: LongQuery = {
  table: 'tlsPoliciesIn',
  isLong: ({ reader }, namespace) => (reader.read('tlsPoliciesIn', namespace)?.length ?? 0) > MANY,
  ask: (context, namespace) =>
    queryWork(context, ROOM, namespace, (own) => findRoom(own, namespace)),
}

const sizeOf = (context: Context, policy: TlsPolicy): number =>
  query(context, 'tls-size', policy, (own) =>
    bundlesOf(own, policy).reduce(
      (sum, bundle) => sum + (bundle.ok ? bundle.value.length : 0),
      policy.spec.validation.wellKnownCACertificates === 'System' ? SYSTEM_CHARACTERS : 0,
    ),
  )

/** Returns how many clusters the policy concerns at most. */
const copiesOf = ({ reader }: Context, { metadata, spec }: TlsPolicy): number =>
  spec.targetRefs.reduce((sum, { kind, name, sectionName }) => {
    const isWhole = kind === 'Service' && sectionName === undefined
    const service = isWhole ? reader.read('services', keyIn(metadata.namespace, name)) : undefined
    return sum + Math.max(1, service?.spec.ports.length ?? 1)
  }, 0)

/** Returns the problems of a policy's caCertificateRefs, which do not break it while another of them is usable. */
export const badAuthorities = (context: Context, policy: TlsPolicy): readonly TlsPolicyProblem[] =>
  bundlesOf(context, policy).flatMap((bundle) => (bundle.ok ? [] : [bundle.error]))

const bundlesOf = (
  context: Context,
  { metadata, spec }: TlsPolicy,
): readonly Result<string, TlsPolicyProblem>[] =>
  spec.validation.caCertificateRefs.map((ref) => readBundle(context, metadata.namespace, ref))

function readBundle(
  context: Context,
  namespace: string,
  { group, kind, name }: { readonly group: string; readonly kind: string; readonly name: string },
): Result<string, TlsPolicyProblem> {
  const bad = (refReason: TlsPolicyProblem['refReason'], message: string) =>
    err({ reason: 'NoValidCACertificate', refReason, message } as const)
  if (group !== '' || (kind !== 'ConfigMap' && kind !== 'Secret'))
    return bad(
      'InvalidKind',
      `caCertificateRefs: ${kind} ${name} is neither a ConfigMap nor a Secret`,
    )
  const table = kind === 'ConfigMap' ? 'configMaps' : 'secrets'
  const key = keyIn(namespace, name)
  if (context.reader.read(table, key) === undefined)
    return bad('InvalidCACertificateRef', `${kind} ${namespace}/${name} not found`)
  const pem = authoritiesIn(context, table, key)
  return pem !== undefined
    ? ok(pem)
    : bad('InvalidCACertificateRef', `${kind} ${namespace}/${name} has no certificate in ${CA_KEY}`)
}
