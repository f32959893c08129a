// Gauges of the state in force: resources, policies, open routes, Envoys and key sets, read when /metrics is.

import { Gauge, type Registry } from 'prom-client'

export interface KindCount {
  readonly kind: string
  readonly accepted: boolean
  readonly count: number
}

/** ProxyPolicies by their state. */
export interface PolicyCounts {
  readonly attached: number
  readonly refused: number
  /** A target does not exist. */
  readonly without_target: number
  readonly pending: number
}

/** What is known of one key set that is fetched. */
export interface KeySetState {
  readonly url: string
  /** Whether there are keys; without them every token is answered 503. */
  readonly hasKeys: boolean
  /** Whether the last fetch failed. */
  readonly isFailing: boolean
  /** Seconds since the epoch, of the last fetch that succeeded; absent: none has. */
  readonly fetchedAt?: number
}

export interface StateSource {
  /** All of them: kinds that are not in it are gone. */
  resources(): readonly KindCount[]
  policies(): PolicyCounts
  openRoutes(): number
  /** How many are connected, by version. */
  envoys(): ReadonlyMap<string, number>
  keySets(): readonly KeySetState[]
}

const NOTHING: StateSource = {
  resources: () => [],
  policies: () => ({ attached: 0, refused: 0, without_target: 0, pending: 0 }),
  openRoutes: () => 0,
  envoys: () => new Map(),
  keySets: () => [],
}

type Read = () => StateSource

/** Returns the function that sets where the gauges are read from. */
export function createStateGauges(registers: Registry[]): (source: StateSource) => void {
  let source = NOTHING
  const read: Read = () => source
  registerResources(registers, read)
  registerEnvoys(registers, read)
  registerKeySets(registers, read)
  return (given) => {
    source = given
  }
}

/** Every state of policies has a series, so that an alert on it sees 0 and not nothing. */
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
    help: 'ProxyPolicies by state: attached, refused, without_target, or pending (no Gateway or no keys yet).',
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
}

const UNKNOWN = 'unknown'
const MAX_VERSIONS = 20

/** A version that was seen keeps its series at 0, so that an alert sees the last Envoy go. An Envoy names its version: their number is bounded. */
function registerEnvoys(registers: Registry[], read: Read): void {
  const seen = new Set([UNKNOWN])
  new Gauge({
    name: 'gatehouse_envoys',
    help: 'Connected Envoys, by version.',
    labelNames: ['version'] as const,
    registers,
    collect() {
      for (const version of seen) this.set({ version }, 0)
      for (const [given, count] of read().envoys()) {
        const version = seen.has(given) || seen.size < MAX_VERSIONS ? given : UNKNOWN
        seen.add(version)
        this.inc({ version }, count)
      }
    },
  })
}

const MAX_KEY_SETS = 100
const MAX_URL_LENGTH = 200

/** The states count all key sets; those with a series of their own are bounded in number, as tenants name them. */
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
      for (const [url, at] of lastFetches(read().keySets())) this.set({ url }, at)
    },
  })
}

function stateOf({ hasKeys, isFailing }: KeySetState): 'fresh' | 'stale' | 'missing' {
  if (!hasKeys) return 'missing'
  return isFailing ? 'stale' : 'fresh'
}

/** By URL, of two with one URL the earlier. */
function lastFetches(keySets: readonly KeySetState[]): readonly (readonly [string, number])[] {
  const times = new Map<string, number>()
  for (const { url, fetchedAt } of keySets) {
    const label = urlLabel(url)
    if (fetchedAt !== undefined) times.set(label, Math.min(fetchedAt, times.get(label) ?? Infinity))
  }
  return [...times].sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, MAX_KEY_SETS)
}

/** Without a query, which may hold more than a place: /metrics asks nobody for a token. */
const urlLabel = (url: string): string => (url.split(/[?#]/, 1)[0] ?? '').slice(0, MAX_URL_LENGTH)
