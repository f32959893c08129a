// A gateway with two MCP paths before one identity provider: clients log in there, or at the gateway, which relays.

import { type McpServer, startMcpServer } from '../../../src/demo/mcp-server.js'
import { eventually } from '../../support/eventually.js'
import {
  allow,
  CORS_FILTER,
  gateway,
  httpRoute,
  proxyBackend,
  proxyPolicy,
  remoteJwks,
  rule,
} from '../../support/resources.js'
import { type Stack, startStack } from '../../support/stack.js'

export const MODES = ['Provider', 'Relay'] as const
export type Mode = (typeof MODES)[number]

export interface ProviderUnderTest {
  readonly host: string
  readonly port: number
  readonly issuer: string
  readonly jwksPath: string
  /** Of its access tokens, for an MCP server. */
  audienceOf(resource: string): string
  readonly scopes: readonly string[]
  /** A rule that lets alice in. */
  readonly rule: string
  /** mcp.provider */
  readonly kind?: 'IdpTwo'
  /** What the relay is there; secret: of a confidential client. */
  readonly client: { readonly id: string; readonly secret?: string }
}

export interface TwoModes {
  readonly stack: Stack
  urlOf(mode: Mode): string
  /** Where the relay's endpoints are. */
  readonly relayAt: string
  close(): Promise<void>
}

/** prepare: is told the redirect URI of the relay, before any client comes. */
export async function startTwoModes(
  provider: ProviderUnderTest,
  prepare: (redirectUri: string) => Promise<void> = () => Promise.resolve(),
): Promise<TwoModes> {
  const server: McpServer = await startMcpServer()
  const stack = await startStack({
    resources: (port) => [
      gateway([port]),
      proxyBackend('server', server),
      proxyBackend('idp', provider),
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'relay' },
        stringData: { client: provider.client.secret ?? 'none' },
      },
      ...MODES.flatMap((mode) => [route(mode), policy(mode, provider, port)]),
    ],
  })
  const relayAt = `${stack.origin}/.well-known/oauth-authorization-server${pathOf('Relay')}`
  await prepare(`${relayAt}/callback`)
  await eventually(async () => {
    const policies = (await stack.status()).filter(({ kind }) => kind === 'ProxyPolicy')
    const text = JSON.stringify(policies)
    if (policies.length < MODES.length || text.includes('discovery document')) throw new Error(text)
  })
  return {
    stack,
    relayAt,
    urlOf: (mode) => stack.origin + pathOf(mode),
    close: async () => {
      await stack.close()
      await server.close()
    },
  }
}

const pathOf = (mode: Mode): string => `/${mode.toLowerCase()}`

/** The server knows its own path only, /mcp. */
function route(mode: Mode): object {
  const path = pathOf(mode)
  const urlRewrite = { path: { type: 'ReplacePrefixMatch', replacePrefixMatch: '/mcp' } }
  return httpRoute(mode.toLowerCase(), {
    rules: [
      rule(path, 'server', { filters: [CORS_FILTER, { type: 'URLRewrite', urlRewrite }] }),
      rule(`/.well-known/oauth-protected-resource${path}`, 'server', { filters: [CORS_FILTER] }),
      rule(`/.well-known/oauth-authorization-server${path}`, 'server', { filters: [CORS_FILTER] }),
    ],
  })
}

function policy(mode: Mode, provider: ProviderUnderTest, port: number): object {
  const name = mode.toLowerCase()
  const resource = `http://127.0.0.1:${String(port)}${pathOf(mode)}`
  const relay = provider.client.secret === undefined ? {} : { clientSecretRef: { name: 'relay' } }
  return proxyPolicy(name, name, {
    jwtAuthentication: {
      providers: [
        {
          issuer: provider.issuer,
          audiences: [provider.audienceOf(resource)],
          jwks: remoteJwks('idp', provider.port, provider.jwksPath),
        },
      ],
      mcp: {
        ...(provider.kind !== undefined && { provider: provider.kind }),
        authorizationServer: mode,
        ...(mode === 'Relay' && { clientId: provider.client.id, relay }),
        resourceMetadata: { resource, scopesSupported: provider.scopes },
      },
    },
    authorization: allow(provider.rule),
  })
}
