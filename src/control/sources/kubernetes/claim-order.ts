// Decides which of the releases that read a namespace writes the statuses of its objects: one of them, and the same one
// whichever release asks.

/** What a release reads, and so the statuses that it would write if it were alone. */
export interface ClaimScope {
  readonly apiGroup: string
  /** Whose Gateways its policies are for: "plain" for its own, or the mesh. Releases of different modes find different things. */
  readonly mode: string
  /** Empty: all namespaces. */
  readonly namespaces: readonly string[]
  /** Whether it creates Envoys for its Gateways, and so knows whether they run. */
  readonly provisions: boolean
}

/** A release, and what it reads. */
export interface ClaimedRelease {
  /** NAMESPACE/NAME. */
  readonly release: string
  readonly scope: ClaimScope
}

/** The releases that write in the place of another one, what they read. */
export interface ReleasesAhead {
  /** For the kinds in OF_ENVOYS. */
  readonly ofEnvoys: readonly ClaimedRelease[]
  readonly ofOthers: readonly ClaimedRelease[]
}

/** Kinds whose status says something of the Envoys of a Gateway. */
const OF_ENVOYS = new Set(['GatewayClass', 'Gateway', 'ListenerSet'])

/**
 * Returns the releases ahead of a release. Those that read more are ahead of those that read a part of it, and of two
 * that read the same, the one that creates Envoys. All others have the order of the list. The statuses of Gateways are
 * for releases that create Envoys first.
 * @param releases all that are there, this one too; the one that is there for longest is the first.
 */
export function releasesAhead(
  own: ClaimedRelease,
  releases: readonly ClaimedRelease[],
): ReleasesAhead {
  const rivals = rivalsOf(own, releases)
  const creating = rivals.filter(({ scope }) => scope.provisions)
  const rest = rivals.filter(({ scope }) => !scope.provisions)
  return {
    ofEnvoys: before(own, [...widest(creating), ...widest(rest)]),
    ofOthers: before(own, widest(rivals)),
  }
}

/** Returns all other releases with which a release shares statuses as those ahead of it. */
export function allAhead(own: ClaimedRelease, releases: readonly ClaimedRelease[]): ReleasesAhead {
  const others = rivalsOf(own, releases).filter((each) => each !== own)
  return { ofEnvoys: others, ofOthers: others }
}

/**
 * Whether a release ahead writes the status of an object of this kind in this namespace.
 * @param namespace '' for objects in none.
 */
export const isWrittenAhead = (ahead: ReleasesAhead, kind: string, namespace: string): boolean =>
  isRead(OF_ENVOYS.has(kind) ? ahead.ofEnvoys : ahead.ofOthers, namespace)

/** Whether the releases ahead write everything that a release would write. */
export function isAllWrittenAhead(
  { namespaces }: ClaimScope,
  { ofEnvoys, ofOthers }: ReleasesAhead,
): boolean {
  const places = namespaces.length === 0 ? [undefined] : namespaces
  return places.every((place) => isRead(ofEnvoys, place) && isRead(ofOthers, place))
}

/** @param namespace '' for objects in none, undefined for all namespaces. */
const isRead = (releases: readonly ClaimedRelease[], namespace: string | undefined): boolean =>
  releases.some(
    ({ scope: { namespaces } }) =>
      namespaces.length === 0 ||
      namespace === '' ||
      (namespace !== undefined && namespaces.includes(namespace)),
  )

/** Returns the releases that write some of the same statuses: with the mode and the API group of this one, which is among them. */
const rivalsOf = (
  own: ClaimedRelease,
  releases: readonly ClaimedRelease[],
): readonly ClaimedRelease[] =>
  releases.filter(
    ({ scope }) => scope.apiGroup === own.scope.apiGroup && scope.mode === own.scope.mode,
  )

/** Returns the releases before this one; all if it is not among them, as one of them reads all that it reads. */
function before(own: ClaimedRelease, order: readonly ClaimedRelease[]): readonly ClaimedRelease[] {
  const at = order.indexOf(own)
  return at === -1 ? order : order.slice(0, at)
}

/** Returns the releases of which no other one sees more. */
const widest = (releases: readonly ClaimedRelease[]): readonly ClaimedRelease[] =>
  releases.filter(({ scope }) => !releases.some((other) => seesMore(other.scope, scope)))

/** Whether a release sees all that another one sees, and more. */
const seesMore = (one: ClaimScope, other: ClaimScope): boolean =>
  readsAll(one, other) && (!readsAll(other, one) || (one.provisions && !other.provisions))

/** Whether a release reads all namespaces that another one reads. */
const readsAll = (one: ClaimScope, other: ClaimScope): boolean =>
  one.namespaces.length === 0 ||
  (other.namespaces.length > 0 && other.namespaces.every((each) => one.namespaces.includes(each)))
