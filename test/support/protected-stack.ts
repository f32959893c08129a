// A gateway whose routes need tokens, and what becomes of a call to one of them.

import { expect } from 'vitest'
import { type Backend, startBackend } from './backend.js'
import { bearer, send } from './http.js'
import { gateway, httpRoute, proxyBackend, proxyPolicy, rule } from './resources.js'
import { type Stack, startStack } from './stack.js'
import { keySet, type SigningKey, signToken } from './tokens.js'

export const ISSUER = 'https://idp.example'

export const provider = (keys: readonly SigningKey[], more: object = {}): object => ({
  issuer: ISSUER,
  jwks: { inline: JSON.stringify(keySet(...keys)) },
  ...more,
})

/** jwtAuthentication by one provider with these keys. */
export const jwt = (keys: readonly SigningKey[], more: object = {}): object => ({
  providers: [provider(keys)],
  ...more,
})

/** A token of that provider's. */
export const sign = (key: SigningKey, claims: object = {}): Promise<string> =>
  signToken({ key, claims: { iss: ISSUER, ...claims } })

/** A route /NAME with these policies on it. */
export const protectedRoute = (name: string, ...traffics: readonly object[]): readonly object[] => [
  httpRoute(name, { rules: [rule(`/${name}`, 'backend')] }),
  ...traffics.map((traffic, index) => proxyPolicy(`${name}-${String(index)}`, name, traffic)),
]

export interface ProtectedStack extends Stack {
  readonly backend: Backend
  /** Of a call to /NAME, which has reached the backend if it is 200, and else has not. */
  statusOf(name: string, token?: string, headers?: Record<string, string>): Promise<number>
}

export async function startProtectedStack(
  ...routes: readonly (readonly object[])[]
): Promise<ProtectedStack> {
  const backend = await startBackend()
  const stack = await startStack({
    resources: (port) => [gateway([port]), proxyBackend('backend', backend), ...routes.flat()],
  })
  return {
    ...stack,
    backend,
    statusOf: async (name, token, more = {}) => {
      const headers = { ...(token !== undefined && bearer(token)), ...more }
      const seen = backend.requests.length
      const { status } = await send(stack.origin, `/${name}`, { headers })
      const reached = status === 200 ? 1 : 0
      expect(backend.requests.length - seen, 'requests that reached the backend').toBe(reached)
      return status
    },
    close: async () => {
      await stack.close()
      await backend.close()
    },
  }
}
