// Translates the listeners of a Gateway and of its ListenerSets: certificates, whether Envoy gets them, and conditions (Gateway API, Gateway
// listeners).

import { isHostnamePattern } from '../../../model/hostnames.js'
import type { Certificate, ClientTls } from '../../../model/ir.js'
import { routeConfigName } from '../../../model/names.js'
import type { Condition } from '../../../model/status.js'
import { type FieldPath, formatPath } from '../../schema/kinds/field-path.js'
import { GATEWAY_API_GROUP } from '../../schema/kinds/fields.js'
import type { GatewaySpec } from '../../schema/kinds/gateway.js'
import type { Resource } from '../../schema/kinds/resources.js'
import { isFalse, isTrue } from '../world/conditions.js'
import type { Context } from '../world/context.js'
import { selectorProblem } from '../world/label-selector.js'
import { keyIn, keyOf } from '../world/world.js'
import { type CertificateProblem, resolveCertificate } from './certificates.js'
import { validationOf } from './client-validation.js'
import { conflictOf, isImplemented } from './listener-conflicts.js'

/** A decoded Gateway. */
export type GatewayResource = Resource<GatewaySpec>
/** A listener of a Gateway or ListenerSet, as written. */
export type ListenerSpec = GatewaySpec['listeners'][number]
/** The Gateway or ListenerSet that has the listener. */
export type ListenerOwner = Resource<{ readonly listeners: readonly ListenerSpec[] }>

/** A translated listener. */
export interface TranslatedListener {
  readonly spec: ListenerSpec
  readonly owner: ListenerOwner
  /** Its name, which is unique in the Gateway; for a ListenerSet after NAMESPACE/NAME. */
  readonly id: string
  /** Name of the route configuration for its routes. */
  readonly routeConfig: string
  /** The usable certificates of an HTTPS listener. */
  readonly certificates: readonly Certificate[]
  /** How clients are checked by their certificates; absent: they need none. */
  readonly clients?: ClientTls
  /** Whether Envoy gets the listener. */
  readonly isProgrammed: boolean
  /** Whether another listener has its port, or its host name there. */
  readonly isConflicted: boolean
  readonly conditions: readonly Condition[]
}

/** refusal: why a listener of a ListenerSet is refused, whatever it contains. */
export function translateListener(
  context: Context,
  gateway: GatewayResource,
  { owner, spec, refusal: given }: ListenerOf,
): TranslatedListener {
  const { namespace, name } = gateway.metadata
  const id = isOfSet(owner) ? keyIn(keyOf(owner), spec.name) : spec.name
  const own = spec.protocol === 'HTTPS' ? [id] : []
  const { certificates, problems } = certificatesOf(context, owner, spec)
  const validation = validationOf(context, gateway, spec)
  const refusal =
    given ?? refusalOf(gateway, owner, spec) ?? (validation.isUnusable ? NO_AUTHORITY : undefined)
  const hasCertificate = spec.protocol !== 'HTTPS' || certificates.length > 0
  const isProgrammed = refusal === undefined && hasCertificate
  const isConflicted = refusal?.isConflict === true
  return {
    spec,
    owner,
    id,
    isConflicted,
    routeConfig: routeConfigName(namespace, name, spec.port, ...own),
    certificates,
    ...(validation.clients === undefined ? {} : { clients: validation.clients }),
    isProgrammed,
    conditions: [
      ...acceptance(spec, refusal),
      isProgrammed
        ? isTrue('Programmed', 'Programmed', 'Listener published')
        : isFalse(
            'Programmed',
            isOfSet(owner) && isConflicted ? refusal.reason : 'Invalid',
            'Listener is not published',
          ),
      resolvedRefs(spec, [...problems, ...validation.problems]),
    ],
  }
}

/** A listener, and why it is refused, if that does not depend on its own content. */
export interface ListenerOf {
  readonly owner: ListenerOwner
  readonly spec: ListenerSpec
  readonly refusal?: ListenerRefusal | undefined
}

/** Whether the owner is a ListenerSet. */
export const isOfSet = ({ kind }: Pick<ListenerOwner, 'kind'>): boolean => kind === 'ListenerSet'

/** Why a listener is not served. */
export interface ListenerRefusal {
  readonly reason: string
  readonly message: string
  readonly isConflict?: boolean
}

/** Without authorities nobody could be checked, and the port would be open to all. */
const NO_AUTHORITY: ListenerRefusal = {
  reason: 'NoValidCACertificate',
  message: 'no caCertificateRef of tls.frontend for its port is valid',
}

function refusalOf(
  gateway: GatewayResource,
  owner: ListenerOwner,
  spec: ListenerSpec,
): ListenerRefusal | undefined {
  if (!isImplemented(spec))
    return {
      reason: 'UnsupportedProtocol',
      message: `protocol ${spec.protocol} is not implemented; expected HTTP or HTTPS`,
    }
  if (spec.protocol === 'HTTPS' && spec.tls?.mode === 'Passthrough')
    return {
      reason: 'UnsupportedValue',
      message: 'tls.mode Passthrough is not implemented; expected Terminate',
    }
  if (spec.hostname !== undefined && !isHostnamePattern(spec.hostname))
    return { reason: 'UnsupportedValue', message: `"${spec.hostname}" is not a host name` }
  // An unknown TLS setting may limit who can connect; without it the listener would be too open.
  const tlsFields = [
    ...gateway.unsupported.filter(isTlsOfAll),
    ...owner.unsupported.filter((field) => isTlsOfListener(owner, spec, field)),
  ]
  if (spec.protocol === 'HTTPS' && tlsFields.length > 0)
    return {
      reason: 'UnsupportedValue',
      message: `${tlsFields.map(formatPath).join(', ')} not implemented`,
    }
  const conflict = conflictOf(owner.spec.listeners, spec)
  return conflict === undefined ? undefined : { ...conflict, isConflict: true }
}

