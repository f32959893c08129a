// Checks the resources of one Envoy for consistency, decoded from the bytes to be sent. Finds what types cannot
// exclude: what Envoy would silently accept and must never get (a protected route without its filter), or would reject
// as a whole (an undefined name).

import { type Any, anyUnpack } from '@bufbuild/protobuf/wkt'
import { type Chunk, concat, namedChunks } from '../../kit/incremental/chunked-list.js'
import { briefMemo, briefMemoWork, memo, memoWork } from '../../kit/incremental/memo.js'
import { mapEach, mapWork, type Work } from '../../kit/turns.js'
import { ROUTE_CONTEXT_KEY } from '../../model/names.js'
import {
  type Cluster,
  Cluster_DiscoveryType,
  ClusterSchema,
} from '../../wire/grpc/generated/envoy/config/cluster/v3/cluster_pb.js'
import type { FilterChain } from '../../wire/grpc/generated/envoy/config/listener/v3/listener_components_pb.js'
import { ListenerSchema } from '../../wire/grpc/generated/envoy/config/listener/v3/listener_pb.js'
import {
  type Route,
  RouteSchema,
} from '../../wire/grpc/generated/envoy/config/route/v3/route_components_pb.js'
import { ExtAuthzPerRouteSchema } from '../../wire/grpc/generated/envoy/extensions/filters/http/ext_authz/v3/ext_authz_pb.js'
import { HttpConnectionManagerSchema } from '../../wire/grpc/generated/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js'
import {
  DownstreamTlsContextSchema,
  UpstreamTlsContextSchema,
} from '../../wire/grpc/generated/envoy/extensions/transport_sockets/tls/v3/tls_pb.js'
import type { Encoded, EncodedResource } from '../encode/encode.js'
import type { EncodedHost, EncodedRoute, EncodedRoutes } from '../encode/encode-routes.js'
import { decode } from '../encode/read.js'
import { EXT_AUTHZ_FILTER } from './filters/ext-authz.js'
import type { XdsResources } from './xds-resources.js'

interface Named {
  readonly name: string
}

const names = (resources: readonly Named[]): readonly string[] => resources.map(({ name }) => name)

/** Requires exactly one of: explicitly public, or checked under a key. */
function authzProblem(perRoute: Any | undefined): string | undefined {
  const override = perRoute && anyUnpack(perRoute, ExtAuthzPerRouteSchema)?.override
  const isDefinite =
    override?.case === 'checkSettings'
      ? Boolean(override.value.contextExtensions[ROUTE_CONTEXT_KEY])
      : override?.case === 'disabled' && override.value
  return isDefinite ? undefined : 'says nothing definite to ext_authz'
}

function clustersUsed({ action }: Route): readonly string[] {
  if (action.case !== 'route') return []
  const { clusterSpecifier: found, requestMirrorPolicies } = action.value
  if (found.case === 'cluster') return [found.value]
  const mirrors = requestMirrorPolicies.map(({ cluster }) => cluster)
  return found.case === 'weightedClusters' ? [...names(found.value.clusters), ...mirrors] : mirrors
}

/** Facts to check about a chunk of routes. */
interface Facts {
  readonly problems: readonly string[]
  /** Configured filters, each with the first route that configures it. */
  readonly filters: ReadonlyMap<string, string>
  readonly clusters: ReadonlySet<string>
}

/** Facts to check about one route, without its name. */
interface RouteFacts {
  readonly problem: string | undefined
  readonly filters: readonly string[]
  readonly clusters: readonly string[]
}

function factsOfRoute(encoded: Encoded): RouteFacts {
  const route = decode(RouteSchema, encoded)
  return {
    problem: authzProblem(route.typedPerFilterConfig[EXT_AUTHZ_FILTER]),
    filters: Object.keys(route.typedPerFilterConfig),
    clusters: clustersUsed(route),
  }
}

/** Reads the facts about a route, those of what hosts share only once. */
type ReadRoute = (encoded: EncodedRoute) => RouteFacts

function createRouteReader(): ReadRoute {
  const factsOfShared = memo(factsOfRoute)
  return (encoded) =>
    encoded.unnamed === undefined ? factsOfRoute(encoded) : factsOfShared(encoded.unnamed)
}

function* factsOfChunk(routes: Chunk<EncodedRoute>, read: ReadRoute): Work<Facts> {
  const problems: string[] = []
  const filters = new Map<string, string>()
  const clusters = new Set<string>()
  for (const encoded of routes) {
    const { name } = encoded
    const facts = read(encoded)
    if (facts.problem !== undefined) problems.push(`route ${name} ${facts.problem}`)
    for (const filter of facts.filters) if (!filters.has(filter)) filters.set(filter, name)
    for (const cluster of facts.clusters) clusters.add(cluster)
    yield
  }
  return { problems, filters, clusters }
}

