// Builds the status of every resource, memoised per chunk of resources as in route-chunks.ts.

import { type Chunk, createChunker } from '../../../kit/incremental/chunked-list.js'
import type { KeyedMemo } from '../../../kit/incremental/keyed-memo.js'
import { briefMemo, memo, memoWork } from '../../../kit/incremental/memo.js'
import type { Parts } from '../../../kit/incremental/sorted-list.js'
import { mapEach, mapWork, type Work } from '../../../kit/turns.js'
import { asSentence, type Condition, nameFor, type ResourceStatus } from '../../../model/status.js'
import type { Resource, Resources } from '../../schema/kinds/resources.js'
import { badAuthorities, type TlsPolicy } from '../backends/backend-authorities.js'
import {
  firstBySection,
  sectionsOf,
  tlsPolicyFor,
  translateTlsPolicy,
} from '../backends/backend-tls.js'
import { gatewayClassStatus, type TranslatedGateway } from '../listeners/gateways.js'
import { gatewayOf, listenerSetStatus } from '../listeners/listener-set-status.js'
import { parametersConditions } from '../listeners/parameters.js'
import type { ProxyPolicy } from '../policies/policies.js'
import { sumHeirs } from '../routes/heirs.js'
import type { RouteChunk } from '../routes/route-chunks.js'
import type { Taken, TakenPaths } from '../routes/taken-paths.js'
import { sumUnchecked, uncheckedAt } from '../routes/unchecked-routes.js'
import { about, isFalse, isTrue, statusOf, uniqueLines } from '../world/conditions.js'
import { type Context, queryWork } from '../world/context.js'
import { backendKinds, kindMeant } from '../world/known-kinds.js'
import { keyIn, keyOf, targetKey, uniqueGateways } from '../world/world.js'
import { notFound } from './missing-target.js'
import { isOnRoutesAlone, policyStatus, type Uses } from './policy-status.js'
import { boundListeners, type PortOwners, portOwners, withSharedPorts } from './shared-ports.js'
import { createUsers, type Users } from './users.js'

/** What of a revision is beside its resources. */
export interface RevisionParts {
  readonly gateways: readonly TranslatedGateway[]
  readonly chunks: readonly RouteChunk[]
  readonly taken: TakenPaths
}

/** Builds the statuses of a revision. */
export type BuildStatuses = (
  context: Context,
  resources: Resources,
  parts: RevisionParts,
) => Work<Parts<ResourceStatus>>

/**
 * Creates the status builder of one translator. It memoises statuses that depend on the resource alone.
 * @param isMesh whether a mesh serves the Gateways.
 */
export function createStatusBuilder(isMesh: boolean, kept: KeyedMemo): BuildStatuses {
  const chunksOf = createChunker<Resource<unknown>>(keyOf)
  /** Builds the statuses of a kind whose status depends on the resource alone. */
  const ownStatuses = <Spec>(conditionsOf: (spec: Spec) => readonly Condition[]) => {
    const one = memo((resource: Resource<Spec>) => statusOf(resource, conditionsOf(resource.spec)))
    const ofChunk = memoWork((resources: Chunk<Resource<Spec>>) => mapEach(resources, one))
    return (resources: readonly Resource<Spec>[]): Work<Parts<ResourceStatus>> =>
      mapWork(chunksOf(resources), ofChunk)
  }
  const silent = ownStatuses<unknown>(() => [])
  const backends = ownStatuses<unknown>(() => [isTrue('Accepted', 'Accepted', 'Backend accepted')])
  const parameters = ownStatuses(parametersConditions)
  const areOnRoutesAlone = memo((policies: Chunk<ProxyPolicy>) =>
    policies.every((policy) => isOnRoutesAlone(policy, isMesh)),
  )
  /** Memoises only policies that depend on the routes they target: the others depend on `uses`, derived from all. */
  const ofPolicies = (
    context: Context,
    policies: readonly ProxyPolicy[],
    uses: Uses,
  ): Work<Parts<ResourceStatus>> =>
    mapWork(chunksOf(policies), (chunk) => {
      const ofChunk = (own: Context) => mapEach(chunk, (policy) => policyStatus(own, policy, uses))
      return areOnRoutesAlone(chunk)
        ? queryWork(context, 'statuses', chunk, ofChunk)
        : ofChunk(context)
    })
  const users = createUsers()
  return function* (context, resources, { gateways, chunks: routes, taken }) {
    const heirs = lazily(() => sumHeirs(routes.map((chunk) => chunk.heirs)))
    const unchecked = lazily(() => sumUnchecked(routes.flatMap((chunk) => chunk.unchecked ?? [])))
    const uses = { users, heirs, uncheckedAt: (host: string) => uncheckedAt(unchecked(), host) }
    yield* users.update(routes)
    return [
      yield* mapEach(resources.backendTlsPolicies, (policy) =>
        isMesh && isOnOthersAlone(context, policy)
          ? statusOf(policy, [])
          : tlsPolicyStatus(context, policy, users),
      ),
      ...(yield* silent(resources.configMaps)),
      ...(yield* silent(resources.endpointSlices)),
      ...(isMesh
        ? (yield* mapWork(ofOthers(resources), silent)).flat()
        : yield* sharedStatuses(context, resources, gateways, routes)),
      ...(yield* silent(resources.namespaces)),
      ...(yield* backends(resources.proxyBackends)),
      ...(yield* parameters(resources.proxyParameters)),
      ...withTaken(kept, yield* ofPolicies(context, resources.proxyPolicies, uses), taken),
      ...(yield* silent(resources.referenceGrants)),
      ...(yield* silent(resources.secrets)),
      ...(yield* silent(resources.services)),
    ]
  }
}

