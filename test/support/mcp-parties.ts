// An MCP server, an identity provider of kind IdpOne, and the resources of a gateway between them.

import { expect } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from './backend.js'
import { startDocumentServer } from './document-server.js'
import { initialize, send } from './http.js'
import { allow, gateway, mcpRoute, proxyBackend, proxyPolicy, remoteJwks } from './resources.js'
import { type Stack, startStack } from './stack.js'
import { keySet, newKey, signToken } from './tokens.js'

export const ISSUER = 'https://idp.example/application/o/mcp/'

export interface McpParties {
  readonly backend: Backend
  tokenOf(...groups: readonly string[]): Promise<string>
  /** @param rules each alone is enough to allow a request. */
  resources(port: number, ...rules: readonly string[]): readonly object[]
  /** Starts `gatehouse run` with these resources. Resolves when it asks callers for a token. */
  run(rule: string, ...flags: readonly string[]): Promise<Stack>
  close(): Promise<void>
}

export async function startMcpParties(): Promise<McpParties> {
  const backend = await startBackend()
  const idp = await startDocumentServer()
  const key = await newKey('k1')
  idp.serve('/jwks', keySet(key))
  idp.serve('/application/o/mcp/.well-known/openid-configuration', {
    issuer: ISSUER,
    authorization_endpoint: `${ISSUER}authorize`,
    token_endpoint: `${ISSUER}token`,
    jwks_uri: `${ISSUER}jwks/`,
  })
  const policy = (port: number, ...rules: readonly string[]): object =>
    proxyPolicy('mcp', 'mcp', {
      jwtAuthentication: {
        mode: 'Strict',
        providers: [
          { issuer: ISSUER, audiences: ['mcp-client'], jwks: remoteJwks('idp', idp.port, '/jwks') },
        ],
        mcp: {
          provider: 'IdpOne',
          clientId: 'mcp-client',
          resourceMetadata: { resource: `http://127.0.0.1:${String(port)}/mcp` },
        },
      },
      authorization: allow(...rules),
    })
  const resources: McpParties['resources'] = (port, ...rules) => [
    gateway([port]),
    proxyBackend('backend', backend),
    proxyBackend('idp', idp),
    mcpRoute('mcp', 'backend'),
    policy(port, ...rules),
  ]
  return {
    backend,
    tokenOf: (...groups) => signToken({ key, claims: { iss: ISSUER, aud: 'mcp-client', groups } }),
    resources,
    run: async (rule, ...flags) => {
      const stack = await startStack({
        resources: (port) => resources(port, rule),
        flags,
        own: true,
      })
      await eventually(async () => {
        expect((await send(stack.origin, '/mcp', initialize)).status).toBe(401)
      })
      return stack
    },
    close: async () => {
      await Promise.all([idp.close(), backend.close()])
    },
  }
}
