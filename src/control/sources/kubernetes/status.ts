// Computes the status of an object from its conditions (Gateway API: GatewayStatus, RouteStatus, PolicyStatus). Pure:
// keeps what other controllers wrote, and changes a transition time only with its status.

import { isJsonObject, type Json, type JsonObject } from '../../../model/json.js'
import type { Condition, GatewayAddress, GatewayName } from '../../../model/status.js'
import { GATEWAY_API_GROUP } from '../../schema/kinds/fields.js'

/** The content of a status. */
export interface StatusContent {
  readonly kind: string
  readonly conditions: readonly Condition[]
  /** The number of attached routes per listener, for a Gateway or ListenerSet. */
  readonly attachedRoutes?: ReadonlyMap<string, number>
  /** Addresses of a Gateway; absent: those that another writer set stay. */
  readonly addresses?: readonly GatewayAddress[]
  /** Number of ListenerSets of a Gateway; absent: it allows none. */
  readonly attachedListenerSets?: number
  /** Names of the features that a GatewayClass supports, sorted. */
  readonly supportedFeatures?: readonly string[]
}

/** What conditions need beside their content. */
export interface StatusContext {
  /** The controller name, <api group>/gatehouse. */
  readonly controllerName: string
  /** The current time (RFC 3339), for conditions that change now. */
  readonly now: string
}

/** Returns the new status; undefined if the object has it already or its kind has none. */
export function statusFor(
  object: JsonObject,
  wanted: StatusContent,
  context: StatusContext,
): JsonObject | undefined {
  const before = objectOf(object['status'])
  const after = writerOf(wanted.kind)?.(
    object,
    before,
    { ...wanted, conditions: withinRoom(observed(object, wanted)) },
    context,
  )
  return after === undefined || isSame(before, after) ? undefined : after
}

/** Adds the object's current generation to conditions without one: those of an object that cannot be decoded. */
function observed({ metadata }: JsonObject, { conditions }: StatusContent): readonly Condition[] {
  const { generation } = objectOf(metadata)
  return typeof generation === 'number'
    ? conditions.map((condition) => ({ observedGeneration: generation, ...condition }))
    : conditions
}

type Writer = (
  object: JsonObject,
  before: JsonObject,
  wanted: StatusContent,
  context: StatusContext,
) => JsonObject | undefined

const writerOf = (kind: string): Writer | undefined =>
  new Map<string, Writer>([
    ['GatewayClass', classStatus],
    ['ProxyBackend', ownConditions],
    ['ProxyParameters', ownConditions],
    ['Gateway', gatewayStatus],
    ['ListenerSet', gatewayStatus],
    ['HTTPRoute', routeStatus],
    ['ProxyPolicy', policyStatus],
    ['BackendTLSPolicy', policyStatus],
  ]).get(kind)

const ownConditions: Writer = (_, before, { conditions }, context) =>
  conditions.length === 0
    ? undefined
    : { ...before, conditions: merged(before['conditions'], conditions, context) }

const classStatus: Writer = (object, before, wanted, context) => {
  const status = ownConditions(object, before, wanted, context)
  const { supportedFeatures } = wanted
  return status === undefined || supportedFeatures === undefined
    ? status
    : { ...status, supportedFeatures: supportedFeatures.map((name) => ({ name })) }
}

const gatewayStatus: Writer = (object, before, wanted, context) => {
  const { conditions, attachedRoutes, addresses, attachedListenerSets } = wanted
  if (conditions.length === 0) return undefined
  const listeners = groupedBy(
    conditions.filter(({ section }) => section !== undefined),
    ({ section }) => section ?? '',
  )
  const known = listOf(before['listeners'])
  const specs = listOf(objectOf(object['spec'])['listeners'])
  return {
    ...before,
    ...(addresses !== undefined && {
      addresses: addresses.map(({ type, value }) => ({ type, value })),
    }),
    ...(attachedListenerSets !== undefined && { attachedListenerSets }),
    conditions: merged(
      before['conditions'],
      conditions.filter(({ section }) => section === undefined),
      context,
    ),
    listeners: [...listeners].map(([name, own]) => ({
      name,
      supportedKinds: supportedKinds(specs.find((each) => each['name'] === name)),
      attachedRoutes: attachedRoutes?.get(name) ?? 0,
      conditions: merged(known.find((each) => each['name'] === name)?.['conditions'], own, context),
    })),
  }
}

