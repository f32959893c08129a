// Chooses the listener that a request reaches.

import { err, ok, type Result } from '../../kit/result.js'
import { mapWork, type Work } from '../../kit/turns.js'
import type { Ir } from '../../model/ir.js'
import type { ExplainRequest } from './explain-request.js'
import type { ClientRequest } from './routing/client-request.js'
import {
  findRoute,
  type FoundRoute,
  type ListenerPlace,
  listenersOf,
} from './routing/find-route.js'

/** A listener that a request reaches, and the route that it finds there. */
export interface Reached {
  readonly place: ListenerPlace
  /** Scheme of the connection to the listener. */
  readonly scheme: 'http' | 'https'
  readonly found: FoundRoute
  /** Assumptions about what is in front of the listener. */
  readonly notes: readonly string[]
}

const DEFAULT_PORTS = { http: 80, https: 443 } as const

/** Yields after each route that does not match. error: why the request reaches none. */
export function* reachListener(
  ir: Pick<Ir, 'gateways'>,
  request: ExplainRequest,
): Work<Result<Reached, string>> {
  const all = listenersOf(ir).filter(
    ({ gateway }) =>
      request.gateway === undefined || request.gateway === `${gateway.namespace}/${gateway.name}`,
  )
  if (all.length === 0)
    return err(
      request.gateway === undefined
        ? 'no Gateway has a listener'
        : `no Gateway ${request.gateway} with a listener`,
    )
  const wanted = request.listenerPort ?? urlPort(request.authority)
  const port = wanted ?? DEFAULT_PORTS[request.scheme]
  const listening = all.filter(({ listener }) => listener.port === port)
  if (listening.length > 0) return ok(yield* bestOf(listening, request, []))
  const mapped = wanted === undefined ? onlyListener(all, request.scheme) : undefined
  if (mapped !== undefined) {
    const note = `No listener has port ${String(port)}; assumed that it is mapped to port ${String(mapped.listener.port)}`
    return ok(yield* bestOf([mapped], request, [note]))
  }
  const ports = [...new Set(all.map(({ listener }) => listener.port))].sort((a, b) => a - b)
  return err(
    `nothing listens on port ${String(port)}; Gateways listen on ${ports.join(', ')} (--listener-port chooses one)`,
  )
}

function urlPort(authority: string): number | undefined {
  const [, port] = /:(\d+)$/.exec(authority) ?? []
  return port === undefined ? undefined : Number(port)
}

const isTls = ({ listener }: ListenerPlace): boolean =>
  listener.chains.some(({ tls }) => tls !== undefined)

/** Returns the listener for a URL without a port, if only one is possible. */
function onlyListener(
  all: readonly ListenerPlace[],
  scheme: 'http' | 'https',
): ListenerPlace | undefined {
  const fitting = all.filter((place) => isTls(place) === (scheme === 'https'))
  if (fitting.length > 1) return undefined
  return fitting[0] ?? (all.length === 1 ? all[0] : undefined)
}

/** Chooses the first Gateway with a route, because several may have the port, each on its own Envoys. */
function* bestOf(
  places: readonly ListenerPlace[],
  request: ExplainRequest,
  notes: readonly string[],
): Work<Reached> {
  const tried = yield* mapWork(places, (place) => reach(place, request, notes))
  const best = tried.find(({ found }) => found.type === 'route') ?? tried[0]
  if (best === undefined) throw new Error('a request was given no listener')
  if (places.length === 1) return best
  const names = places.map(({ gateway }) => `${gateway.namespace}/${gateway.name}`)
  const note = `Several Gateways have this port (${names.join(', ')}): --gateway chooses one`
  return { ...best, notes: [...best.notes, note] }
}

function* reach(
  place: ListenerPlace,
  request: ExplainRequest,
  notes: readonly string[],
): Work<Reached> {
  const endsEarlier = request.scheme === 'https' && !isTls(place)
  const scheme = endsEarlier ? 'http' : request.scheme
  const { method, authority, target, headers } = request
  const client: ClientRequest = { method, authority, target, headers, scheme }
  return {
    place,
    scheme,
    found: yield* findRoute(place.listener, client),
    notes: endsEarlier
      ? [...notes, 'The listener has no TLS: assumed that TLS ends in front of it']
      : notes,
  }
}
