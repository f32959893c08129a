// The resources of one Envoy, checked against themselves: what Envoy would accept without a word and must never
// get (a protected route without its filter), or would reject as a whole (a name that nothing defines).

import type { JsonObject } from '../../ir/json.js'
import { ROUTE_CONTEXT_KEY } from '../../ir/names.js'
import { EXT_AUTHZ_FILTER } from './filter-names.js'
import { objectAt, objectsAt, textAt, textsAt } from './json-path.js'
import type { XdsResources } from './xds-resources.js'

const names = (resources: readonly JsonObject[]): readonly string[] =>
  resources.map((resource) => textAt(resource, 'name') ?? textAt(resource, 'cluster_name') ?? '')

const connectionManagers = (listener: JsonObject): readonly JsonObject[] =>
  objectsAt(listener, 'filter_chains')
    .flatMap((chain) => objectsAt(chain, 'filters'))
    .map((filter) => objectAt(filter, 'typed_config'))

const routesOf = (routeConfiguration: JsonObject): readonly JsonObject[] =>
  objectsAt(routeConfiguration, 'virtual_hosts').flatMap((host) => objectsAt(host, 'routes'))

/** Exactly one of: explicitly public, or checked under a key. */
const authzProblem = (perRoute: JsonObject): string | undefined => {
  const key = textAt(perRoute, 'check_settings', 'context_extensions', ROUTE_CONTEXT_KEY)
  const isPublic = perRoute['disabled'] === true && perRoute['check_settings'] === undefined
  const isChecked = perRoute['disabled'] === undefined && key !== undefined && key !== ''
  return isPublic || isChecked ? undefined : 'says nothing definite to ext_authz'
}

const routeProblems = (route: JsonObject, filters: readonly string[]): readonly string[] => {
  const perFilter = objectAt(route, 'typed_per_filter_config')
  const unknown = Object.keys(perFilter).filter((name) => !filters.includes(name))
  return [
    authzProblem(objectAt(perFilter, EXT_AUTHZ_FILTER)),
    ...unknown.map((name) => `configures the filter ${name}, which its listener has not`),
  ]
    .filter((problem) => problem !== undefined)
    .map((problem) => `route ${textAt(route, 'name') ?? ''} ${problem}`)
}

/** Every listener has the same filters, so one list speaks for all. */
const filterProblems = (resources: XdsResources): readonly string[] =>
  resources.listeners.flatMap(connectionManagers).flatMap((manager) => {
    const filters = names(objectsAt(manager, 'http_filters'))
    const wanted = textAt(manager, 'rds', 'route_config_name')
    return resources.routes
      .filter((routeConfiguration) => textAt(routeConfiguration, 'name') === wanted)
      .flatMap(routesOf)
      .flatMap((route) => routeProblems(route, filters))
  })

const clustersUsed = (route: JsonObject): readonly string[] => [
  ...textsAt(route, 'route', 'cluster'),
  ...names(objectsAt(route, 'route', 'weighted_clusters', 'clusters')),
]

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
    resources.routes.flatMap(routesOf).flatMap(clustersUsed),
    resources.clusters,
  ),
  ...undefinedNames('secret', resources.listeners.flatMap(secretsUsed), resources.secrets),
  ...undefinedNames(
    'load assignment',
    names(resources.clusters.filter((cluster) => cluster['type'] === 'EDS')),
    resources.endpoints,
  ),
]

const duplicates = (values: readonly string[]): readonly string[] =>
  values.filter((value, index) => values.indexOf(value) !== index)

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

/** Throws an Error that lists every contradiction. */
export const verifyXds = (resources: XdsResources): void => {
  const problems = [
    ...filterProblems(resources),
    ...referenceProblems(resources),
    ...duplicateProblems(resources),
  ]
  if (problems.length > 0) throw new Error(`inconsistent xDS resources: ${problems.join('; ')}`)
}