const HTTP_ROUTE = { group: GATEWAY_API_GROUP, kind: 'HTTPRoute' }

/** Returns the route kinds that the listener allows and Gatehouse supports. */
function supportedKinds(listener: JsonObject | undefined): readonly JsonObject[] {
  const { protocol, allowedRoutes } = listener ?? {}
  if (protocol !== 'HTTP' && protocol !== 'HTTPS') return []
  const asked = listOf(objectOf(allowedRoutes)['kinds'])
  const isAsked = ({ group = GATEWAY_API_GROUP, kind }: JsonObject): boolean =>
    group === HTTP_ROUTE.group && kind === HTTP_ROUTE.kind
  return asked.length === 0 || asked.some(isAsked) ? [HTTP_ROUTE] : []
}

const routeStatus: Writer = (object, before, { conditions }, context) => {
  const own = groupedBy(conditions, ({ ancestor, section, port }) =>
    parentKey(ancestor?.kind ?? 'Gateway', ancestor?.namespace, ancestor?.name, section, port),
  )
  const namespace = namespaceOf(object)
  const parentRefs = listOf(objectOf(object['spec'])['parentRefs']).filter(isParent)
  const parents = parentRefs.flatMap((parentRef) => {
    const { kind = 'Gateway', name, sectionName, port } = parentRef
    const parentNamespace = textOf(parentRef['namespace']) ?? namespace
    const of = own.get(parentKey(kind, parentNamespace, name, sectionName, port))
    return of === undefined ? [] : [{ ref: parentRef, conditions: of }]
  })
  return entries(before, { list: 'parents', ref: 'parentRef', max: 32 }, parents, context)
}

const parentKey = (...parts: readonly (Json | undefined)[]): string => JSON.stringify(parts)

const isParent = ({ group = GATEWAY_API_GROUP, kind = 'Gateway' }: JsonObject): boolean =>
  group === GATEWAY_API_GROUP && (kind === 'Gateway' || kind === 'ListenerSet')

const policyStatus: Writer = (object, before, { kind, conditions }, context) => {
  const target = listOf(objectOf(object['spec'])['targetRefs'])[0]
  const ofEach = groupedBy(conditions, ({ ancestor }) =>
    parentKey(ancestor?.namespace, ancestor?.name),
  )
  const ancestors = [...ofEach.values()].flatMap((of) => {
    const isOurs = kind === 'ProxyPolicy' || isOwnGroup(target?.['group'], context)
    const atTarget = isOurs ? targetAsAncestor(target, object) : undefined
    const gateway = of[0]?.ancestor
    const ref = gateway === undefined ? atTarget : gatewayAsAncestor(gateway)
    return ref === undefined ? [] : [{ ref, conditions: of }]
  })
  return entries(before, { list: 'ancestors', ref: 'ancestorRef', max: 16 }, ancestors, context)
}

/**
 * Whether the target is in Gatehouse's API group. Other controllers report on a BackendTLSPolicy of a Service that no
 * Gateway of Gatehouse uses.
 */
const isOwnGroup = (group: Json | undefined, { controllerName }: StatusContext): boolean =>
  typeof group === 'string' && controllerName === `${group}/gatehouse`

const gatewayAsAncestor = ({ namespace, name }: GatewayName): JsonObject => ({
  group: GATEWAY_API_GROUP,
  kind: 'Gateway',
  namespace,
  name,
})

/** Returns the target as the ancestorRef until a Gateway serves the policy, as its author looks there. */
function targetAsAncestor(
  target: JsonObject | undefined,
  object: JsonObject,
): JsonObject | undefined {
  const { group, kind, name } = target ?? {}
  if (typeof kind !== 'string' || typeof name !== 'string') return undefined
  return { group: textOf(group) ?? '', kind, namespace: namespaceOf(object), name }
}

