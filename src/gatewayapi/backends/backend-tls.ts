// Translates a BackendTLSPolicy into the TLS settings towards its backend. A broken policy is an error: its backend is
// unusable and never gets plain text.

import type { SubjectAltName, UpstreamTls } from '../../ir/destination.js'
import { isHostname } from '../../ir/hostnames.js'
import type { BackendTlsPolicySpec } from '../../resources/kinds/backend-tls-policy.js'
import { formatPath } from '../../resources/kinds/field-path.js'
import type { Resource } from '../../resources/kinds/resources.js'
import { err, ok, type Result } from '../../result.js'
import { authoritiesIn, CA_KEY, joinAuthorities } from '../world/authorities.js'
import { type Context, query } from '../world/context.js'
import { keyIn, keyOf, targetKey } from '../world/world.js'

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

function translateAuthorities(
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
    return wellKnownCACertificates === 'System'
      ? ok('System')
      : err({
          reason: 'Invalid',
          message: `wellKnownCACertificates ${wellKnownCACertificates} is not known; expected System`,
        })
  const bundles = caCertificateRefs.map((ref) =>
    readBundle(context, policy.metadata.namespace, ref),
  )
  const usable = bundles.flatMap((bundle) => (bundle.ok ? [bundle.value] : []))
  const bad = bundles.find((bundle) => !bundle.ok)
  if (bad !== undefined && usable.length === 0) return bad
  const pem = joinAuthorities(usable, MOST_CHARACTERS)
  return pem.ok
    ? ok({ pem: pem.value })
    : err({ reason: 'NoValidCACertificate', message: `caCertificateRefs: ${pem.error}` })
}

/** Characters of the authorities in PEM; each cluster of Envoy has a copy. */
const MOST_CHARACTERS = 1024 * 1024

/** Returns the problems of a policy's caCertificateRefs, which do not break it while another of them is usable. */
export const badAuthorities = (context: Context, policy: TlsPolicy): readonly TlsPolicyProblem[] =>
  policy.spec.validation.caCertificateRefs.flatMap((ref) => {
    const bundle = readBundle(context, policy.metadata.namespace, ref)
    return bundle.ok ? [] : [bundle.error]
  })

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
