// An MCP server, an identity provider of the kind IdpOne, and the resources of a gateway between them.

import { startBackend, type Backend } from './backend.js'
import { startDocumentServer } from './document-server.js'
import { allow, gateway, mcpRoute, proxyBackend, proxyPolicy, remoteJwks } from './resources.js'
import { keySet, newKey, signToken } from './tokens.js'

export const ISSUER = 'https://idp.example/application/o/mcp/'

export interface McpParties {
  readonly backend: Backend
  tokenOf(...groups: readonly string[]): Promise<string>
  /** rules: any of them lets in. */
  resources(port: number, ...rules: readonly string[]): readonly object[]
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
  return {
    backend,
    tokenOf: (...groups) => signToken({ key, claims: { iss: ISSUER, aud: 'mcp-client', groups } }),
    resources: (port, ...rules) => [
      gateway([port]),
      proxyBackend('backend', backend),
      proxyBackend('idp', idp),
      mcpRoute('mcp', 'backend'),
      policy(port, ...rules),
    ],
    close: async () => {
      await Promise.all([idp.close(), backend.close()])
    },
  }
}
