// A gateway whose routes have key sets from a provider, each at the path of its route; and helpers for calls and
// status.

import { expect } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from './backend.js'
import { type DocumentServer, startDocumentServer } from './document-server.js'
import { type Answer, bearer, send } from './http.js'
import { gateway, httpRoute, proxyBackend, proxyPolicy, remoteJwks, rule } from './resources.js'
import { type Stack, startStack } from './stack.js'
import { keySet, newKey, type SigningKey, signToken } from './tokens.js'

export const ISSUER = 'https://idp.example'

/** k1: the key that providers serve at first. stranger: a key that no provider has. */
export const [k1, k2, stranger] = (await Promise.all(
  ['k1', 'k2', 'made-up'].map((kid) => newKey(kid)),
)) as [SigningKey, SigningKey, SigningKey]

/** A route /NAME with a policy NAME. */
export const routeByKeys = (name: string, jwks: object, mode = 'Strict'): readonly object[] => [
  httpRoute(name, { rules: [rule(`/${name}`, 'backend')] }),
  proxyPolicy(name, name, { jwtAuthentication: { mode, providers: [{ issuer: ISSUER, jwks }] } }),
]

export interface KeySetStack extends Stack {
  readonly backend: Backend
  readonly idp: DocumentServer
  /** Returns the `jwks` of a policy for the keys that the provider serves at this path. */
  jwksAt(path: string): object
  /** Calls a route with a new token each time, so that no remembered token is used. */
  call(name: string, key?: SigningKey): Promise<Answer>
  statusOf(name: string, key?: SigningKey): Promise<number>
  /** Returns the conditions of the policy of that name: type → status, reason and message. */
  conditionsOf(name: string): Promise<Record<string, readonly string[]>>
  /** Returns how often the provider was asked for this path. */
  fetchesOf(path: string): number
}

/**
 * Starts the stack. Resolves when the keys of the named routes are in use.
 * @param names names of routes whose keys (k1) are served from the start.
 */
export async function startKeySetStack(...names: readonly string[]): Promise<KeySetStack> {
  const backend = await startBackend()
  const idp = await startDocumentServer()
  for (const name of names) idp.serve(`/${name}`, keySet(k1))
  const jwksAt = (path: string): object => remoteJwks('idp', idp.port, path)
  const stack = await startStack({
    resources: (port) => [
      gateway([port]),
      proxyBackend('backend', backend),
      proxyBackend('idp', idp),
      ...names.flatMap((name) => routeByKeys(name, jwksAt(`/${name}`))),
    ],
  })
  const call = async (name: string, key?: SigningKey): Promise<Answer> => {
    if (key === undefined) return send(stack.origin, `/${name}`)
    const token = await signToken({ key, claims: { iss: ISSUER, jti: String(Math.random()) } })
    return send(stack.origin, `/${name}`, { headers: bearer(token) })
  }
  const statusOf = async (name: string, key?: SigningKey): Promise<number> =>
    (await call(name, key)).status
  await eventually(async () => {
    for (const name of names) expect(await statusOf(name, k1)).toBe(200)
  })
  return {
    ...stack,
    backend,
    idp,
    jwksAt,
    call,
    statusOf,
    conditionsOf: (name) => conditionsOf(stack, name),
    fetchesOf: (path) => idp.requests.filter((request) => request.path === path).length,
    close: async () => {
      await stack.close()
      await Promise.all([idp.close(), backend.close()])
    },
  }
}

async function conditionsOf(stack: Stack, name: string): Promise<Record<string, string[]>> {
  const policy = (await stack.status()).find(
    (each) => each.kind === 'ProxyPolicy' && each.name === name,
  )
  if (policy === undefined) throw new Error(`no policy ${name}`)
  return Object.fromEntries(
    policy.conditions.map(({ type, status, reason, message }) => [type, [status, reason, message]]),
  )
}
