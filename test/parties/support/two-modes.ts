// A gateway with two MCP paths and one identity provider: clients log in at the provider, or at the gateway as a relay.

import { type McpServer, startMcpServer } from '../../../src/cli/demo/mcp-server.js'
import { eventually } from '../../../testing/eventually.js'
import {
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
  /** Returns the audience of the provider's access tokens for an MCP server. */
  audienceOf(resource: string): string
  readonly scopes: readonly string[]
  /** A rule that allows alice. */
  readonly rule: string
  /** authorization.policy.requiredScopes */
  readonly requiredScopes?: readonly object[]
  /** mcp.provider */
  readonly kind?: 'IdpTwo'
  /** The relay's client at the provider, with a secret if it is confidential. */
  readonly client: { readonly id: string; readonly secret?: string }
}

export interface TwoModes {
  readonly stack: Stack
  urlOf(mode: Mode): string
  /** URL of the relay's endpoints. */
  readonly relayAt: string
  close(): Promise<void>
}

/** @param prepare called with the relay's redirect URI before any client connects. */
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

/** A route that rewrites the path to /mcp, the only path that the server knows. */
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
    authorization: {
      policy: {
        matchExpressions: [provider.rule],
        ...(provider.requiredScopes && { requiredScopes: provider.requiredScopes }),
      },
    },
  })
}
