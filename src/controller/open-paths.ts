// Finds HTTPRoutes without a policy that take requests below a protected path. Pure.

import type { JsonObject } from '../ir/json.js'
import type { MeshRoute } from '../ir/mesh-route.js'
import { memberOf, textOf } from './json-members.js'

/** The parts of an HTTPRoute that decide which requests it takes. */
export interface OtherRoute {
  readonly namespace: string
  readonly name: string
  readonly parents: readonly { readonly namespace?: string | undefined; readonly name: string }[]
  readonly hostnames: readonly string[]
  /** One for each match: its path, and whether it has further conditions. */
  readonly paths: readonly { readonly path: string; readonly isNarrower: boolean }[]
}

/** Finds by path. */
export interface OpenPaths {
  /** Returns what opens a part of the route, e.g. "HTTPRoute default/other takes /mcp/files, and has no policy". */
  below(route: MeshRoute): string | undefined
}

interface Entry {
  readonly path: string
  readonly isNarrower: boolean
  readonly route: OtherRoute
}

/** @param others HTTPRoutes without a policy. */
export function createOpenPaths(others: readonly OtherRoute[]): OpenPaths {
  const entries = others
    .flatMap((route) => route.paths.map((path): Entry => ({ ...path, route })))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
  const from = (path: string): number => {
    let [low, high] = [0, entries.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((entries[middle]?.path ?? '') < path) low = middle + 1
      else high = middle
    }
    return low
  }
  const find = (route: MeshRoute, prefix: string): Entry | undefined => {
    const below = prefix.endsWith('/') ? prefix : `${prefix}/`
    for (let at = from(prefix); at < entries.length; at++) {
      const entry = entries[at]
      if (entry === undefined || !entry.path.startsWith(prefix)) return undefined
      const isBelow = entry.path === prefix ? entry.isNarrower : entry.path.startsWith(below)
      if (isBelow && isBeside(route, entry.route)) return entry
    }
    return undefined
  }
  return {
    below: (route) => {
      const found = prefixesOf(route)
        .map((prefix) => find(route, prefix))
        .find((entry) => entry !== undefined)
      return found === undefined
        ? undefined
        : `HTTPRoute ${found.route.namespace}/${found.route.name} takes requests of ${found.path}, and has no policy`
    },
  }
}

/** Whether requests of one host may reach both at one Gateway. */
const isBeside = (route: MeshRoute, other: OtherRoute): boolean =>
  other.parents.some(({ namespace = other.namespace, name }) =>
    route.gateways.some((gateway) => gateway.namespace === namespace && gateway.name === name),
  ) && shareHost(route.hostnames, other.hostnames)

const shareHost = (some: readonly string[], others: readonly string[]): boolean =>
  some.length === 0 ||
  others.length === 0 ||
  some.some((one) => others.some((other) => covers(one, other) || covers(other, one)))

const covers = (outer: string, inner: string): boolean =>
  outer === inner || (outer.startsWith('*.') && inner.endsWith(outer.slice(1)))

const prefixesOf = ({ rules }: MeshRoute): readonly string[] =>
  rules.flatMap(({ matches }) =>
    matches.length === 0
      ? ['/']
      : (matches as unknown as readonly JsonObject[]).flatMap((match) => {
          const { type = 'PathPrefix', value = '/' } = memberOf(match, 'path')
          const path = textOf(value)
          return type === 'RegularExpression' || path === undefined
            ? []
            : [path.length > 1 ? path.replace(/\/$/, '') : path]
        }),
  )
