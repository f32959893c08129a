// Builds the status of every resource, memoised per chunk of resources as in route-chunks.ts.

import { type Chunk, createChunker } from '../../incremental/chunked-list.js'
import { briefMemo, memo, memoWork } from '../../incremental/memo.js'
import type { Parts } from '../../incremental/sorted-list.js'
import type { Condition, ResourceStatus } from '../../ir/status.js'
import type { Resource, Resources } from '../../resources/kinds/resources.js'
import { mapEach, mapWork, type Work } from '../../turns.js'
import { gatewayClassStatus, type TranslatedGateway } from '../listeners/gateways.js'
import { gatewayOf, listenerSetStatus } from '../listeners/listener-set-status.js'
import { parametersConditions } from '../listeners/parameters.js'
import type { ProxyPolicy } from '../policies/policies.js'
import { sumHeirs } from '../routes/heirs.js'
import type { RouteChunk } from '../routes/route-chunks.js'
import { sumUnchecked, uncheckedAt } from '../routes/unchecked-routes.js'
import { isTrue, statusOf } from '../world/conditions.js'
import { type Context, queryWork } from '../world/context.js'
import { keyOf } from '../world/world.js'
import { isOnOthersAlone, tlsPolicyStatus } from './backend-tls-status.js'
import { isOnRoutesAlone, policyStatus, type Uses } from './policy-status.js'
import { boundListeners, type PortOwners, portOwners, withSharedPorts } from './shared-ports.js'
import { createUsers } from './users.js'

/** routes: the route chunks of this revision. */
export type BuildStatuses = (
  context: Context,
  resources: Resources,
  gateways: readonly TranslatedGateway[],
  routes: readonly RouteChunk[],
) => Work<Parts<ResourceStatus>>

/**
 * Creates the status builder of one translator. It memoises statuses that depend on the resource alone.
 * @param isMesh whether a mesh serves the Gateways.
 */
export function createStatusBuilder(isMesh: boolean): BuildStatuses {
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
  return function* (context, resources, gateways, routes) {
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
        ? (yield* mapWork(
            [
              ...[resources.gateways, resources.gatewayClasses, resources.httpRoutes],
              resources.listenerSets,
            ],
            silent,
          )).flat()
        : yield* sharedStatuses(context, resources, gateways, routes)),
      ...(yield* silent(resources.namespaces)),
      ...(yield* backends(resources.proxyBackends)),
      ...(yield* parameters(resources.proxyParameters)),
      ...(yield* ofPolicies(context, resources.proxyPolicies, uses)),
      ...(yield* silent(resources.referenceGrants)),
      ...(yield* silent(resources.secrets)),
      ...(yield* silent(resources.services)),
    ]
  }
}

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
