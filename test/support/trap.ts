// A gateway with one backend behind a protected path and an open one, and a model of how a lenient backend reads paths.

import { expect } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type Backend, type Recorded, startBackend } from './backend.js'
import { send } from './http.js'
import { rawRequest } from './raw-request.js'
import { gateway, httpRoute, mcpRoute, proxyBackend, proxyPolicy, rule } from './resources.js'
import { type Stack, startStack } from './stack.js'
import { keySet, newKey, signToken } from './tokens.js'

export interface Trap {
  readonly backend: Backend
  readonly stack: Stack
  /** A token that is valid for the protected path. */
  readonly token: string
  get(path: string, ...headers: readonly string[]): ReturnType<typeof rawRequest>
  /** Returns the requests that reached the backend since the last forget(). */
  reached(): readonly Recorded[]
  forget(): void
  /** Asserts that no request without a token reached the backend that it could read as the MCP path. */
  expectNoWayIn(): void
  close(): Promise<void>
}

const ISSUER = 'https://idp.example/application/o/mcp/'

/** Starts a stack where /mcp is protected, everything else is not, and one backend serves both. */
export async function startTrap(...flags: readonly string[]): Promise<Trap> {
  const key = await newKey('k1')
  const backend = await startBackend()
  const jwks = { inline: JSON.stringify(keySet(key)) }
  const resources = (port: number): readonly object[] => [
    gateway([port]),
    proxyBackend('backend', backend),
    mcpRoute('mcp', 'backend'),
    httpRoute('open', { rules: [rule('/', 'backend')] }),
    proxyPolicy('mcp', 'mcp', {
      jwtAuthentication: {
        providers: [{ issuer: ISSUER, audiences: ['mcp'], jwks }],
        mcp: { provider: 'IdpOne', clientId: 'mcp' },
      },
    }),
  ]
  const stack = await startStack({ resources, flags })
  await eventually(async () => expect((await send(stack.origin, '/mcp')).status).toBe(401))
  return {
    backend,
    stack,
    token: await signToken({ key, claims: { iss: ISSUER, aud: 'mcp' } }),
    get: (path, ...headers) =>
      rawRequest(stack.origin, `GET ${path} HTTP/1.1`, 'Host: gateway.example', ...headers),
    reached: () => backend.requests,
    forget: () => void backend.requests.splice(0),
    expectNoWayIn: () => {
      const sneaked = backend.requests.filter(({ url }) => /^\/mcp(\/|$)/.test(lenient(url)))
      expect(sneaked.map(({ url }) => url)).toEqual([])
    },
    close: async () => {
      await stack.close()
      await backend.close()
    },
  }
}

/**
 * Normalises a path like a lenient backend: drops parameters, decodes once, reads backslashes as slashes, removes NULs
 * and resolves dots.
 */
function lenient(url: string): string {
  const [path = ''] = url.split(/[?#]/)
  const plain = path.replace(/;[^/\\]*/g, '')
  const decoded = decode(plain).replaceAll('\\', '/').replaceAll('\0', '')
  const resolved: string[] = []
  for (const segment of decoded.split('/')) {
    if (segment === '..') resolved.pop()
    else if (segment !== '' && segment !== '.') resolved.push(segment)
  }
  return `/${resolved.join('/')}`
}

const decode = (path: string): string =>
  path.replace(/%([0-9a-f]{2})/gi, (_all, hex: string) => String.fromCharCode(parseInt(hex, 16)))
