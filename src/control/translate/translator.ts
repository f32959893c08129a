// Translates resources and fetched documents into the model, the status of every resource, and the wanted documents.
// Pure. Works in slices, and memoises its own results, so one change among thousands of resources recomputes little.

import { type Chunker, concat, createChunker } from '../../kit/incremental/chunked-list.js'
import { differences } from '../../kit/incremental/diff.js'
import { createKeyedMemo, type KeyedMemo } from '../../kit/incremental/keyed-memo.js'
import { memo } from '../../kit/incremental/memo.js'
import { compareText, createNamedList, type Parts } from '../../kit/incremental/sorted-list.js'
import { atOnce, mapEach, type Work } from '../../kit/turns.js'
import type { AuthzEntry } from '../../model/authz-entry.js'
import type { Destination } from '../../model/destination.js'
import type { Certificate, Ir } from '../../model/ir.js'
import type { MeshRoute } from '../../model/mesh-route.js'
import type { ProcEntry } from '../../model/proc-entry.js'
import type { ProvisionedGateway } from '../../model/provisioned-gateway.js'
import type { RemoteState, WantedDocument } from '../../model/remote-target.js'
import type { NameState } from '../../model/resolved-name.js'
import type { ResourceStatus } from '../../model/status.js'
import type { Resources } from '../schema/kinds/resources.js'
import { ownServiceAddresses, ownServiceHost } from './backends/address-rules.js'
import { MANY_TLS_POLICIES } from './backends/backend-authorities.js'
import { findServicesBeyond } from './backends/endpoint-room.js'
import { MANY_ADDRESSES } from './backends/service-addresses.js'
import { LONG_CERTIFICATES } from './listeners/certificates.js'
import { type TranslatedGateway, translateGateway } from './listeners/gateways.js'
import { describeKeySets } from './policies/key-sets.js'
import { checkPolicies, wantedBy } from './policies/policies.js'
import { buildGateways, certificatesOf } from './routes/hosts/ir-listeners.js'
import { createPlacements, type Placements } from './routes/hosts/placements.js'
import { createRelayCookies, type RelayCookies } from './routes/hosts/relay-cookies.js'
import {
  type AttachedRoutes,
  type RouteChunk,
  sumAttached,
  translateRoutes,
} from './routes/route-chunks.js'
import { findRoutesBeyond } from './routes/route-room.js'
import { takenPaths } from './routes/taken-paths.js'
import { type BuildStatuses, createStatusBuilder } from './status/statuses.js'
import { LONG_AUTHORITIES } from './world/authorities.js'
import { buildWorld, type BuiltWorld, changedKeys } from './world/build-world.js'
import type { Context, TranslatorOptions } from './world/context.js'
import { olderFirst } from './world/grouping.js'
import { createPrepare, type Prepare } from './world/prepared.js'
import { createQueryEngine } from './world/queries.js'
import { keyIn, keyOf, OWN_RELAY_KEYS, type World } from './world/world.js'

/** The result of a translation. */
export interface Translation {
  readonly ir: Ir
  /** Status of every resource, sorted by kind, namespace and name; without conditions for kinds that have none. */
  readonly statuses: readonly ResourceStatus[]
  /** The statuses in parts; a part without a change is the same list as in the previous translation. */
  readonly statusParts: Parts<ResourceStatus>
  /** Sorted by id. */
  readonly wanted: readonly WantedDocument[]
  /** Host names to resolve, sorted. */
  readonly names: readonly string[]
  /** Addresses of Gatehouse's own Service, in a cluster. */
  readonly ownAddresses: readonly string[]
  /** Number of HTTPRoutes attached to each listener. */
  readonly attachedRoutes: AttachedRoutes
  /** The Gateways whose Envoys Gatehouse creates; absent: it creates none. */
  readonly provisioned?: readonly ProvisionedGateway[]
  /** The mesh's HTTPRoutes that policies protect; absent: Gatehouse serves the Gateways itself. */
  readonly mesh?: readonly MeshRoute[]
}

