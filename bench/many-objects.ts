// The routes of benchmarks with many of them, each with a backend and a policy of its own.

import { generateKeyPairSync } from 'node:crypto'
import { backend, policy, route } from './objects.js'

/** All policies share it, as they would a provider's keys. */
const JWKS = JSON.stringify({
  keys: [
    {
      ...generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'jwk' }),
      ...{ kid: 'k1', alg: 'RS256', use: 'sig' },
    },
  ],
})

const nameOf = (index: number): string => `route-${String(index)}`

/** The host of a route. */
export type HostOf = (index: number) => string

export const hostOfItsOwn: HostOf = (index) => `${nameOf(index)}.example`
export const oneHost: HostOf = () => 'routes.example'

export const pathOf = (index: number, version = ''): string => `/${nameOf(index)}${version}`

/** version: makes its path another one than before. */
export const routeOf = (index: number, host: HostOf, version?: string): object =>
  route(nameOf(index), pathOf(index, version), host(index))

/** port: on loopback. */
export const backendOf = (index: number, port: number): object => backend(nameOf(index), port)

/** Nobody needs a token; method: of the requests that it lets in. */
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

/** A route, its backend at this port, and its policy, as they are at first. */
export const objectsOf = (index: number, host: HostOf, backendPort: number): readonly object[] => [
  routeOf(index, host),
  backendOf(index, backendPort),
  policyOf(index),
]
