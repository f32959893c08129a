// Gauges of the state in force: resources, policies, open routes, Envoys and key sets, read at every scrape.

import { Counter, Gauge, type Registry } from 'prom-client'

/** Number of resources of a kind that are accepted, or that are not. */
export interface KindCount {
  readonly kind: string
  readonly accepted: boolean
  readonly count: number
}

/** Number of ProxyPolicies in each state. */
export interface PolicyCounts {
  readonly attached: number
  /** Attached policies of mode Audit, which refuse nothing. */
  readonly audited: number
  readonly refused: number
  /** Policies with a target that does not exist. */
  readonly without_target: number
  readonly pending: number
}

/** State of a key set that is fetched. */
export interface KeySetState {
  readonly url: string
  /** Whether keys are available; without them every token is answered 503. */
  readonly hasKeys: boolean
  /** Whether the last fetch failed. */
  readonly isFailing: boolean
  /** When the last fetch succeeded, in seconds since the epoch; absent: never. */
  readonly fetchedAt?: number
  /** When the last fetch ended, with or without success, in seconds since the epoch; absent: none has. */
  readonly attemptedAt?: number
}

/** Source of the gauges. */
export interface StateSource {
  /** Returns all counts: the series of a kind that is missing is removed. */
  resources(): readonly KindCount[]
  policies(): PolicyCounts
  openRoutes(): number
  /** For each ProxyPolicy of a mesh that this replica reports on: whether the mesh enforces it. */
  enforced?(): readonly boolean[]
  /** Returns the number of connected Envoys by version; undefined: they get their configuration elsewhere. */
  envoys(): ReadonlyMap<string, number> | undefined
  /** Returns how many calls were refused for want of an Envoy's token so far, by reason; absent: no token is expected. */
  tokenRefusals?(): Readonly<Record<string, number>>
  keySets(): readonly KeySetState[]
}

const NOTHING: StateSource = {
  resources: () => [],
  policies: () => ({ attached: 0, audited: 0, refused: 0, without_target: 0, pending: 0 }),
  openRoutes: () => 0,
  envoys: () => new Map(),
  keySets: () => [],
}

type Read = () => StateSource

/** Registers the gauges and returns the function that sets their source. */
export function createStateGauges(registers: Registry[]): (source: StateSource) => void {
  let source = NOTHING
  const read: Read = () => source
  registerResources(registers, read)
  registerEnvoys(registers, read)
  registerTokens(registers, read)
  registerKeySets(registers, read)
  return (given) => {
    source = given
  }
}

/** Every policy state always has a series, for alerts to see 0 instead of no data. */
function registerResources(registers: Registry[], read: Read): void {
  new Gauge({
    name: 'gatehouse_resources',
    help: 'Resources read, by kind and whether they are accepted.',
    labelNames: ['kind', 'accepted'] as const,
    registers,
    collect() {
      this.reset()
      for (const { kind, accepted, count } of read().resources())
        this.set({ kind, accepted: String(accepted) }, count)
    },
  })
  new Gauge({
    name: 'gatehouse_policies',
    help: 'ProxyPolicies by state: attached, audited (attached in mode Audit), refused, without_target, or pending (no Gateway or no keys yet).',
    labelNames: ['state'] as const,
    registers,
    collect() {
      for (const [state, count] of Object.entries(read().policies()))
        this.set({ state }, Number(count))
    },
  })
  new Gauge({
    name: 'gatehouse_open_routes',
    help: 'HTTPRoutes that anybody may use, because no policy decides who may.',
    registers,
    collect() {
      this.set(read().openRoutes())
    },
  })
  new Gauge({
    name: 'gatehouse_enforced_policies',
    help: 'ProxyPolicies on routes of a mesh, by whether the mesh enforces them; reported by the replica that applies.',
    labelNames: ['enforced'] as const,
    registers,
    collect() {
      const all = read().enforced?.() ?? []
      const count = all.filter((isEnforced) => isEnforced).length
      this.set({ enforced: 'true' }, count)
      this.set({ enforced: 'false' }, all.length - count)
    },
  })
}