/** Returns the resources whose statuses the mesh writes. */
const ofOthers = ({
  gateways,
  gatewayClasses,
  httpRoutes,
  listenerSets,
}: Resources): readonly (readonly Resource<unknown>[])[] => [
  gateways,
  gatewayClasses,
  httpRoutes,
  listenerSets,
]

/** Returns a function that computes the value at the first call. */
function lazily<Value extends object>(compute: () => Value): () => Value {
  let value: Value | undefined
  return () => (value ??= compute())
}

/** Builds the statuses of the kinds that in a mesh are reported by its own controller. */
function* sharedStatuses(
  context: Context,
  resources: Resources,
  gateways: readonly TranslatedGateway[],
  routes: readonly RouteChunk[],
): Work<Parts<ResourceStatus>> {
  const owners = portOwners(gateways)
  return [
    yield* gatewayStatuses(context, resources, gateways, owners),
    resources.gatewayClasses.map((gatewayClass) => gatewayClassStatus(context, gatewayClass)),
    ...routes.map(({ statuses }) => statuses),
    yield* listenerSetStatuses(context, resources, owners),
  ]
}

function listenerSetStatuses(
  context: Context,
  { listenerSets }: Resources,
  owners: PortOwners,
): Work<readonly ResourceStatus[]> {
  const bound = briefMemo((gateway: TranslatedGateway) => boundListeners(context, gateway, owners))
  return mapEach(listenerSets, (set) => {
    const gateway = gatewayOf(context, set)
    return listenerSetStatus(context, set, gateway, gateway && bound(gateway))
  })
}

function gatewayStatuses(
  context: Context,
  resources: Resources,
  gateways: readonly TranslatedGateway[],
  owners: PortOwners,
): Work<readonly ResourceStatus[]> {
  const translated = new Map(gateways.map((own) => [own.gateway, own]))
  return mapEach(resources.gateways, (gateway) => {
    const own = translated.get(gateway)
    return own === undefined ? statusOf(gateway, []) : withSharedPorts(context, own, owners)
  })
}

// Says in the status of a policy that requests of its MCP routes go to HTTPRoutes of other namespaces, which it does not name.

/** parts: the statuses of policies. A part stays the same list if nothing is taken of their routes. */
const withTaken = (
  kept: KeyedMemo,
  parts: Parts<ResourceStatus>,
  taken: TakenPaths,
): Parts<ResourceStatus> =>
  taken.size === 0 ? parts : parts.map((statuses) => partWith(kept, statuses, taken))

function partWith(
  kept: KeyedMemo,
  statuses: readonly ResourceStatus[],
  taken: TakenPaths,
): readonly ResourceStatus[] {
  const of = ({ namespace, name }: ResourceStatus): readonly Taken[] =>
    taken.get(keyIn(namespace, name)) ?? []
  const all = statuses.flatMap(of)
  const [first] = statuses
  if (all.length === 0 || first === undefined) return statuses
  const key = `taken of policies from ${keyIn(first.namespace, first.name)}`
  return kept.get(key, [statuses, ...all], () =>
    statuses.map((status) => reporting(status, of(status))),
  )
}

function reporting(status: ResourceStatus, taken: readonly Taken[]): ResourceStatus {
  if (taken.length === 0) return status
  const { namespace } = status
  const warnings = taken
    .filter(({ paths }) => paths.length > 0)
    .map((one) => pathsLine(namespace, one))
  const notes = taken.flatMap((one) => belowLine(namespace, one))
  const conditions = status.conditions.map((condition) =>
    condition.type === 'Accepted' && condition.status === 'True'
      ? withLines(condition, warnings, notes)
      : condition,
  )
  return { ...status, conditions }
}

const ACCEPTED = 'Policy accepted'

function withLines(
  condition: Condition,
  warnings: readonly string[],
  notes: readonly string[],
): Condition {
  const lines = condition.message.split('\n')
  return warnings.length === 0
    ? { ...condition, message: uniqueLines([...lines, ...notes]) }
    : {
        ...condition,
        reason: 'PartiallyValid',
        message: uniqueLines([...warnings, ...lines.filter((line) => line !== ACCEPTED), ...notes]),
      }
}

