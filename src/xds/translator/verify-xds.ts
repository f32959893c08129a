// The resources of one Envoy, checked against themselves: what Envoy would accept without a word and must never
// get (a protected route without its filter), or would reject as a whole (a name that nothing defines).

import type { JsonObject } from '../../ir/json.js'
import { ROUTE_CONTEXT_KEY } from '../../ir/names.js'
import { EXT_AUTHZ_FILTER } from './filter-names.js'
import { objectAt, objectsAt, textAt, textsAt } from './json-path.js'
import { remembered } from './remembered.js'
import type { XdsResources } from './xds-resources.js'

const nameOf = (resource: JsonObject): string => {
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
const authzProblem = (perRoute: JsonObject): string | undefined => {
  const key = textAt(perRoute, 'check_settings', 'context_extensions', ROUTE_CONTEXT_KEY)
  const isPublic = perRoute['disabled'] === true && perRoute['check_settings'] === undefined
  const isChecked = perRoute['disabled'] === undefined && key !== undefined && key !== ''
  return isPublic || isChecked ? undefined : 'says nothing definite to ext_authz'
}

const clustersUsed = (route: JsonObject): readonly string[] => [
  ...textsAt(route, 'route', 'cluster'),
  ...names(objectsAt(route, 'route', 'weighted_clusters', 'clusters')),
]

/** What there is to check of a route, or of everything below a virtual host or a route configuration. */
interface Facts {
  readonly problems: readonly string[]
  /** Each with the name of a route that configures it. */
  readonly filters: ReadonlyMap<string, string>
  readonly clusters: ReadonlySet<string>
}

const factsOfRoute = remembered((route: JsonObject): Facts => {
  const name = textAt(route, 'name') ?? ''
  const perFilter = objectAt(route, 'typed_per_filter_config')
  const problem = authzProblem(objectAt(perFilter, EXT_AUTHZ_FILTER))
  return {
    problems: problem === undefined ? [] : [`route ${name} ${problem}`],
    filters: new Map(Object.keys(perFilter).map((filter) => [filter, name])),
    clusters: new Set(clustersUsed(route)),
  }
})

const pooled = (all: readonly Facts[]): Facts => {
  const filters = new Map<string, string>()
  const clusters = new Set<string>()
  for (const facts of all) {
    for (const [filter, route] of facts.filters)
      if (!filters.has(filter)) filters.set(filter, route)
    for (const cluster of facts.clusters) clusters.add(cluster)
  }
  return { problems: all.flatMap(({ problems }) => problems), filters, clusters }
}

const factsOfHost = remembered((host: JsonObject) =>
  pooled(objectsAt(host, 'routes').map(factsOfRoute)),
)

const factsOf = remembered((routeConfiguration: JsonObject) =>
  pooled(objectsAt(routeConfiguration, 'virtual_hosts').map(factsOfHost)),
)

const routeProblems = (facts: Facts, known: readonly string[]): readonly string[] => [
  ...facts.problems,
  ...[...facts.filters]
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

const undefinedNames = (
  kind: string,
  used: readonly string[],
  defined: readonly JsonObject[],
): readonly string[] => {
  const known = new Set(names(defined))
  return [...new Set(used)]
    .filter((name) => !known.has(name))
    .map((name) => `no ${kind} is called ${name}`)
}

const referenceProblems = (resources: XdsResources): readonly string[] => [
  ...undefinedNames(
    'route configuration',
    resources.listeners
      .flatMap(connectionManagers)
      .flatMap((manager) => textsAt(manager, 'rds', 'route_config_name')),
    resources.routes,
  ),
  ...undefinedNames(
    'cluster',
    [...pooled(resources.routes.map(factsOf)).clusters],
    resources.clusters,
  ),
  ...undefinedNames('secret', resources.listeners.flatMap(secretsUsed), resources.secrets),
  ...undefinedNames(
    'load assignment',
    names(resources.clusters.filter((cluster) => cluster['type'] === 'EDS')),
    resources.endpoints,
  ),
]

const duplicates = (values: readonly string[]): readonly string[] => {
  const seen = new Set<string>()
  return values.filter((value) => seen.size === seen.add(value).size)
}

const serverNameKeys = (listener: JsonObject): readonly string[] =>
  objectsAt(listener, 'filter_chains').flatMap((chain) => {
    const serverNames = objectAt(chain, 'filter_chain_match')['server_names']
    return Array.isArray(serverNames) ? serverNames.map(String) : ['any server name']
  })

const duplicateProblems = (resources: XdsResources): readonly string[] => [
  ...Object.values(resources)
    .flatMap((list: readonly JsonObject[]) => duplicates(names(list)))
    .map((name) => `two resources are called ${name}`),
  ...resources.listeners.flatMap((listener) =>
    duplicates(serverNameKeys(listener)).map(
      (name) => `two filter chains of ${textAt(listener, 'name') ?? ''} match ${name}`,
    ),
  ),
]

/** Throws an Error that lists the contradictions: of a filter that is unknown, one route that names it. */
export const verifyXds = (resources: XdsResources): void => {
  const problems = [
    ...filterProblems(resources),
    ...referenceProblems(resources),
    ...duplicateProblems(resources),
  ]
  if (problems.length > 0) throw new Error(`inconsistent xDS resources: ${problems.join('; ')}`)
}