/** Returns the configured filters, each with the first route that configures it. */
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

const routeProblems = (facts: readonly Facts[], known: readonly string[]): readonly string[] => [
  ...facts.flatMap(({ problems }) => problems),
  ...[...firstOf(facts)]
    .filter(([filter]) => !known.includes(filter))
    .map(
      ([filter, route]) =>
        `route ${route} configures the filter ${filter}, which its listener has not`,
    ),
]

/** Facts to check about a filter chain. */
interface ChainFacts {
  /** The names of the route configurations that it requests: one. */
  readonly routes: readonly string[]
  readonly filters: readonly string[]
  readonly secrets: readonly string[]
  readonly serverNames: readonly string[]
}

function factsOfFilterChain(chain: FilterChain): ChainFacts {
  const managers = chain.filters.flatMap(({ configType }) =>
    configType.case === 'typedConfig'
      ? [anyUnpack(configType.value, HttpConnectionManagerSchema)]
      : [],
  )
  const tls = chain.transportSocket?.configType.value
  const { commonTlsContext } = (tls && anyUnpack(tls, DownstreamTlsContextSchema)) ?? {}
  const serverNames = chain.filterChainMatch?.serverNames ?? []
  return {
    routes: managers.flatMap((manager) =>
      manager?.routeSpecifier.case === 'rds' ? [manager.routeSpecifier.value.routeConfigName] : [],
    ),
    filters: managers.flatMap((manager) => names(manager?.httpFilters ?? [])),
    secrets: names(commonTlsContext?.tlsCertificateSdsSecretConfigs ?? []),
    serverNames: serverNames.length > 0 ? serverNames : ['any server name'],
  }
}

/** Maximum number of chunks of routes in hosts that are examined as a whole; others are examined by chunk. */
const FEW_CHUNKS = 4

/** Creates the memoised facts about resources, by object, for one translator. */
function createFacts() {
  const readRoute = createRouteReader()
  const routeChunk = memoWork((routes: Chunk<EncodedRoute>) => factsOfChunk(routes, readRoute))
  /** Hosts with many routes are not pooled, as a change of one route would pool all of them again. */
  const hosts = memoWork(function* (chunk: Chunk<EncodedHost>): Work<readonly Facts[]> {
    const facts = yield* mapWork(chunk, ({ routes }) => mapWork(routes, routeChunk))
    const few = facts.filter((chunks) => chunks.length <= FEW_CHUNKS)
    const many = facts.filter((chunks) => chunks.length > FEW_CHUNKS)
    return [pooled(few.flat()), ...many.flat()]
  })
  const nameSet = memo((resources: readonly Named[]) => new Set(names(resources)))
  const undefinedNames = (
    kind: string,
    used: Iterable<string>,
    defined: readonly Named[],
  ): readonly string[] => {
    const known = nameSet(defined)
    const missing = new Set<string>()
    for (const name of used) if (!known.has(name)) missing.add(name)
    return [...missing].map((name) => `no ${kind} is called ${name}`)
  }
  const clusterFacts = createClusterFacts()
  return {
    chainsOf: memo((listener: EncodedResource): readonly ChainFacts[] =>
      decode(ListenerSchema, listener).filterChains.map(factsOfFilterChain),
    ),
    /** Facts about everything below a route configuration, chunk by chunk. */
    *below(configuration: EncodedRoutes): Work<readonly Facts[]> {
      return (yield* mapWork(configuration.hosts, hosts)).flat()
    },
    nameSet,
    undefinedNames,
    /** Undefined clusters of a chunk, computed once per set of clusters. */
    missingIn: memo((known: ReadonlySet<string>) =>
      briefMemo(({ clusters }: Facts): readonly string[] =>
        [...clusters].filter((name) => !known.has(name)),
      ),
    ),
    undefinedAssignments: memo((clusters: readonly EncodedResource[]) =>
      briefMemoWork(function* (endpoints: readonly EncodedResource[]) {
        const { needy } = yield* clusterFacts(clusters)
        return undefinedNames('load assignment', needy, endpoints)
      }),
    ),
    clusterFacts,
    sameNames: memo((resources: readonly Named[]) => duplicates(names(resources))),
  }
}

type KnownFacts = ReturnType<typeof createFacts>

/** The facts about everything below each route configuration. */
type Below = ReadonlyMap<EncodedRoutes, readonly Facts[]>

function* factsBelow({ routes }: XdsResources, facts: KnownFacts): Work<Below> {
  const below = new Map<EncodedRoutes, readonly Facts[]>()
  for (const configuration of routes) below.set(configuration, yield* facts.below(configuration))
  return below
}

