// Resources and what is known of remote documents → the model, every resource's status, and the documents wanted.
// Pure and synchronous; it only remembers its own results, so that one change among thousands costs one.

import type { AuthzEntry } from '../ir/authz-entry.js'
import type { Destination } from '../ir/destination.js'
import type { Certificate, Ir } from '../ir/ir.js'
import type { ProcEntry } from '../ir/proc-entry.js'
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
import { createSortedList } from './sorted-list.js'
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
  const lists = createLists()
  let built: BuiltWorld | undefined
  return {
    translate: (resources, remote) => {
      built = buildWorld(resources, remote, built)
      const context: Context = { reader: recall.round(built.world), options }
      const translation = translateAll(context, { shelf, lists }, resources)
      shelf.endRound()
      return translation
    },
  }
}

/** What is kept from round to round beside what is recalled. */
interface Kept {
  readonly shelf: Shelf
  readonly lists: ReturnType<typeof createLists>
}

const createLists = () => ({
  destinations: createSortedList(({ name }: Destination) => name),
  certificates: createSortedList(({ name }: Certificate) => name),
  authz: createSortedList(({ key }: AuthzEntry) => key),
  proc: createSortedList(({ key }: ProcEntry) => key),
  wanted: createSortedList(({ id }: WantedDocument) => id),
})

function translateAll(context: Context, kept: Kept, resources: Resources): Translation {
  const gateways = resources.gateways.flatMap((gateway) => ownGateway(context, keyOf(gateway)))
  const routes = resources.httpRoutes.map((route) => translateRoute(context, route))
  return {
    ir: buildIr(kept, gateways, routes),
    statuses: buildStatuses(context, resources, gateways, routes),
    wanted: kept.lists.wanted(routes.flatMap(({ wanted }) => wanted)),
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
  { shelf, lists }: Kept,
  gateways: readonly TranslatedGateway[],
  routes: readonly TranslatedRoute[],
): Ir => ({
  gateways: buildGateways(shelf, gateways, routes),
  destinations: lists.destinations(routes.flatMap(({ destinations }) => destinations)),
  certificates: lists.certificates(certificatesOf(gateways)),
  authz: lists.authz(routes.flatMap(({ authz }) => authz)),
  proc: lists.proc(routes.flatMap(({ proc }) => proc)),
})

function buildStatuses(
  context: Context,
  resources: Resources,
  gateways: readonly TranslatedGateway[],
  routes: readonly TranslatedRoute[],
): readonly ResourceStatus[] {
  let found: Users | undefined
  const users = () => (found ??= usersOf(routes))
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
    ...silent(resources.namespaces),
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