/** Translates resources, again at every change. */
export interface Translator {
  /** names: absent where Gatehouse resolves no names, as with files. */
  translate(resources: Resources, remote: RemoteState, names?: NameState): Translation
  /** Like translate(), in slices. A translation that has begun must end before the next one begins. */
  translationWork(resources: Resources, remote: RemoteState, names?: NameState): Work<Translation>
  /** Returns the policies that want a document, by its id, as of the last translation, which was of these. */
  wantedBy(policies: Resources['proxyPolicies']): ReadonlyMap<string, Resources['proxyPolicies']>
}

/** Creates a translator that has translated nothing yet. */
export function createTranslator(options: TranslatorOptions): Translator {
  const queries = createQueryEngine()
  const keyed = createKeyedMemo()
  const kept: Kept = {
    memo: keyed,
    relayCookies: createRelayCookies(keyed),
    prepare: createPrepare([
      MANY_ADDRESSES,
      ...LONG_AUTHORITIES,
      LONG_CERTIFICATES,
      MANY_TLS_POLICIES,
    ]),
    policies: [],
    remote: new Map(),
    beyond: { routesBeyond: new Map(), servicesBeyond: new Map() },
    lists: createLists(),
    placements: createPlacements(),
    routeChunks: createChunker(keyOf),
    buildStatuses: createStatusBuilder(options.mesh !== undefined, keyed),
    namesOf: memo(namesOf),
  }
  let built: BuiltWorld | undefined
  let last: Context | undefined
  function* translationWork(
    resources: Resources,
    remote: RemoteState,
    names = NO_NAMES,
  ): Work<Translation> {
    const own = options.relayKeys?.()
    const relayKeys = new Map(own && [[OWN_RELAY_KEYS, own]])
    yield* describeKeySets(kept.remote, remote)
    kept.remote = remote
    for (;;) {
      const { beyond } = kept
      built = yield* buildWorld(resources, { remote, names, relayKeys, ...beyond }, built)
      const reader = yield* queries.begin(built.world, built.changed)
      const context = (last = { reader, options })
      yield* kept.prepare(context, built.changed)
      const translation = yield* translateAll(context, kept, resources)
      // What is counted does not depend on who has room: a second pass finds what the first one found.
      if (isSameRoom(kept.beyond, beyond)) {
        kept.memo.endRevision()
        return translation
      }
    }
  }
  return {
    translationWork,
    translate: (...inputs) => atOnce(translationWork(...inputs)),
    wantedBy: (policies) => (last === undefined ? new Map() : wantedBy(last, policies)),
  }
}

const NO_NAMES: NameState = new Map()

type Beyond = Pick<World, 'routesBeyond' | 'servicesBeyond'>

const isSameRoom = (a: Beyond, b: Beyond): boolean =>
  changedKeys(a.routesBeyond, b.routesBeyond).length === 0 &&
  changedKeys(a.servicesBeyond, b.servicesBeyond).length === 0

/** State kept between revisions, besides the results of queries. */
interface Kept {
  readonly memo: KeyedMemo
  readonly relayCookies: RelayCookies
  readonly prepare: Prepare
  /** The policies that were checked. */
  policies: Resources['proxyPolicies']
  /** The documents whose keys were described. */
  remote: RemoteState
  /** What has no room, as of the last pass. */
  beyond: Beyond
  readonly lists: ReturnType<typeof createLists>
  readonly placements: Placements
  readonly routeChunks: Chunker<Resources['httpRoutes'][number]>
  readonly buildStatuses: BuildStatuses
  readonly namesOf: typeof namesOf
}

const createLists = () => ({
  destinations: createNamedList(({ name }: Destination) => name),
  certificates: createNamedList(({ name }: Certificate) => name),
  authz: createNamedList(({ key }: AuthzEntry) => key),
  proc: createNamedList(({ key }: ProcEntry) => key),
  wanted: createNamedList(({ id }: WantedDocument) => id),
})

