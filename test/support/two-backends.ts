// A gateway with two backends, a and b, and helpers to see which one answers a request.

import { type Backend, startBackend } from './backend.js'
import { type Answer, type Request, send } from './http.js'
import { backendRef, httpRoute, proxyBackend } from './resources.js'
import { type Stack, startStack } from './stack.js'

export interface TwoBackends {
  readonly a: Backend
  readonly b: Backend
  readonly stack: Stack
  ask(host: string, path: string, request?: Request): Promise<Answer>
  /** Resolves to the name of the backend that answers, or else the status. */
  whoAnswers(host: string, path: string, request?: Request): Promise<string | number>
  close(): Promise<void>
}

/** @param resources in addition to the two backends. */
export async function startTwoBackends(
  resources: (port: number, a: Backend, b: Backend) => readonly object[],
): Promise<TwoBackends> {
  const [a, b] = [await startBackend('a'), await startBackend('b')]
  const stack = await startStack({
    resources: (port) => [proxyBackend('a', a), proxyBackend('b', b), ...resources(port, a, b)],
  })
  const ask: TwoBackends['ask'] = (host, path, { headers, ...more } = {}) =>
    send(stack.origin, path, { ...more, headers: { host, ...(headers as Record<string, string>) } })
  return {
    a,
    b,
    stack,
    ask,
    whoAnswers: async (...request) => {
      const { status, body } = await ask(...request)
      return status === 200 ? body : status
    },
    close: async () => {
      await stack.close()
      await a.close()
      await b.close()
    },
  }
}

export const route = (name: string, hostname: string, ...rules: readonly object[]): object =>
  httpRoute(name, { parentRefs: [{ name: 'gw' }], hostnames: [hostname], rules })

/** A rule for one match. */
export const when = (match: object, backend: string, more: object = {}): object => ({
  matches: [match],
  backendRefs: [backendRef(backend)],
  ...more,
})