const nameOf = (namespace: string, { route }: Taken): string =>
  asSentence(nameFor(namespace, 'HTTPRoute', route))

const isOwn = (namespace: string, { route }: Taken): boolean =>
  route.startsWith(keyIn(namespace, ''))

/** A policy of a Gateway does not tell the paths of another namespace. */
const pathsLine = (namespace: string, one: Taken): string =>
  `${nameOf(namespace, one)}: requests of ${isOwn(namespace, one) ? one.paths.join(' and ') : 'its MCP clients'} go to an HTTPRoute of another namespace on the same host, whose match precedes: clients may not reach the server or log in elsewhere`

const belowLine = (namespace: string, one: Taken): readonly string[] =>
  one.below === undefined
    ? []
    : [
        `${nameOf(namespace, one)}: requests of paths below ${isOwn(namespace, one) ? one.below : 'its endpoint'} go to an HTTPRoute of another namespace on the same host, whose match precedes`,
      ]

// Builds the status of a BackendTLSPolicy: Accepted and ResolvedRefs for each Gateway whose routes use its backends.

/** Whether all targets are of kinds that Gatehouse does not read, such as backends of a mesh. */
const isOnOthersAlone = ({ options }: Context, { spec }: TlsPolicy): boolean =>
  spec.targetRefs.every(
    ({ group, kind }) =>
      !(group === '' && kind === 'Service') &&
      !(group === options.apiGroup && kind === 'ProxyBackend'),
  )

/** Builds the status of a BackendTLSPolicy. */
function tlsPolicyStatus(context: Context, policy: TlsPolicy, users: Users): ResourceStatus {
  const targets = policy.spec.targetRefs.map(({ group, kind, name }) =>
    targetKey(group, kind, policy.metadata.namespace, name),
  )
  const gateways = uniqueGateways(targets.flatMap((target) => users.of(target)))
  const conditions = tlsPolicyConditions(context, policy, targets)
  return statusOf(
    policy,
    gateways.length === 0
      ? conditions
      : gateways.flatMap((ancestor) => about(conditions, { ancestor })),
  )
}

function tlsPolicyConditions(
  context: Context,
  policy: TlsPolicy,
  targets: readonly string[],
): readonly Condition[] {
  const tls = translateTlsPolicy(context, policy)
  const refs = resolvedRefs(context, policy)
  if (!tls.ok) return [isFalse('Accepted', tls.error.reason, tls.error.message), refs]
  const missing = policy.spec.targetRefs.flatMap((ref) => missingTarget(context, policy, ref))
  if (missing.length > 0) return [isFalse('Accepted', 'TargetNotFound', missing.join('\n')), refs]
  const winner = targets.map((target) => winnerOver(context, policy, target)).find(Boolean)
  return winner === undefined
    ? [isTrue('Accepted', 'Accepted', 'Policy accepted'), refs]
    : [
        isFalse(
          'Accepted',
          'Conflicted',
          `The older BackendTLSPolicy ${winner} has the same target`,
        ),
        refs,
      ]
}

function resolvedRefs(context: Context, policy: TlsPolicy): Condition {
  const bad = badAuthorities(context, policy)
  const reason = bad[0]?.refReason
  return reason === undefined
    ? isTrue('ResolvedRefs', 'ResolvedRefs', 'All references resolved')
    : isFalse('ResolvedRefs', reason, bad.map(({ message }) => message).join('\n'))
}

function missingTarget(
  context: Context,
  policy: TlsPolicy,
  ref: TlsPolicy['spec']['targetRefs'][number],
): readonly string[] {
  const { reader, options } = context
  const key = keyIn(policy.metadata.namespace, ref.name)
  if (ref.group === options.apiGroup && ref.kind === 'ProxyBackend')
    return reader.read('proxyBackends', key) === undefined
      ? [notFound(context, 'ProxyBackend', policy.metadata.namespace, ref.name)]
      : []
  if (ref.group !== '' || ref.kind !== 'Service')
    return [
      `target ${ref.kind} ${ref.name} of group "${ref.group}" is not known; expected Service of the core group or ProxyBackend of ${options.apiGroup}${kindMeant(ref, backendKinds(options.apiGroup))}`,
    ]
  const service = reader.read('services', key)
  if (service === undefined)
    return [notFound(context, 'Service', policy.metadata.namespace, ref.name)]
  const { sectionName } = ref
  return sectionName === undefined || service.spec.ports.some(({ name }) => name === sectionName)
    ? []
    : [`port ${sectionName} not found in Service ${key}`]
}

/** Returns the key of the policy that is in force instead of this one; undefined: none. */
function winnerOver(context: Context, policy: TlsPolicy, target: string): string | undefined {
  const winners = sectionsOf(policy, target).map((section) =>
    section === undefined
      ? firstBySection(context, target).get(undefined)
      : tlsPolicyFor(context, target, section),
  )
  const winner = winners.find((other) => other !== undefined && other !== policy)
  return winner === undefined ? undefined : keyOf(winner)
}
