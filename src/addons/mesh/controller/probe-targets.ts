// Makes the requests that probe a protected HTTPRoute: one for each match of its rules and each path of its OAuth documents,
// for each host name, listener and address of its Gateways. Pure.

import { intersectHostnames } from '../../../model/hostnames.js'
import type { JsonObject } from '../../../model/json.js'
import { type MeshParent, type MeshRoute, pathsByRule } from '../../../model/mesh-route.js'
import { listsKey, routeKey } from '../../../model/names.js'
import type { GatewayName } from '../../../model/status.js'
import { memberOf, objectsOf, textOf } from './json-members.js'

/** A request that Gatehouse must refuse. */
export interface ProbeTarget {
  /** Identifies it among all. */
  readonly id: string
  readonly gateway: GatewayName
  /** The Gateway, address and port: targets of other places are probed independently of it. */
  readonly place: string
  readonly address: string
  readonly port: number
  readonly isTls: boolean
  readonly host: string
  readonly path: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  /** Keys that the servers must be asked with; absent: the server is not asked. */
  readonly keys: { readonly authz?: string; readonly proc?: string }
}

/** Most targets of one route. */
export const MOST_OF_ROUTE = 4_096

/** The requests that probe a route. */
export interface RouteProbes {
  /** All that are needed; empty if there are too many. */
  readonly targets: readonly ProbeTarget[]
  /** How many are needed. */
  readonly needed: number
}

/** What the targets of a route depend on beside it. */
export interface ProbeSources {
  /** Returns a Gateway as received. */
  readonly gatewayOf: (name: GatewayName) => JsonObject | undefined
  /** Whether ext_proc is asked with the key of the first rule for all rules. */
  readonly hasOneKey: boolean
}

/** Returns the requests that probe a route: all of them or none, as one that is never sent would prove nothing. */
export function probeTargets(
  route: MeshRoute,
  { gatewayOf, hasOneKey }: ProbeSources,
): RouteProbes {
  const { authz, isGuarded } = route
  if ((authz === undefined || authz.isAudited === true) && !isGuarded)
    return { targets: [], needed: 0 }
  const requests = [...requestsOf(route, hasOneKey), ...documentRequests(route)]
  const groups = route.gateways.flatMap((gateway) =>
    placesOf(route, gateway, gatewayOf(gateway) ?? {}),
  )
  const needed = groups.reduce((sum, group) => sum + requests.length * sizeOf(group), 0)
  // Counted first: hosts, listeners and addresses may make half a million places.
  if (needed > MOST_OF_ROUTE) return { targets: [], needed }
  const places = groups.flatMap(placesIn)
  const targets = requests.flatMap((request) =>
    places.map((place): ProbeTarget => ({
      ...place,
      ...request,
      id: JSON.stringify([route.namespace, route.name, place, request]),
    })),
  )
  return { targets, needed }
}

/** Most targets of all routes, as each is probed within a minute. */
export const MOST_OF_ALL = 40_000

/** Returns as many routes as can be probed within a minute; of the others, those with the most targets have none. */
export function withinAMinute<Route>(
  all: ReadonlyMap<Route, RouteProbes>,
): ReadonlyMap<Route, RouteProbes> {
  let left = MOST_OF_ALL
  const fits = new Set<Route>()
  for (const [route, { targets }] of [...all].sort(([, a], [, b]) => a.needed - b.needed)) {
    left -= targets.length
    if (left >= 0) fits.add(route)
  }
  if (left >= 0) return all
  return new Map(
    [...all].map(([route, probes]) => [
      route,
      fits.has(route) ? probes : { ...probes, targets: [] },
    ]),
  )
}

type Place = Pick<ProbeTarget, 'gateway' | 'place' | 'address' | 'port' | 'isTls' | 'host'>

/** The places of a listener: one for each host and address. */
interface PlaceGroup extends Pick<ProbeTarget, 'gateway' | 'port' | 'isTls'> {
  /** undefined: any host will do. */
  readonly hosts: readonly (string | undefined)[]
  readonly addresses: readonly string[]
}

function placesOf(
  route: MeshRoute,
  gateway: GatewayName,
  object: JsonObject,
): readonly PlaceGroup[] {
  const addresses = addressesOf(object)
  const parents = parentsOf(route, gateway)
  return objectsOf(memberOf(object, 'spec'), 'listeners')
    .filter((listener) => isServed(listener) && parents.some(takes(listener)))
    .map(({ port, protocol, hostname }) => ({
      gateway,
      addresses,
      port: Number(port),
      isTls: protocol === 'HTTPS',
      hosts: hostsOf(route.hostnames, textOf(hostname)),
    }))
}

