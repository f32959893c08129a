// A gateway whose routes need tokens, and a helper to call them.

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

/** A jwtAuthentication with one provider that has these keys. */
export const jwt = (keys: readonly SigningKey[], more: object = {}): object => ({
  providers: [provider(keys)],
  ...more,
})

/** Signs a token of that provider. */
export const sign = (key: SigningKey, claims: object = {}): Promise<string> =>
  signToken({ key, claims: { iss: ISSUER, ...claims } })

/** A route /NAME with these policies. */
export const protectedRoute = (name: string, ...traffics: readonly object[]): readonly object[] => [
  httpRoute(name, { rules: [rule(`/${name}`, 'backend')] }),
  ...traffics.map((traffic, index) => proxyPolicy(`${name}-${String(index)}`, name, traffic)),
]

export interface ProtectedStack extends Stack {
  readonly backend: Backend
  /** Calls /NAME and returns the status, after checking that the backend was reached exactly if the status is 200. */
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