function* translateAll(context: Context, kept: Kept, resources: Resources): Work<Translation> {
  yield* checkPolicies(context, differences(kept.policies, resources.proxyPolicies).added)
  kept.policies = resources.proxyPolicies
  const translated = yield* mapEach(resources.gateways, (gateway) =>
    ownGateway(context, keyOf(gateway)),
  )
  const gateways = translated.flat().sort((a, b) => olderFirst(a.gateway, b.gateway))
  const chunks = yield* translateRoutes(context, kept.routeChunks(resources.httpRoutes))
  kept.beyond = {
    routesBeyond: findRoutesBeyond(chunks.flatMap(({ large }) => large)),
    servicesBeyond: findServicesBeyond(
      context,
      chunks.flatMap(({ crowded }) => crowded),
    ),
  }
  const isMesh = context.options.mesh !== undefined
  yield* kept.relayCookies.update(context, resources.proxyPolicies, chunks)
  const ir = yield* buildIr(kept, isMesh ? [] : gateways, chunks)
  const taken = yield* takenPaths(kept.memo, ir.gateways, chunks)
  const statusParts = yield* kept.buildStatuses(context, resources, { gateways, chunks, taken })
  let statuses: Translation['statuses'] | undefined
  return {
    ir,
    statusParts,
    get statuses() {
      return (statuses ??= concat(statusParts))
    },
    wanted: yield* kept.lists.wanted(chunks.map(({ wanted }) => wanted)),
    names: wantedNames(context, kept.namesOf(ir.destinations)),
    ownAddresses: ownServiceAddresses(context),
    attachedRoutes: isMesh ? new Map() : sumAttached(chunks.map(({ attached }) => attached)),
    ...(context.options.provisions === true && {
      provisioned: gateways.flatMap((gateway) => gateway.provisioned ?? []),
    }),
    ...(isMesh ? { mesh: withoutDocuments(concat(chunks.map(({ mesh }) => mesh))) } : {}),
  }
}

const namesOf = (destinations: readonly Destination[]): readonly string[] =>
  destinations.flatMap(({ endpoints }) =>
    endpoints.type === 'addresses' ? (endpoints.resolvedFrom ?? []) : [],
  )

/** Returns the names of the backends, and the name of Gatehouse's own Service if that cannot be read. */
function wantedNames(context: Context, backends: readonly string[]): readonly string[] {
  const { tenancy } = context.options
  if (tenancy === undefined) return []
  const { namespace, name } = tenancy.ownService
  const isRead = context.reader.read('services', keyIn(namespace, name)) !== undefined
  const own = isRead || tenancy.ownAddresses.length === 0 ? [] : [ownServiceHost(context, tenancy)]
  return [...new Set([...backends, ...own])].sort(compareText)
}

/** Leaves out the HTTPRoutes of OAuth documents that an earlier export has made: ext_proc answers them, without a policy. */
function withoutDocuments(routes: readonly MeshRoute[]): readonly MeshRoute[] {
  const made = new Set(
    routes.flatMap(({ namespace, documents }) =>
      documents === undefined ? [] : [keyIn(namespace, documents.route)],
    ),
  )
  return routes.filter(
    ({ namespace, name, policies }) => policies.length > 0 || !made.has(keyIn(namespace, name)),
  )
}

function ownGateway(context: Context, key: string): readonly TranslatedGateway[] {
  const gateway = translateGateway(context, key)
  return gateway === undefined || gateway === 'foreign' ? [] : [gateway]
}

function* buildIr(
  { memo, relayCookies, lists, placements }: Kept,
  gateways: readonly TranslatedGateway[],
  chunks: readonly RouteChunk[],
): Work<Ir> {
  yield* placements.update(chunks)
  return {
    gateways: yield* buildGateways(memo, gateways, { placed: placements, relayCookies }),
    destinations: yield* lists.destinations(chunks.map(({ destinations }) => destinations)),
    certificates: yield* lists.certificates([certificatesOf(gateways)]),
    authz: yield* lists.authz(chunks.map(({ authz }) => authz)),
    proc: yield* lists.proc(chunks.map(({ proc }) => proc)),
  }
}
