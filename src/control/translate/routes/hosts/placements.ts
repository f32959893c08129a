// Keeps the virtual hosts of each route configuration between revisions: a change rebuilds only the hosts it affects.

import { type Replacement, replacements } from '../../../../kit/incremental/diff.js'
import { compareText, patchSorted } from '../../../../kit/incremental/sorted-list.js'
import { each, type Work } from '../../../../kit/turns.js'
import type { VirtualHost } from '../../../../model/ir.js'
import type { RouteChunk } from '../route-chunks.js'
import type { OrderedRoute } from './route-order.js'
import { createVirtualHost } from './virtual-hosts.js'

/** The virtual hosts of all route configurations. */
export interface Placements {
  /** Replaces the chunks of the previous revision. */
  update(chunks: readonly RouteChunk[]): Work<void>
  of(routeConfig: string): PlacedHosts
}

/** The virtual hosts of one route configuration. */
export interface PlacedHosts {
  /** Whether a route is placed at the domain. */
  has(domain: string): boolean
  /** Returns the hosts, sorted by domain. reserved: domains that have a host even without a route. */
  hosts(reserved: readonly string[]): Work<readonly VirtualHost[]>
}

/** Creates placements without a route. */
export function createPlacements(): Placements {
  const configs = new Map<string, RouteConfigHosts>()
  let known: readonly RouteChunk[] = []
  const of = (routeConfig: string): RouteConfigHosts => {
    const config = configs.get(routeConfig) ?? new RouteConfigHosts(routeConfig)
    configs.set(routeConfig, config)
    return config
  }
  return {
    *update(chunks) {
      const replaced = replacements(known, chunks)
      yield* each(replaced, ({ before, now }: Replacement<RouteChunk>) => {
        for (const [routeConfig, domains] of before?.placed ?? [])
          of(routeConfig).take(domains, now?.placed.get(routeConfig))
      })
      yield* each(replaced, ({ before, now }: Replacement<RouteChunk>) => {
        for (const [routeConfig, domains] of now?.placed ?? [])
          of(routeConfig).place(domains, before?.placed.get(routeConfig))
      })
      for (const [routeConfig, config] of configs)
        if (config.isUnused()) configs.delete(routeConfig)
      known = chunks
    },
    of,
  }
}

type Domains = RouteChunk['placed'] extends ReadonlyMap<string, infer Placed> ? Placed : never

interface PlacedDomain {
  /** The routes that the chunks place at the domain. Each list is that of one chunk alone. */
  readonly parts: Set<readonly OrderedRoute[]>
  readonly hostOf: ReturnType<typeof createVirtualHost>
}

class RouteConfigHosts implements PlacedHosts {
  readonly #name: string
  readonly #domains = new Map<string, PlacedDomain>()
  readonly #changed = new Set<string>()
  #reserved: ReadonlySet<string> = new Set()
  /** The hosts in #hosts, by domain. */
  readonly #made = new Map<string, VirtualHost>()
  #hosts: readonly VirtualHost[] = []
  #placed = 0
  #isAsked = false

  constructor(name: string) {
    this.#name = name
  }

  /** Whether no route is placed here and hosts() was not called since the last isUnused(). */
  isUnused(): boolean {
    const isUnused = this.#placed === 0 && !this.#isAsked
    this.#isAsked = false
    return isUnused
  }

  /** now: what is placed instead. Domains whose routes stay there cost nothing. */
  take(domains: Domains, now: Domains | undefined): void {
    for (const [domain, routes] of domains) {
      if (now?.get(domain) === routes) continue
      if (this.#domains.get(domain)?.parts.delete(routes) === true) this.#placed -= 1
      this.#changed.add(domain)
    }
  }

  /** before: what was placed instead, as in take(). */
  place(domains: Domains, before: Domains | undefined): void {
    for (const [domain, routes] of domains) {
      if (before?.get(domain) === routes) continue
      this.#domainOf(domain).parts.add(routes)
      this.#placed += 1
      this.#changed.add(domain)
    }
  }

  has(domain: string): boolean {
    return (this.#domains.get(domain)?.parts.size ?? 0) > 0
  }

  *hosts(reserved: readonly string[]): Work<readonly VirtualHost[]> {
    this.#isAsked = true
    const now = new Set(reserved)
    for (const domain of this.#reserved) if (!now.has(domain)) this.#changed.add(domain)
    for (const domain of now) if (!this.#reserved.has(domain)) this.#changed.add(domain)
    this.#reserved = now
    const made = new Map<string, VirtualHost | undefined>()
    for (const domain of this.#changed) made.set(domain, yield* this.#make(domain))
    const [removed, added]: [VirtualHost[], VirtualHost[]] = [[], []]
    for (const [domain, host] of made) {
      const before = this.#made.get(domain)
      if (host === before) continue
      if (before !== undefined) removed.push(before)
      if (host !== undefined) added.push(host)
    }
    this.#hosts = yield* patchSorted(this.#hosts, { removed, added }, byDomain)
    this.#remember(made)
    return this.#hosts
  }

  /** Called once the hosts are in the list: after a failure, the next call must look at all changed domains again. */
  #remember(made: ReadonlyMap<string, VirtualHost | undefined>): void {
    for (const [domain, host] of made)
      if (host === undefined) this.#made.delete(domain)
      else this.#made.set(domain, host)
    this.#changed.clear()
  }

  /** Returns undefined if neither a route nor a listener has the domain. */
  *#make(domain: string): Work<VirtualHost | undefined> {
    if (!this.has(domain) && !this.#reserved.has(domain)) {
      this.#domains.delete(domain)
      return undefined
    }
    const { parts, hostOf } = this.#domainOf(domain)
    const host = yield* hostOf([...parts])
    yield
    return host
  }

  #domainOf(domain: string): PlacedDomain {
    const known = this.#domains.get(domain)
    if (known !== undefined) return known
    const fresh = {
      parts: new Set<readonly OrderedRoute[]>(),
      hostOf: createVirtualHost(this.#name, domain),
    }
    this.#domains.set(domain, fresh)
    return fresh
  }
}

const byDomain = (a: VirtualHost, b: VirtualHost): number =>
  compareText(a.domains[0] ?? '', b.domains[0] ?? '')
