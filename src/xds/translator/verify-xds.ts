// The resources of one Envoy, checked against themselves: what Envoy would accept without a word and must never
// get (a protected route without its filter), or would reject as a whole (a name that nothing defines).

import type { Chunk } from '../../incremental/chunked-list.js'
import { memo } from '../../incremental/memo.js'
import type { JsonObject } from '../../ir/json.js'
import { ROUTE_CONTEXT_KEY } from '../../ir/names.js'
import { partChunks } from '../encode/encode-parts.js'
import { EXT_AUTHZ_FILTER } from './filter-names.js'
import { objectAt, objectsAt, textAt, textsAt } from './json-path.js'
import type { XdsResources } from './xds-resources.js'

function nameOf(resource: JsonObject): string {
  const { name, cluster_name: clusterName } = resource
  if (typeof name === 'string') return name
  return typeof clusterName === 'string' ? clusterName : ''
}

const names = (resources: readonly JsonObject[]): readonly string[] => resources.map(nameOf)

const connectionManagers = (listener: JsonObject): readonly JsonObject[] =>
  objectsAt(listener, 'filter_chains')
    .flatMap((chain) => objectsAt(chain, 'filters'))
    .map((filter) => objectAt(filter, 'typed_config'))

/** Exactly one of: explicitly public, or checked under a key. */
function authzProblem(perRoute: JsonObject): string | undefined {
  const key = textAt(perRoute, 'check_settings', 'context_extensions', ROUTE_CONTEXT_KEY)
  const isPublic = perRoute['disabled'] === true && perRoute['check_settings'] === undefined
  const isChecked = perRoute['disabled'] === undefined && key !== undefined && key !== ''
  return isPublic || isChecked ? undefined : 'says nothing definite to ext_authz'
}

const clustersUsed = (route: JsonObject): readonly string[] => [
  ...textsAt(route, 'route', 'cluster'),
  ...names(objectsAt(route, 'route', 'weighted_clusters', 'clusters')),
]

/** What there is to check of a route, or of a chunk of them. */
interface Facts {
  readonly problems: readonly string[]
  /** Each with the name of a route that configures it. */
  readonly filters: ReadonlyMap<string, string>
  readonly clusters: ReadonlySet<string>
}

const factsOfRoute = memo((route: JsonObject): Facts => {
  const name = textAt(route, 'name') ?? ''
  const perFilter = objectAt(route, 'typed_per_filter_config')
  const problem = authzProblem(objectAt(perFilter, EXT_AUTHZ_FILTER))
  return {
    problems: problem === undefined ? [] : [`route ${name} ${problem}`],
    filters: new Map(Object.keys(perFilter).map((filter) => [filter, name])),
    clusters: new Set(clustersUsed(route)),
  }
})

/** Each filter with the first route that configures it. */
function firstOf(all: readonly Facts[]): ReadonlyMap<string, string> {
  const filters = new Map<string, string>()
  for (const facts of all)
    for (const [filter, route] of facts.filters)
      if (!filters.has(filter)) filters.set(filter, route)
  return filters
}

const pooled = (all: readonly Facts[]): Facts => ({
  problems: all.flatMap(({ problems }) => problems),
  filters: firstOf(all),
  clusters: new Set(all.flatMap(({ clusters }) => [...clusters])),
})

const factsOfChunk = memo((routes: Chunk<JsonObject>) => pooled(routes.map(factsOfRoute)))

const factsOfHost = memo((host: JsonObject) =>
  partChunks(objectsAt(host, 'routes')).map(factsOfChunk),
)

/** Of everything below a route configuration, chunk by chunk. */
const factsOf = memo((routeConfiguration: JsonObject) =>
  objectsAt(routeConfiguration, 'virtual_hosts').flatMap(factsOfHost),
)

const routeProblems = (facts: readonly Facts[], known: readonly string[]): readonly string[] => [
  ...facts.flatMap(({ problems }) => problems),
  ...[...firstOf(facts)]
    .filter(([filter]) => !known.includes(filter))
    .map(
      ([filter, route]) =>
        `route ${route} configures the filter ${filter}, which its listener has not`,
    ),
]

const filterProblems = (resources: XdsResources): readonly string[] =>
  resources.listeners.flatMap(connectionManagers).flatMap((manager) => {
    const filters = names(objectsAt(manager, 'http_filters'))
    const wanted = textAt(manager, 'rds', 'route_config_name')
    return resources.routes
      .filter((routeConfiguration) => textAt(routeConfiguration, 'name') === wanted)
      .flatMap((routeConfiguration) => routeProblems(factsOf(routeConfiguration), filters))
  })

const secretsUsed = (listener: JsonObject): readonly string[] =>
  objectsAt(listener, 'filter_chains').flatMap((chain) =>
    names(
      objectsAt(
        chain,
        'transport_socket',
        'typed_config',
        'common_tls_context',
        'tls_certificate_sds_secret_configs',
      ),
    ),
  )

const nameSet = memo((resources: readonly JsonObject[]) => new Set(names(resources)))

function undefinedNames(
  kind: string,
  used: Iterable<string>,
  defined: readonly JsonObject[],
): readonly string[] {
  const known = nameSet(defined)
  const missing = new Set<string>()
  for (const name of used) if (!known.has(name)) missing.add(name)
  return [...missing].map((name) => `no ${kind} is called ${name}`)
}

function* clustersBelow(routeConfigurations: readonly JsonObject[]): Iterable<string> {
  for (const { clusters } of routeConfigurations.flatMap(factsOf)) yield* clusters
}

const assignmentsUsed = memo((clusters: readonly JsonObject[]) =>
  names(clusters.filter((cluster) => cluster['type'] === 'EDS')),
)

const referenceProblems = (resources: XdsResources): readonly string[] => [
  ...undefinedNames(
    'route configuration',
    resources.listeners
      .flatMap(connectionManagers)
      .flatMap((manager) => textsAt(manager, 'rds', 'route_config_name')),
    resources.routes,
  ),
  ...undefinedNames('cluster', clustersBelow(resources.routes), resources.clusters),
  ...undefinedNames('secret', resources.listeners.flatMap(secretsUsed), resources.secrets),
  ...undefinedNames('load assignment', assignmentsUsed(resources.clusters), resources.endpoints),
]

function duplicates(values: readonly string[]): readonly string[] {
  const seen = new Set<string>()
  return values.filter((value) => seen.size === seen.add(value).size)
}

const sameNames = memo((resources: readonly JsonObject[]) => duplicates(names(resources)))

const serverNameKeys = (listener: JsonObject): readonly string[] =>
  objectsAt(listener, 'filter_chains').flatMap((chain) => {
    const serverNames = objectAt(chain, 'filter_chain_match')['server_names']
    return Array.isArray(serverNames) ? serverNames.map(String) : ['any server name']
  })

const duplicateProblems = (resources: XdsResources): readonly string[] => [
  ...Object.values(resources)
    .flatMap((list: readonly JsonObject[]) => sameNames(list))
    .map((name) => `two resources are called ${name}`),
  ...resources.listeners.flatMap((listener) =>
    duplicates(serverNameKeys(listener)).map(
      (name) => `two filter chains of ${textAt(listener, 'name') ?? ''} match ${name}`,
    ),
  ),
]

/** Throws an Error that lists the contradictions: of a filter that is unknown, one route that names it. */
export function verifyXds(resources: XdsResources): void {
  const problems = [
    ...filterProblems(resources),
    ...referenceProblems(resources),
    ...duplicateProblems(resources),
  ]
  if (problems.length > 0) throw new Error(`inconsistent xDS resources: ${problems.join('; ')}`)
}
