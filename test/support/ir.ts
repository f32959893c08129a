// Small Irs for tests of the stages after the translation of resources: one gateway, one port, the given routes.

import type { Destination } from '../../src/model/destination.js'
import type { Certificate, FilterChain, Ir } from '../../src/model/ir.js'
import type { ForwardAction, PathMatch, Route } from '../../src/model/route.js'

/** Converts "/x" to a prefix match and "=/x" to an exact match. */
export const path = (text: string): PathMatch =>
  text.startsWith('=')
    ? { type: 'Exact', value: text.slice(1) }
    : { type: 'PathPrefix', value: text }

/** @param to names of destinations, each with the same weight. */
export const forward = (
  to: string | readonly string[],
  more: Partial<ForwardAction> = {},
): ForwardAction => ({
  type: 'forward',
  destinations: [to].flat().map((destination) => ({ destination, weight: 1 })),
  timeouts: {},
  replaceBackendCors: false,
  allowUpgrades: false,
  ...more,
})

type RouteParts = Omit<Partial<Route>, 'match'> & { readonly match?: Partial<Route['match']> }

export const route = (
  match: string,
  action: Route['action'],
  { match: moreMatch, ...more }: RouteParts = {},
): Route => ({
  name: `default/test/${match}`,
  action,
  ...more,
  match: { path: path(match), headers: [], queryParams: [], ...moreMatch },
})

export const destination = (
  name: string,
  port: number,
  more: Partial<Destination> = {},
): Destination => ({
  name,
  protocol: 'http1',
  endpoints: { type: 'addresses', addresses: [{ ip: '127.0.0.1', port }] },
  ...more,
})

export const chain = (
  name: string,
  routes: readonly Route[],
  tls?: FilterChain['tls'],
): FilterChain => ({
  name,
  virtualHosts: [{ name: `${name}/*`, domains: ['*'], routes }],
  ...(tls === undefined ? {} : { tls }),
})

export interface IrParts {
  readonly port: number
  readonly chains: readonly FilterChain[]
  readonly destinations: readonly Destination[]
  readonly certificates?: readonly Certificate[]
}

export const ir = ({ port, chains, destinations, certificates = [] }: IrParts): Ir => ({
  gateways: [
    {
      namespace: 'default',
      name: 'gw',
      listeners: [{ name: `default/gw/${String(port)}`, port, chains }],
    },
  ],
  destinations,
  certificates,
  authz: [],
  proc: [],
})
