// Builds the status of every resource, memoised per chunk of resources as in route-chunks.ts.

import { type Chunk, concat, createChunker } from '../../incremental/chunked-list.js'
import { memo } from '../../incremental/memo.js'
import type { Condition, GatewayName, ResourceStatus } from '../../ir/status.js'
import type { Resource, Resources } from '../../resources/kinds/resources.js'
import { gatewayClassStatus, type TranslatedGateway } from '../listeners/gateways.js'
import { parametersConditions } from '../listeners/parameters.js'
import type { ProxyPolicy } from '../policies/policies.js'
import { type HeirsOfAll, sumHeirs } from '../routes/heirs.js'
import type { RouteChunk } from '../routes/route-chunks.js'
import { isTrue, statusOf } from '../world/conditions.js'
import { type Context, query } from '../world/context.js'
import { keyOf, uniqueGateways } from '../world/world.js'
import { isOnOthersAlone, tlsPolicyStatus } from './backend-tls-status.js'
import { isOnRoutesAlone, policyStatus, type Users, type Uses } from './policy-status.js'
import { withSharedPorts } from './shared-ports.js'

/** routes: the route chunks of this revision. */
export type BuildStatuses = (
  context: Context,
  resources: Resources,
  gateways: readonly TranslatedGateway[],
  routes: readonly RouteChunk[],
) => readonly ResourceStatus[]

/** Creates the status builder of one translator. It memoises statuses that depend on the resource alone. */
export function createStatusBuilder(): BuildStatuses {
  const chunksOf = createChunker<Resource<unknown>>(keyOf)
  /** Builds the statuses of a kind whose status depends on the resource alone. */
  const ownStatuses = <Spec>(conditionsOf: (spec: Spec) => readonly Condition[]) => {
    const one = memo((resource: Resource<Spec>) => statusOf(resource, conditionsOf(resource.spec)))
    const each = memo((resources: Chunk<Resource<Spec>>) => resources.map(one))
    return (resources: readonly Resource<Spec>[]): readonly ResourceStatus[] =>
      concat(chunksOf(resources).map(each))
  }
  const silent = ownStatuses<unknown>(() => [])
  const backends = ownStatuses<unknown>(() => [isTrue('Accepted', 'Accepted', 'Backend accepted')])
  const parameters = ownStatuses(parametersConditions)
  const areOnRoutesAlone = memo((policies: Chunk<ProxyPolicy>) => policies.every(isOnRoutesAlone))
  /** Memoises only policies that target nothing but routes: the others depend on `uses`, derived from all routes. */
  const ofPolicies = (
    context: Context,
    policies: readonly ProxyPolicy[],
    uses: Uses,
  ): readonly ResourceStatus[] =>
    concat(
      chunksOf(policies).map((chunk) => {
        const statuses = (own: Context) => chunk.map((policy) => policyStatus(own, policy, uses))
        return areOnRoutesAlone(chunk)
          ? query(context, 'statuses', chunk, statuses)
          : statuses(context)
      }),
    )
  return (context, resources, gateways, routes) => {
    let found: Users | undefined
    const users = () => (found ??= usersOf(routes))
    let summed: HeirsOfAll | undefined
    const heirs = () => (summed ??= sumHeirs(routes.map((chunk) => chunk.heirs)))
    return concat([
      resources.backendTlsPolicies.map((policy) =>
        context.options.mesh !== undefined && isOnOthersAlone(context, policy)
          ? statusOf(policy, [])
          : tlsPolicyStatus(context, policy, users),
      ),
      silent(resources.configMaps),
      silent(resources.endpointSlices),
      ...(context.options.mesh === undefined
        ? sharedStatuses(context, resources, gateways, routes)
        : [resources.gateways, resources.gatewayClasses, resources.httpRoutes].map(silent)),
      silent(resources.namespaces),
      backends(resources.proxyBackends),
      parameters(resources.proxyParameters),
      ofPolicies(context, resources.proxyPolicies, { users, heirs }),
      silent(resources.referenceGrants),
      silent(resources.secrets),
      silent(resources.services),
    ])
  }
}

/** Builds the statuses of the kinds that in a mesh are reported by its own controller. */
const sharedStatuses = (
  context: Context,
  resources: Resources,
  gateways: readonly TranslatedGateway[],
  routes: readonly RouteChunk[],
): readonly (readonly ResourceStatus[])[] => [
  gatewayStatuses(context, resources, gateways),
  resources.gatewayClasses.map((gatewayClass) => gatewayClassStatus(context, gatewayClass)),
  concat(routes.map(({ statuses }) => statuses)),
]

function gatewayStatuses(
  context: Context,
  resources: Resources,
  gateways: readonly TranslatedGateway[],
): readonly ResourceStatus[] {
  return resources.gateways.map((gateway) => {
    const index = gateways.findIndex((own) => own.gateway === gateway)
    const own = gateways[index]
    return own === undefined
      ? statusOf(gateway, [])
      : withSharedPorts(context, own, gateways.slice(0, index))
  })
}

/** Merges the users of all chunks, sorting the Gateways. */
function usersOf(chunks: readonly RouteChunk[]): Users {
  const users = new Map<string, GatewayName[]>()
  for (const chunk of chunks)
    for (const [target, gateways] of chunk.users) {
      const known = users.get(target)
      if (known === undefined) users.set(target, [...gateways])
      else known.push(...gateways)
    }
  return new Map([...users].map(([target, gateways]) => [target, uniqueGateways(gateways)]))
}