interface EntryShape {
  readonly list: 'parents' | 'ancestors'
  readonly ref: 'parentRef' | 'ancestorRef'
  /** Maximum number of entries that the API allows. */
  readonly max: number
}

/**
 * Returns the status with Gatehouse's entries replaced. Those of other controllers stay unchanged, in front of them.
 */
function entries(
  before: JsonObject,
  { list, ref, max }: EntryShape,
  own: readonly { readonly ref: JsonObject; readonly conditions: readonly Condition[] }[],
  context: StatusContext,
): JsonObject | undefined {
  const { controllerName } = context
  const known = listOf(before[list])
  const others = known.filter((entry) => entry['controllerName'] !== controllerName)
  const mine = known.filter((entry) => entry['controllerName'] === controllerName)
  if (own.length === 0 && mine.length === 0) return undefined
  const written = own.slice(0, Math.max(0, max - others.length)).map((entry) => ({
    [ref]: entry.ref,
    controllerName,
    conditions: merged(
      mine.find((each) => isSame(objectOf(each[ref]), entry.ref))?.['conditions'],
      entry.conditions,
      context,
    ),
  }))
  return { ...before, [list]: [...others, ...written] }
}

/** Maximum length of a message, by the API. */
const MAX_MESSAGE = 32_768
/** Characters of all messages. An object may have 1.5 MB with its status; a larger one would be refused again and again. */
const MOST_OF_MESSAGES = 192 * 1024

/** Never ends within a surrogate pair, which the API server would replace: the status would seem overwritten. */
const beginning = (text: string, length: number): string =>
  text.slice(0, length).replace(/[\ud800-\udbff]$/, '')

/** Shortens the messages that take more than an equal share if together they are too long. */
function withinRoom(conditions: readonly Condition[]): readonly Condition[] {
  const shortened = (most: number): readonly Condition[] =>
    conditions.map((condition) =>
      condition.message.length <= most
        ? condition
        : { ...condition, message: `${beginning(condition.message, most - 1)}…` },
    )
  const all = shortened(MAX_MESSAGE)
  const length = all.reduce((sum, { message }) => sum + message.length, 0)
  return length <= MOST_OF_MESSAGES
    ? all
    : shortened(Math.floor(MOST_OF_MESSAGES / conditions.length))
}

/**
 * Merges conditions. A condition keeps its transition time while its status is the same; the first of a type counts.
 */
function merged(
  before: Json | undefined,
  conditions: readonly Condition[],
  { now }: StatusContext,
): readonly JsonObject[] {
  const known = new Map(listOf(before).map((condition) => [condition['type'], condition]))
  const byType = new Map<string, Condition>()
  for (const each of conditions) if (!byType.has(each.type)) byType.set(each.type, each)
  return [...byType.values()].map(({ type, status, reason, message, observedGeneration }) => {
    const was = known.get(type)
    return {
      type,
      status,
      reason,
      message,
      ...(observedGeneration !== undefined && { observedGeneration }),
      lastTransitionTime: (was?.['status'] === status && textOf(was['lastTransitionTime'])) || now,
    }
  })
}

function groupedBy(
  conditions: readonly Condition[],
  keyOf: (condition: Condition) => string,
): ReadonlyMap<string, readonly Condition[]> {
  const groups = new Map<string, Condition[]>()
  for (const condition of conditions) {
    const key = keyOf(condition)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [condition])
    else group.push(condition)
  }
  return groups
}

const objectOf = (json: Json | undefined): JsonObject => (isJsonObject(json) ? json : {})

const listOf = (json: Json | undefined): readonly JsonObject[] =>
  Array.isArray(json) ? (json as readonly Json[]).filter(isJsonObject) : []

const textOf = (json: Json | undefined): string | undefined =>
  typeof json === 'string' ? json : undefined

const namespaceOf = ({ metadata }: JsonObject): string =>
  textOf(objectOf(metadata)['namespace']) ?? ''

/** Whether both values are equal, regardless of member order. */
function isSame(a: Json | undefined, b: Json | undefined): boolean {
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((each, index) => isSame(each as Json, b[index] as Json))
  if (!isJsonObject(a) || !isJsonObject(b)) return a === b
  const names = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...names].every((name) => isSame(a[name], b[name]))
}