/** Whether an unknown field of a Gateway is about the TLS of all its listeners. */
const isTlsOfAll = ([, part, name]: FieldPath): boolean =>
  part === 'tls' && (name === undefined || String(name).startsWith('frontend'))

function isTlsOfListener(
  { spec }: ListenerOwner,
  listener: ListenerSpec,
  [, part, index, member, name]: FieldPath,
): boolean {
  const isOfListener = part === 'listeners' && index === spec.listeners.indexOf(listener)
  return isOfListener && member === 'tls' && name !== undefined
}

/** Whether an HTTPS listener of the Gateway or ListenerSet is refused because of the field. */
export const isRefusing = (owner: ListenerOwner, field: FieldPath): boolean =>
  owner.spec.listeners.some(
    (spec) =>
      spec.protocol === 'HTTPS' &&
      ((!isOfSet(owner) && isTlsOfAll(field)) || isTlsOfListener(owner, spec, field)),
  )

function acceptance(
  spec: ListenerSpec,
  refusal: ListenerRefusal | undefined,
): readonly Condition[] {
  if (refusal === undefined)
    return [isTrue('Accepted', 'Accepted', `Listener accepted${selectorNote(spec)}`)]
  const accepted = isFalse('Accepted', refusal.reason, refusal.message)
  return refusal.isConflict === true
    ? [accepted, isTrue('Conflicted', refusal.reason, refusal.message)]
    : [accepted]
}

function selectorNote({ allowedRoutes }: ListenerSpec): string {
  const { from, selector } = allowedRoutes.namespaces
  const problem = from === 'Selector' ? selectorProblem(selector) : undefined
  return problem === undefined
    ? ''
    : `; allowedRoutes.namespaces.selector allows no route: ${problem}`
}

/** Whether allowedRoutes.kinds has HTTPRoute. */
export const allowsHttpRoutes = ({ allowedRoutes }: ListenerSpec): boolean =>
  allowedRoutes.kinds.length === 0 || allowedRoutes.kinds.some(isHttpRoute)

const isHttpRoute = ({ group, kind }: { readonly group: string; readonly kind: string }): boolean =>
  group === GATEWAY_API_GROUP && kind === 'HTTPRoute'

function resolvedRefs(spec: ListenerSpec, problems: readonly CertificateProblem[]): Condition {
  const unknown = spec.allowedRoutes.kinds.filter((kind) => !isHttpRoute(kind))
  const [first] = problems
  if (first !== undefined)
    return isFalse('ResolvedRefs', first.reason, problems.map(({ message }) => message).join('\n'))
  return unknown.length > 0
    ? isFalse(
        'ResolvedRefs',
        'InvalidRouteKinds',
        `allowedRoutes.kinds: ${unknown.map(({ kind }) => kind).join(', ')} not implemented; expected HTTPRoute`,
      )
    : isTrue('ResolvedRefs', 'ResolvedRefs', 'All references resolved')
}

/**
 * Characters of the certificates of a listener in PEM. Envoy parses them again for each listener, in its main thread: one
 * Secret of a megabyte, named by all listeners of a ListenerSet, would keep it busy for minutes.
 */
const MOST_CHARACTERS = 512 * 1024

const beyondRoom = (secret: string): string =>
  `Secret ${secret} is not used: the certificates of a listener may have ${MOST_CHARACTERS} characters together`

function certificatesOf(
  context: Context,
  { kind, metadata: { namespace } }: ListenerOwner,
  spec: ListenerSpec,
): { readonly certificates: Certificate[]; readonly problems: CertificateProblem[] } {
  const certificates: Certificate[] = []
  const problems: CertificateProblem[] = []
  let characters = 0
  if (spec.protocol !== 'HTTPS') return { certificates, problems }
  for (const ref of spec.tls?.certificateRefs ?? []) {
    const certificate = resolveCertificate(context, { kind, namespace }, ref)
    if (!certificate.ok) {
      problems.push(certificate.error)
      continue
    }
    const { name, certificateChain, privateKey } = certificate.value
    // Envoy would parse a Secret that is named twice as often.
    if (certificates.some((other) => other.name === name)) continue
    const size = certificateChain.length + privateKey.length
    if (characters + size > MOST_CHARACTERS)
      problems.push({ reason: 'InvalidCertificateRef', message: beyondRoom(name) })
    else {
      certificates.push(certificate.value)
      characters += size
    }
  }
  if (certificates.length + problems.length === 0)
    problems.push({
      reason: 'InvalidCertificateRef',
      message: 'tls.certificateRefs is empty; an HTTPS listener needs a certificate',
    })
  return { certificates, problems }
}
