// Finds HTTPRoutes without a policy that take requests below a protected path, or of the OAuth documents. Pure.

import type { JsonObject } from '../ir/json.js'
import type { MeshRoute } from '../ir/mesh-route.js'
import { memberOf, textOf } from './json-members.js'

/** The parts of an HTTPRoute that decide which requests it takes. */
export interface OtherRoute {
  readonly namespace: string
  readonly name: string
  readonly parents: readonly { readonly namespace?: string | undefined; readonly name: string }[]
  readonly hostnames: readonly string[]
  /** One for each match. */
  readonly paths: readonly OpenPath[]
}

/** The path of a match. */
interface OpenPath {
  readonly path: string
  /** Whether it takes this path alone. */
  readonly isExact: boolean
  /** Whether the match has further conditions. */
  readonly isNarrower: boolean
}

/** Finds by path. */
export interface OpenPaths {
  /** Returns what opens a part of the route, e.g. "HTTPRoute default/other takes /mcp/files, and has no policy". */
  below(route: MeshRoute): string | undefined
}

interface Entry extends OpenPath {
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
  const find = (route: MeshRoute, own: OwnPath): Entry | undefined => {
    for (let at = from(own.path); at < entries.length; at++) {
      const entry = entries[at]
      if (entry === undefined || !entry.path.startsWith(own.path)) return undefined
      if (takesFrom(own, entry) && isBeside(route, entry.route)) return entry
    }
    return undefined
  }
  return {
    below: (route) => {
      const found = pathsOf(route)
        .map((own) => find(route, own))
        .find((entry) => entry !== undefined)
      return found === undefined
        ? undefined
        : `HTTPRoute ${found.route.namespace}/${found.route.name} takes requests of ${found.path}, and has no policy`
    },
  }
}

/** A path of the route itself. */
type OwnPath = Pick<OpenPath, 'path' | 'isExact'>

/** Whether the mesh prefers the entry for some requests of the path: exact paths win over prefixes. */
function takesFrom({ path, isExact }: OwnPath, entry: OpenPath): boolean {
  if (entry.path === path) return entry.isExact === isExact ? entry.isNarrower : entry.isExact
  return !isExact && entry.path.startsWith(path.endsWith('/') ? path : `${path}/`)
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

const pathsOf = ({ rules, documents }: MeshRoute): readonly OwnPath[] => [
  ...rules.flatMap(({ matches }) =>
    matches.length === 0
      ? [{ path: '/', isExact: false }]
      : (matches as unknown as readonly JsonObject[]).flatMap(ownPathOf),
  ),
  ...(documents?.documents ?? []).map((path) => ({ path, isExact: false })),
  ...(documents?.pages ?? []).map((path) => ({ path, isExact: true })),
]

function ownPathOf(match: JsonObject): readonly OwnPath[] {
  const { type = 'PathPrefix', value = '/' } = memberOf(match, 'path')
  const path = textOf(value)
  if (type === 'RegularExpression' || path === undefined) return []
  return type === 'Exact'
    ? [{ path, isExact: true }]
    : [{ path: path.length > 1 ? path.replace(/\/$/, '') : path, isExact: false }]
}