const UNKNOWN = 'unknown'
const MAX_VERSIONS = 20

/**
 * Keeps the series of a version at 0 once no Envoy has it, for alerts to see the last Envoy disconnect. Envoys report
 * their versions themselves, so the number of series is bounded. Beside Envoys that others configure there is no series,
 * so that no alert misses them.
 */
function registerEnvoys(registers: Registry[], read: Read): void {
  const seen = new Set([UNKNOWN])
  new Gauge({
    name: 'gatehouse_envoys',
    help: 'Connected Envoys, by version.',
    labelNames: ['version'] as const,
    registers,
    collect() {
      const counts = read().envoys()
      if (counts === undefined) return this.reset()
      for (const version of seen) this.set({ version }, 0)
      for (const [given, count] of counts) {
        const version = seen.has(given) || seen.size < MAX_VERSIONS ? given : UNKNOWN
        seen.add(version)
        this.inc({ version }, count)
      }
    },
  })
}

/** Each reason always has a series, for alerts to see 0 instead of no data. */
function registerTokens(registers: Registry[], read: Read): void {
  new Counter({
    name: 'gatehouse_envoy_tokens_refused_total',
    help: 'Calls of the gRPC address that were refused, as they had no confirmed token of an Envoy and no client certificate.',
    labelNames: ['reason'] as const,
    registers,
    collect() {
      this.reset()
      for (const [reason, count] of Object.entries(read().tokenRefusals?.() ?? {}))
        this.inc({ reason }, count)
    },
  })
}

const MAX_KEY_SETS = 100
const MAX_URL_LENGTH = 200

/** The states count all key sets. The series by URL are bounded in number, because tenants choose the URLs. */
function registerKeySets(registers: Registry[], read: Read): void {
  new Gauge({
    name: 'gatehouse_key_sets',
    help: 'Key sets by state: fresh, stale (the last fetch failed, earlier keys are in use) or missing (no keys).',
    labelNames: ['state'] as const,
    registers,
    collect() {
      const counts = { fresh: 0, stale: 0, missing: 0 }
      for (const keySet of read().keySets()) counts[stateOf(keySet)] += 1
      for (const [state, count] of Object.entries(counts)) this.set({ state }, count)
    },
  })
  new Gauge({
    name: 'gatehouse_key_set_last_fetch_timestamp_seconds',
    help: 'When each key set was last fetched with success.',
    labelNames: ['url'] as const,
    registers,
    collect() {
      this.reset()
      for (const [url, at] of timesByUrl(read().keySets(), ({ fetchedAt }) => fetchedAt))
        this.set({ url }, at)
    },
  })
  new Gauge({
    name: 'gatehouse_key_set_last_attempt_timestamp_seconds',
    help: 'When the last fetch of each key set ended, with or without success.',
    labelNames: ['url'] as const,
    registers,
    collect() {
      this.reset()
      for (const [url, at] of timesByUrl(read().keySets(), ({ attemptedAt }) => attemptedAt))
        this.set({ url }, at)
    },
  })
}

function stateOf({ hasKeys, isFailing }: KeySetState): 'fresh' | 'stale' | 'missing' {
  if (!hasKeys) return 'missing'
  return isFailing ? 'stale' : 'fresh'
}

/** Returns times by URL; of two key sets with the same URL, the earlier one. */
function timesByUrl(
  keySets: readonly KeySetState[],
  timeOf: (keySet: KeySetState) => number | undefined,
): readonly (readonly [string, number])[] {
  const times = new Map<string, number>()
  for (const keySet of keySets) {
    const [label, time] = [urlLabel(keySet.url), timeOf(keySet)]
    if (time !== undefined) times.set(label, Math.min(time, times.get(label) ?? Infinity))
  }
  return [...times].sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, MAX_KEY_SETS)
}

/** Removes the query, which may hold a secret: /metrics requires no token. */
const urlLabel = (url: string): string => (url.split(/[?#]/, 1)[0] ?? '').slice(0, MAX_URL_LENGTH)
