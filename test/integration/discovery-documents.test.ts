// Discovery documents of providers that are late or fail, from the clients' point of view (decision 10).

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { json, type Reply } from '../support/document-server.js'
import { send } from '../support/http.js'
import { type KeySetStack, startKeySetStack } from '../support/key-set-stack.js'
import { mcpRoute, proxyPolicy } from '../support/resources.js'

let stack: KeySetStack

beforeAll(async () => {
  stack = await startKeySetStack('keys')
})
afterAll(() => stack.close())

describe('discovery documents', () => {
  const issuer = 'https://idp.example/application/o/mcp/'
  const discovery = '/application/o/mcp/.well-known/openid-configuration'
  const document = { issuer, authorization_endpoint: `${issuer}authorize` }
  const served = '/.well-known/oauth-authorization-server/mcp'
  const policy = (scope: string): object =>
    proxyPolicy('mcp', 'mcp', {
      jwtAuthentication: {
        providers: [{ issuer, audiences: ['mcp'], jwks: stack.jwksAt('/keys') }],
        mcp: {
          provider: 'IdpOne',
          clientId: 'mcp',
          resourceMetadata: { resource: `${stack.origin}/mcp`, scopesSupported: [scope] },
        },
      },
    })
  const scopes = async (): Promise<unknown> => {
    const answer = await send(stack.origin, '/.well-known/oauth-protected-resource/mcp')
    return (JSON.parse(answer.body) as { scopes_supported: unknown }).scopes_supported
  }

  test.each<[string, Reply]>([
    ['missing', json({}, 404)],
    ['garbage', (_request, response) => response.end('no')],
    ['of the wrong type', json({ issuer: 1 })],
    ['redirecting', (_request, response) => response.writeHead(302, { location: '/' }).end()],
  ])(
    '%s: 503 until the first good one, which a change of policies does not lose',
    async (_name, bad) => {
      stack.idp.serve(discovery, bad)
      await stack.write('mcp.yaml', mcpRoute('mcp', 'backend'), policy('one'))
      await eventually(async () => expect((await send(stack.origin, served)).status).toBe(503))
      await eventually(async () => expect(await scopes()).toEqual(['one']))
      stack.idp.serve(discovery, document)
      await eventually(async () => expect((await send(stack.origin, served)).status).toBe(200))
      stack.idp.serve(discovery, bad)
      await stack.write('mcp.yaml', mcpRoute('mcp', 'backend'), policy('two'))
      await eventually(async () => expect(await scopes()).toEqual(['two']))
      expect(JSON.parse((await send(stack.origin, served)).body)).toMatchObject(document)
      await stack.remove('mcp.yaml')
      await eventually(async () => expect((await send(stack.origin, served)).status).toBe(404))
    },
  )
})
