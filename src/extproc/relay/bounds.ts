// Rate limits for logins, registrations and token requests at a relay: per network of clients, so a flood from one
// leaves the others their share, and for all networks together.

import { createRates, type RateLimits, type Rates } from '../stream/rates.js'

/** authorize: every request for the consent page, and every form. token: only requests that call the provider. */
export type BoundedRequest = 'authorize' | 'registration' | 'token'

export interface RelayBounds {
  /** Whether a network may make this request now; counts it if so. policy: the relay's policy. */
  take(request: BoundedRequest, policy: string, network: string): boolean
}

/** Limits per network. A login takes two requests per person; hundreds of people may share a network. */
const OF_NETWORK: Readonly<Record<BoundedRequest, RateLimits>> = {
  authorize: { perSecond: 10, burst: 200 },
  registration: { perSecond: 5, burst: 100 },
  token: { perSecond: 10, burst: 100 },
}
/** Limits per policy, for all networks together. Tokens are limited per provider instead (relay-deps.ts). */
const OF_POLICY: Readonly<Record<Exclude<BoundedRequest, 'token'>, RateLimits>> = {
  authorize: { perSecond: 100, burst: 1000 },
  registration: { perSecond: 50, burst: 500 },
}
const MAX_NETWORKS = 8192

/** limitsOf: returns this process's share of the limits. now: milliseconds. */
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
