// Rate limits for logins, their ends, registrations and token requests at a relay: per network of clients, so a flood
// from one leaves the others their share, and for all networks together.

import { createRates, type RateLimits, type Rates } from '../../../extproc/session/rates.js'

/** Each counts every request, whatever it contains. authorize: those for the consent page, and its forms. */
export type BoundedRequest = 'authorize' | 'callback' | 'registration' | 'token'

/** The rate limits of all relays of a process. */
export interface RelayBounds {
  /** Whether a network may make this request now; counts it if so. policy: the relay's policy. */
  take(request: BoundedRequest, policy: string, network: string): boolean
}

/** Limits per network. A login takes two requests per person; hundreds of people may share a network. */
const OF_NETWORK: Readonly<Record<BoundedRequest, RateLimits>> = {
  authorize: { perSecond: 10, burst: 200 },
  callback: { perSecond: 10, burst: 200 },
  registration: { perSecond: 5, burst: 100 },
  token: { perSecond: 10, burst: 100 },
}
/** Limits per policy, for all networks together. Calls of a provider have a lower limit (relay-deps.ts). */
const OF_POLICY: Readonly<Record<BoundedRequest, RateLimits>> = {
  authorize: { perSecond: 100, burst: 1000 },
  callback: { perSecond: 100, burst: 1000 },
  registration: { perSecond: 50, burst: 500 },
  token: { perSecond: 100, burst: 1000 },
}
const MAX_NETWORKS = 8192

/** limitsOf: returns this process's share of the limits. now: milliseconds. */
export function createRelayBounds(
  limitsOf: (limits: RateLimits) => RateLimits,
  now: () => number,
): RelayBounds {
  const ratesOf = (limits: RateLimits): Rates => createRates(limitsOf(limits), now)
  const networks = forEach(OF_NETWORK, (limits) => ratesOf({ ...limits, maxKeys: MAX_NETWORKS }))
  const policies = forEach(OF_POLICY, ratesOf)
  return {
    take: (request, policy, network) =>
      networks[request].take(JSON.stringify([policy, network])) && policies[request].take(policy),
  }
}

const forEach = (
  { authorize, callback, registration, token }: Readonly<Record<BoundedRequest, RateLimits>>,
  ratesOf: (limits: RateLimits) => Rates,
): Readonly<Record<BoundedRequest, Rates>> => ({
  authorize: ratesOf(authorize),
  callback: ratesOf(callback),
  registration: ratesOf(registration),
  token: ratesOf(token),
})
