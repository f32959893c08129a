// Objects for benchmarks with many routes, each with its own backend and policy.

import { generateKeyPairSync } from 'node:crypto'
import { backend, policy, route } from './objects.js'

/** The key set that all policies share, as they would share a provider's keys. */
const JWKS = JSON.stringify({
  keys: [
    {
      ...generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' }),
      kid: 'k1',
      alg: 'RS256',
      use: 'sig',
    },
  ],
})

const nameOf = (index: number): string => `route-${String(index)}`

/** Returns the host of a route. */
export type HostOf = (index: number) => string

export const hostOfItsOwn: HostOf = (index) => `${nameOf(index)}.example`
export const oneHost: HostOf = () => 'routes.example'

export const pathOf = (index: number, version = ''): string => `/${nameOf(index)}${version}`

/** @param version changes the route's path. */
export const routeOf = (index: number, host: HostOf, version?: string): object =>
  route(nameOf(index), pathOf(index, version), host(index))

/** @param port on loopback. */
export const backendOf = (index: number, port: number): object => backend(nameOf(index), port)

/**
 * A policy that requires no token.
 * @param method the request method that it allows.
 */
export const policyOf = (index: number, method = 'GET'): object =>
  policy(nameOf(index), {
    traffic: {
      jwtAuthentication: {
        mode: 'Optional',
        providers: [{ issuer: 'https://idp.example', audiences: ['a'], jwks: { inline: JWKS } }],
      },
      authorization: { policy: { matchExpressions: [`request.method == "${method}"`] } },
    },
  })

/** The initial versions of a route, its backend at this port, and its policy. */
export const objectsOf = (index: number, host: HostOf, backendPort: number): readonly object[] => [
  routeOf(index, host),
  backendOf(index, backendPort),
  policyOf(index),
]