const sizeOf = ({ hosts, addresses }: PlaceGroup): number => hosts.length * addresses.length

const placesIn = ({ gateway, port, isTls, hosts, addresses }: PlaceGroup): readonly Place[] =>
  hosts.flatMap((host) =>
    addresses.map((address) => ({
      gateway,
      address,
      port,
      isTls,
      host: host ?? address,
      place: `${gateway.namespace}/${gateway.name} ${address} ${port}`,
    })),
  )

/** Those that its controller reports; else those that its author asks for. */
function addressesOf(gateway: JsonObject): readonly string[] {
  const [reported, asked] = ['status', 'spec'].map((part) =>
    objectsOf(memberOf(gateway, part), 'addresses').flatMap(({ value }) => textOf(value) ?? []),
  )
  return (reported?.length ?? 0) > 0 ? (reported ?? []) : (asked ?? [])
}

const isServed = ({ protocol }: JsonObject): boolean => protocol === 'HTTP' || protocol === 'HTTPS'

const parentsOf = (route: MeshRoute, { namespace, name }: GatewayName): readonly MeshParent[] =>
  route.parents.filter(
    (parent) => parent.name === name && (parent.namespace ?? route.namespace) === namespace,
  )

const takes =
  (listener: JsonObject) =>
  ({ sectionName, port }: MeshParent): boolean =>
    (sectionName === undefined || sectionName === listener['name']) &&
    (port === undefined || port === listener['port'])

/** Returns the hosts of requests that both take; undefined: any host will do. */
const hostsOf = (
  hostnames: readonly string[],
  listener: string | undefined,
): readonly (string | undefined)[] =>
  intersectHostnames(listener, hostnames).map((host) =>
    host === '*' ? undefined : exampleOf(host),
  )

const exampleOf = (hostname: string): string => hostname.replace(/^\*\./, 'gatehouse-probe.')

type ProbeRequest = Pick<ProbeTarget, 'path' | 'method' | 'headers' | 'keys'>

function requestsOf(route: MeshRoute, hasOneKey: boolean): readonly ProbeRequest[] {
  return route.rules.flatMap(({ matches }, rule) =>
    (matches.length === 0 ? [{}] : (matches as unknown as readonly JsonObject[])).flatMap(
      (match) => {
        const request = requestOf(match)
        const keys = keysOf(route, hasOneKey ? 0 : rule)
        return request === undefined ? [] : [{ ...request, keys }]
      },
    ),
  )
}

function keysOf(
  { namespace, name, authz, isGuarded }: MeshRoute,
  rule: number,
): ProbeTarget['keys'] {
  const key = routeKey(namespace, name, rule)
  const isProtected = authz !== undefined && authz.isAudited !== true
  return {
    ...(isProtected ? { authz: authz.key } : {}),
    ...(isGuarded ? { proc: key } : {}),
    ...(authz?.filtersLists === true ? { proc: listsKey(key) } : {}),
  }
}

/** Returns requests for the OAuth documents and the pages of a relay: forged ones would lead clients to another provider. */
const documentRequests = ({ namespace, documents }: MeshRoute): readonly ProbeRequest[] =>
  documents === undefined
    ? []
    : pathsByRule(documents).flatMap((paths, rule) =>
        paths.map((path) => ({
          path,
          method: 'GET',
          headers: {},
          keys: { proc: routeKey(namespace, documents.route, rule) },
        })),
      )

/** Returns undefined for a match with a regular expression: no request is known to match it. */
function requestOf(match: JsonObject): Omit<ProbeRequest, 'keys'> | undefined {
  const { type = 'PathPrefix', value = '/' } = memberOf(match, 'path')
  const headers = objectsOf(match, 'headers')
  const query = objectsOf(match, 'queryParams')
  const hasPattern = [...headers, ...query].some((each) => each['type'] === 'RegularExpression')
  if (type === 'RegularExpression' || hasPattern || typeof value !== 'string') return undefined
  const search = new URLSearchParams(query.map(pairOf)).toString()
  return {
    path: search === '' ? value : `${value}?${search}`,
    method: textOf(match['method']) ?? 'GET',
    headers: Object.fromEntries(headers.map(pairOf)),
  }
}

const pairOf = ({ name, value }: JsonObject): [string, string] => [
  textOf(name) ?? '',
  textOf(value) ?? '',
]
