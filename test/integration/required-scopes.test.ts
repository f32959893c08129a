// A tool that needs a scope, with official clients: the first login requests what every request needs, and a call of
// the tool begins a login for everything it needs.

import {
  Client as Client2,
  type StoredOAuthClientInformation,
  type StoredOAuthTokens,
  StreamableHTTPClientTransport as Transport2,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type {
  OAuthClientInformationMixed,
  OAuthTokens,
} from '@modelcontextprotocol/sdk/shared/auth.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type McpServer, startMcpServer } from '../../src/cli/demo/mcp-server.js'
import { eventually } from '../../testing/eventually.js'
import { MemoryProvider } from '../support/clients/memory-provider.js'
import { pythonCall } from '../support/clients/python-call.js'
import { type DocumentServer, startDocumentServer } from '../support/document-server.js'
import { initialize, send } from '../support/http.js'
import { gateway, mcpRoute, proxyBackend, proxyPolicy, remoteJwks } from '../support/resources.js'
import { type Stack, startStack } from '../support/stack.js'
import { keySet, newKey, type SigningKey, signToken } from '../support/tokens.js'

const ISSUER = 'https://idp.example/application/o/mcp/'

let server: McpServer
let idp: DocumentServer
let key: SigningKey
let stack: Stack

beforeAll(async () => {
  ;[server, idp, key] = await Promise.all([startMcpServer(), startDocumentServer(), newKey('k1')])
  idp.serve('/jwks', keySet(key))
  idp.serve('/application/o/mcp/.well-known/openid-configuration', {
    issuer: ISSUER,
    authorization_endpoint: `${ISSUER}authorize`,
    token_endpoint: `${ISSUER}token`,
    jwks_uri: `${ISSUER}jwks/`,
    response_types_supported: ['code'],
  })
  stack = await startStack({
    resources: (port) => [
      gateway([port]),
      proxyBackend('everything', server),
      proxyBackend('idp', idp),
      mcpRoute('mcp', 'everything'),
      proxyPolicy('mcp', 'mcp', {
        jwtAuthentication: {
          providers: [
            { issuer: ISSUER, audiences: ['api'], jwks: remoteJwks('idp', idp.port, '/jwks') },
          ],
          mcp: {
            provider: 'IdpOne',
            clientId: 'client',
            metadataIssuer: 'Gateway',
            resourceMetadata: { resource: `http://127.0.0.1:${String(port)}/mcp` },
          },
        },
        authorization: {
          policy: {
            requiredScopes: [
              { scopes: ['mcp'] },
              { scopes: ['sum'], when: 'mcp.tool.name == "get-sum"', impliedBy: ['admin'] },
            ],
          },
        },
      }),
    ],
  })
  await eventually(async () => {
    expect((await send(stack.origin, '/mcp', initialize)).status).toBe(401)
  })
})

afterAll(async () => {
  await stack.close()
  await Promise.all([server.close(), idp.close()])
})

const tokenOf = (scope: string): Promise<string> =>
  signToken({ key, claims: { iss: ISSUER, aud: 'api', scope } })

interface Visit {
  echo(): Promise<unknown>
  sum(): Promise<unknown>
  /** The scope of the login that the client has begun. */
  scope(): string | null | undefined
  close(): Promise<void>
}

/** Visits as a client that has logged in for this scope. */
async function visit(version: 1 | 2, scope: string): Promise<Visit> {
  const url = new URL(`${stack.origin}/mcp`)
  const info = { name: 'gatehouse-tests', version: '1' }
  const tokens = { access_token: await tokenOf(scope), token_type: 'Bearer', scope }
  const sums = { name: 'get-sum', arguments: { a: 1, b: 2 } }
  const echoes = { name: 'echo', arguments: { message: 'hi' } }
  if (version === 1) {
    const provider = new MemoryProvider<OAuthClientInformationMixed, OAuthTokens>()
    provider.saveTokens(tokens)
    const client = new Client(info)
    await client.connect(new StreamableHTTPClientTransport(url, { authProvider: provider }))
    return {
      echo: () => client.callTool(echoes),
      sum: () => client.callTool(sums),
      scope: () => provider.authorization?.searchParams.get('scope'),
      close: () => client.close(),
    }
  }
  const provider = new MemoryProvider<StoredOAuthClientInformation, StoredOAuthTokens>()
  provider.saveTokens(tokens)
  const client = new Client2(info)
  await client.connect(new Transport2(url, { authProvider: provider }))
  return {
    echo: () => client.callTool(echoes),
    sum: () => client.callTool(sums),
    scope: () => provider.authorization?.searchParams.get('scope'),
    close: () => client.close(),
  }
}

describe.each([1, 2] as const)('the TypeScript client, version %s', (version) => {
  test('begins a login for all scopes of the call', async () => {
    const client = await visit(version, 'mcp')
    try {
      expect(JSON.stringify(await client.echo())).toContain('Echo: hi')
      expect(client.scope()).toBeUndefined()
      await expect(client.sum()).rejects.toThrow()
      expect(client.scope()?.split(' ').toSorted()).toEqual(['mcp', 'sum'])
    } finally {
      await client.close()
    }
  })

  test.each(['mcp sum', 'mcp admin'])('calls it with %s', async (scope) => {
    const client = await visit(version, scope)
    try {
      expect(JSON.stringify(await client.sum())).toContain('3')
    } finally {
      await client.close()
    }
  })
})

describe('the Python client', () => {
  const call = async (scope: string) =>
    pythonCall(`${stack.origin}/mcp`, 'get-sum', await tokenOf(scope))

  test.each(['mcp sum', 'mcp admin'])('calls it with %s', async (scope) => {
    expect((await call(scope)).text).toContain('3')
  })

  test('is shown the tool without its scope, and sees what is lacking', async () => {
    const { tools, error } = await call('mcp')
    expect(tools).toContain('get-sum')
    expect(error).toContain('the token lacks a scope; this request needs mcp sum')
  })
})

test('the first login asks for what every request needs', async () => {
  const { headers } = await send(stack.origin, '/mcp', initialize)
  expect(headers['www-authenticate']).toContain('scope="mcp"')
})

test('without a client that logs in, the answer names the missing scope', async () => {
  const { status, body, headers } = await send(stack.origin, '/mcp', {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await tokenOf('mcp')}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'get-sum' },
    }),
  })
  expect(status).toBe(403)
  expect(body).toContain('Forbidden: the token lacks a scope; this request needs mcp sum')
  expect(headers['www-authenticate']).toMatch(/^Bearer error="insufficient_scope", scope="mcp sum"/)
})
