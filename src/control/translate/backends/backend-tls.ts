// Translates a BackendTLSPolicy into the TLS settings towards its backend. A broken policy is an error: its backend is
// unusable and never gets plain text.

import { err, ok, type Result } from '../../../kit/result.js'
import type { SubjectAltName, UpstreamTls } from '../../../model/destination.js'
import { isHostname } from '../../../model/hostnames.js'
import type { BackendTlsPolicySpec } from '../../schema/kinds/backend-tls-policy.js'
import { formatPath } from '../../schema/kinds/field-path.js'
import { type Context, query } from '../world/context.js'
import { keyOf, targetKey } from '../world/world.js'
import {
  type TlsPolicy,
  type TlsPolicyProblem,
  translateAuthorities,
} from './backend-authorities.js'

/**
 * Returns the TLS settings towards a backend; undefined if no policy targets it, for plain text.
 * portName: name of the Service's port ("" if it has none), undefined for a ProxyBackend.
 */
export function tlsTowards(
  context: Context,
  target: string,
  portName: string | undefined,
): Result<UpstreamTls | undefined, string> {
  const policy = tlsPolicyFor(context, target, portName)
  if (policy === undefined) return ok(undefined)
  const tls = translateTlsPolicy(context, policy)
  return tls.ok
    ? tls
    : err(`its BackendTLSPolicy ${keyOf(policy)} is not valid: ${tls.error.message}`)
}

/**
 * Returns the policy in force: one for the port precedes one for the whole backend, then the oldest wins. For a
 * ProxyBackend, which has no named ports, a policy that names one is invalid but in force: never plain text.
 */
export function tlsPolicyFor(
  context: Context,
  target: string,
  portName: string | undefined,
): TlsPolicy | undefined {
  const first = firstBySection(context, target)
  return (
    first.get(portName) ??
    first.get(undefined) ??
    (portName === undefined ? context.reader.read('tlsPoliciesOn', target)?.[0] : undefined)
  )
}

/** Returns the first policy of each section of a backend, by precedence; undefined stands for the whole backend. */
export const firstBySection = (
  context: Context,
  target: string,
): ReadonlyMap<string | undefined, TlsPolicy> =>
  query(context, 'tls-sections', target, ({ reader }) => {
    const first = new Map<string | undefined, TlsPolicy>()
    for (const policy of reader.read('tlsPoliciesOn', target) ?? [])
      for (const section of sectionsOf(policy, target))
        if (!first.has(section)) first.set(section, policy)
    return first
  })

/** Returns the sectionNames with which a policy targets a backend; undefined stands for the whole backend. */
export const sectionsOf = (policy: TlsPolicy, target: string): readonly (string | undefined)[] =>
  policy.spec.targetRefs
    .filter(
      ({ group, kind, name }) => targetKey(group, kind, policy.metadata.namespace, name) === target,
    )
    .map(({ sectionName }) => sectionName)

/** Translates a policy; memoised. */
export const translateTlsPolicy = (
  context: Context,
  policy: TlsPolicy,
): Result<UpstreamTls, TlsPolicyProblem> =>
  query(context, 'tls-policy', policy, (own) => {
    const authorities = translateAuthorities(own, policy)
    // An unknown option may demand more security; ignoring it could weaken what the author intended.
    if (policy.unsupported.length > 0)
      return err({
        reason: 'Invalid',
        message: `${policy.unsupported.map(formatPath).join(', ')} not implemented`,
      })
    if (!authorities.ok) return authorities
    const section = policy.spec.targetRefs.find((ref) => isSectionOfBackend(own, ref))
    if (section !== undefined)
      return err({
        reason: 'Invalid',
        message: `targetRefs: ProxyBackend ${section.name} has no section ${section.sectionName}; leave sectionName out`,
      })
    const { hostname, subjectAltNames } = policy.spec.validation
    if (!isHostname(hostname))
      return err({ reason: 'Invalid', message: `"${hostname}" is not a host name` })
    return ok({
      hostname,
      subjectAltNames: subjectAltNames.map(subjectAltName),
      authorities: authorities.value,
    })
  })

const isSectionOfBackend = (
  { options }: Context,
  { group, kind, sectionName }: BackendTlsPolicySpec['targetRefs'][number],
): boolean => group === options.apiGroup && kind === 'ProxyBackend' && sectionName !== undefined

const subjectAltName = (
  name: BackendTlsPolicySpec['validation']['subjectAltNames'][number],
): SubjectAltName =>
  name.type === 'Hostname'
    ? { type: 'Hostname', value: name.hostname }
    : { type: 'URI', value: name.uri }