function* filterProblems(
  resources: XdsResources,
  facts: KnownFacts,
  below: Below,
): Work<readonly string[]> {
  const factsOf = new Map(resources.routes.map((one) => [one.name, below.get(one) ?? []]))
  const ofChain = ({ routes, filters }: ChainFacts): readonly string[] =>
    routes.flatMap((name) => routeProblems(factsOf.get(name) ?? [], filters))
  const problems = yield* mapEach(resources.listeners, (listener) =>
    facts.chainsOf(listener).flatMap(ofChain),
  )
  return problems.flat()
}

function* referenceProblems(
  resources: XdsResources,
  facts: KnownFacts,
  below: Below,
): Work<readonly string[]> {
  const { routes, clusters, secrets, endpoints } = resources
  const { undefinedNames } = facts
  const chains = resources.listeners.flatMap(facts.chainsOf)
  return [
    ...undefinedNames(
      'route configuration',
      chains.flatMap((chain) => chain.routes),
      routes,
    ),
    ...undefinedNames(
      'cluster',
      [...below.values()].flat().flatMap(facts.missingIn(facts.nameSet(clusters))),
      clusters,
    ),
    ...undefinedNames(
      'secret',
      [
        ...chains.flatMap((chain) => chain.secrets),
        ...(yield* facts.clusterFacts(clusters)).secrets,
      ],
      secrets,
    ),
    ...(yield* facts.undefinedAssignments(clusters)(endpoints)),
  ]
}

function duplicates(values: readonly string[]): readonly string[] {
  const seen = new Set<string>()
  return values.filter((value) => seen.size === seen.add(value).size)
}

const duplicateProblems = (resources: XdsResources, facts: KnownFacts): readonly string[] => [
  ...Object.values(resources)
    .flatMap((list: readonly Named[]) => facts.sameNames(list))
    .map((name) => `two resources are called ${name}`),
  ...resources.listeners.flatMap((listener) =>
    duplicates(facts.chainsOf(listener).flatMap(({ serverNames }) => serverNames)).map(
      (name) => `two filter chains of ${listener.name} match ${name}`,
    ),
  ),
]

/** Throws an Error that lists the contradictions; for an unknown filter it names one route that configures it. */
export type VerifyXds = (resources: XdsResources) => Work<void>

/** Creates the self-check of one translator, which memoises what it has read of resources. */
export function createXdsVerifier(): VerifyXds {
  const facts = createFacts()
  return function* (resources) {
    const below = yield* factsBelow(resources, facts)
    const problems = [
      ...(yield* filterProblems(resources, facts, below)),
      ...(yield* referenceProblems(resources, facts, below)),
      ...duplicateProblems(resources, facts),
    ]
    if (problems.length > 0) throw new Error(`inconsistent xDS resources: ${problems.join('; ')}`)
  }
}

// Reads what clusters refer to, from the bytes to be sent: their endpoints and the certificates that they present.

/** What the clusters of a snapshot refer to. */
export interface ClusterFacts {
  /** Names of the clusters whose endpoints come over EDS. */
  readonly needy: readonly string[]
  /** Names of the certificates that clusters present. */
  readonly secrets: readonly string[]
}

/** Returns the facts about clusters, memoised by chunk. */
function createClusterFacts(): (clusters: readonly EncodedResource[]) => Work<ClusterFacts> {
  const ofOne = memo((encoded: EncodedResource): ClusterFacts => {
    const cluster = decode(ClusterSchema, encoded)
    const isNeedy = cluster.clusterDiscoveryType.value === Cluster_DiscoveryType.EDS
    return { needy: isNeedy ? [encoded.name] : [], secrets: secretsOf(cluster) }
  })
  const ofChunk = memoWork(function* (chunk: Chunk<EncodedResource>): Work<ClusterFacts> {
    const facts = yield* mapEach(chunk, ofOne)
    return {
      needy: facts.flatMap(({ needy }) => needy),
      secrets: [...new Set(facts.flatMap(({ secrets }) => secrets))],
    }
  })
  return memoWork(function* (clusters: readonly EncodedResource[]) {
    const facts = yield* mapWork(namedChunks(clusters), ofChunk)
    return {
      needy: concat(facts.map(({ needy }) => needy)),
      secrets: concat(facts.map(({ secrets }) => secrets)),
    }
  })
}

function secretsOf({ transportSocket }: Cluster): readonly string[] {
  const tls = transportSocket?.configType.value
  const { commonTlsContext } = (tls && anyUnpack(tls, UpstreamTlsContextSchema)) ?? {}
  return (commonTlsContext?.tlsCertificateSdsSecretConfigs ?? []).map(({ name }) => name)
}
