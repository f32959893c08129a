// How often logins, registrations and tokens may be asked for at a relay: by each network of clients, so that a flood from one
// leaves the others what they need, and by all of them.

import { createRates, type RateLimits, type Rates } from '../stream/rates.js'

/** authorize: each request of the consent page and its form. token: those alone for which the provider is asked. */
export type BoundedRequest = 'authorize' | 'registration' | 'token'

export interface RelayBounds {
  /** Whether a network may ask for this now; counted when it may. policy: of the relay. */
  take(request: BoundedRequest, policy: string, network: string): boolean
}

/** A login takes two requests of a person; hundreds of people may share a network. */
const OF_NETWORK: Readonly<Record<BoundedRequest, RateLimits>> = {
  authorize: { perSecond: 10, burst: 200 },
  registration: { perSecond: 5, burst: 100 },
  token: { perSecond: 10, burst: 100 },
}
/** Of tokens the provider's own bound holds (relay-deps.ts). */
const OF_POLICY: Readonly<Record<Exclude<BoundedRequest, 'token'>, RateLimits>> = {
  authorize: { perSecond: 100, burst: 1000 },
  registration: { perSecond: 50, burst: 500 },
}
const MAX_NETWORKS = 8192

/** limitsOf: what of them this process may use. now: milliseconds. */
export function createRelayBounds(
  limitsOf: (limits: RateLimits) => RateLimits,
  now: () => number,
): RelayBounds {
  const ratesOf = (limits: RateLimits): Rates => createRates(limitsOf(limits), now)
  const ofNetwork = (limits: RateLimits): Rates => ratesOf({ ...limits, maxKeys: MAX_NETWORKS })
  const networks: Readonly<Record<BoundedRequest, Rates>> = {
    authorize: ofNetwork(OF_NETWORK.authorize),
    registration: ofNetwork(OF_NETWORK.registration),
    token: ofNetwork(OF_NETWORK.token),
  }
  const policies: Readonly<Partial<Record<BoundedRequest, Rates>>> = {
    authorize: ratesOf(OF_POLICY.authorize),
    registration: ratesOf(OF_POLICY.registration),
  }
  return {
    take: (request, policy, network) =>
      networks[request].take(JSON.stringify([policy, network])) &&
      policies[request]?.take(policy) !== false,
  }
}
