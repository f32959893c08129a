// Resources and what is known of remote documents → the model, every resource's status, and the documents wanted.
// Pure and synchronous; it only remembers its own results, so that one change among thousands costs one.

import type { Ir } from '../ir/ir.js'
import type { RemoteState, WantedDocument } from '../ir/remote-target.js'
import type { Condition, ResourceStatus } from '../ir/status.js'
import type { Resource, Resources } from '../resources/resources.js'
import { tlsPolicyStatus } from './backend-tls-status.js'
import { isTrue, statusOf } from './conditions.js'
import { recalled, type Context, type TranslatorOptions } from './context.js'
import { withSharedPorts } from './shared-ports.js'
import { gatewayClassStatus, translateGateway, type TranslatedGateway } from './gateways.js'
import { buildGateways, certificatesOf } from './ir-listeners.js'
import { parametersConditions } from './parameters.js'
import { policyStatus, type Users } from './policy-status.js'
import { createRecall, type Recall } from './recall.js'
import { translateRoute, type TranslatedRoute } from './routes.js'
import { createShelf, type Shelf } from './shelf.js'
import { buildWorld, compareText, keyOf, type BuiltWorld } from './world.js'

export interface Translation {
  readonly ir: Ir
  /** Of every resource, sorted by kind, namespace and name; without conditions for kinds that have none. */
  readonly statuses: readonly ResourceStatus[]
  /** Sorted by id. */
  readonly wanted: readonly WantedDocument[]
  /** How many routes are attached to a listener, by listenerKey(). */
  readonly attachedRoutes: ReadonlyMap<string, number>
}

export interface Translator {
  translate(resources: Resources, remote: RemoteState): Translation
}

export function createTranslator(options: TranslatorOptions): Translator {
  const recall: Recall = createRecall()
  const shelf: Shelf = createShelf()
  let built: BuiltWorld | undefined
  return {
    translate: (resources, remote) => {
      built = buildWorld(resources, remote, built)
      const context: Context = { reader: recall.round(built.world), options }
      const translation = translateAll(context, shelf, resources)
      shelf.endRound()
      return translation
    },
  }
}

function translateAll(context: Context, shelf: Shelf, resources: Resources): Translation {
  const gateways = resources.gateways.flatMap((gateway) => ownGateway(context, keyOf(gateway)))
  const routes = resources.httpRoutes.map((route) => translateRoute(context, route))
  return {
    ir: buildIr(shelf, gateways, routes),
    statuses: buildStatuses(context, resources, gateways, routes),
    wanted: sortedUnique(
      routes.flatMap(({ wanted }) => wanted),
      ({ id }) => id,
    ),
    attachedRoutes: countAttached(routes),
  }
}

function countAttached(routes: readonly TranslatedRoute[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { listeners } of routes)
    for (const listener of listeners) counts.set(listener, (counts.get(listener) ?? 0) + 1)
  return counts
}

function ownGateway(context: Context, key: string): readonly TranslatedGateway[] {
  const gateway = translateGateway(context, key)
  return gateway === undefined || gateway === 'foreign' ? [] : [gateway]
}

const buildIr = (
  shelf: Shelf,
  gateways: readonly TranslatedGateway[],
  routes: readonly TranslatedRoute[],
): Ir => ({
  gateways: buildGateways(shelf, gateways, routes),
  destinations: sortedUnique(
    routes.flatMap(({ destinations }) => destinations),
    ({ name }) => name,
  ),
  certificates: sortedUnique(certificatesOf(gateways), ({ name }) => name),
  authz: sortedUnique(
    routes.flatMap(({ authz }) => authz),
    ({ key }) => key,
  ),
  proc: sortedUnique(
    routes.flatMap(({ proc }) => proc),
    ({ key }) => key,
  ),
})

function buildStatuses(
  context: Context,
  resources: Resources,
  gateways: readonly TranslatedGateway[],
  routes: readonly TranslatedRoute[],
): readonly ResourceStatus[] {
  const users = usersOf(routes)
  const silent = (kept: readonly Resource<unknown>[]) =>
    kept.map((resource) => own(resource, () => []))
  const own = (resource: Resource<unknown>, conditions: () => readonly Condition[]) =>
    recalled(context, 'status', resource, () => statusOf(resource, conditions()))
  return [
    ...resources.backendTlsPolicies.map((policy) => tlsPolicyStatus(context, policy, users)),
    ...silent(resources.configMaps),
    ...silent(resources.endpointSlices),
    ...gatewayStatuses(resources, gateways),
    ...resources.gatewayClasses.map((gatewayClass) => gatewayClassStatus(context, gatewayClass)),
    ...routes.map(({ status }) => status),
    ...resources.proxyBackends.map((backend) => own(backend, () => [BACKEND_ACCEPTED])),
    ...resources.proxyParameters.map((parameters) =>
      own(parameters, () => parametersConditions(parameters.spec)),
    ),
    ...resources.proxyPolicies.map((policy) => policyStatus(context, policy, users)),
    ...silent(resources.referenceGrants),
    ...silent(resources.secrets),
    ...silent(resources.services),
  ]
}

const BACKEND_ACCEPTED = isTrue('Accepted', 'Accepted', 'Backend accepted')

function gatewayStatuses(
  resources: Resources,
  gateways: readonly TranslatedGateway[],
): readonly ResourceStatus[] {
  return resources.gateways.map((gateway) => {
    const index = gateways.findIndex((own) => own.gateway === gateway)
    const own = gateways[index]
    return own === undefined
      ? statusOf(gateway, [])
      : withSharedPorts(own, gateways.slice(0, index))
  })
}

/** targetKey() of each backend → the Gateways whose routes, or the policies on them, use it. */
function usersOf(routes: readonly TranslatedRoute[]): Users {
  const users = new Map<string, Set<string>>()
  for (const { uses, gateways } of routes)
    for (const target of uses) {
      const known = users.get(target) ?? new Set<string>()
      users.set(target, known)
      for (const gateway of gateways) known.add(gateway)
    }
  return new Map([...users].map(([target, known]) => [target, [...known].sort(compareText)]))
}

/** Things of the same name are equal: the first of them is kept. */
function sortedUnique<Value>(
  values: readonly Value[],
  nameOf: (value: Value) => string,
): readonly Value[] {
  const byName = new Map<string, Value>()
  for (const value of values) if (!byName.has(nameOf(value))) byName.set(nameOf(value), value)
  return [...byName].sort(([a], [b]) => compareText(a, b)).map(([, value]) => value)
}
