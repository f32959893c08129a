// A gateway that relays logins, with an MCP server behind it and a provider that sends iss and knows one client and one
// redirect URI.

import { type McpServer, startMcpServer } from '../../src/cli/demo/mcp-server.js'
import { eventually } from '../../testing/eventually.js'
import { visitConsenting } from './clients/consenting-agent.js'
import { CLIENT_ID, idpOne, startTestIdp, type TestIdp } from './identity-provider.js'
import { allow, gateway, mcpRoute, proxyBackend, proxyPolicy, remoteJwks } from './resources.js'
import { type Stack, type StackOptions, startStack } from './stack.js'

export const AS = '/.well-known/oauth-authorization-server/mcp'
export const CALLBACK = `${AS}/callback`

export interface RelayStack {
  readonly stack: Stack
  readonly idp: TestIdp
  readonly server: McpServer
  /** URL of the MCP server behind the gateway; also the issuer. */
  readonly url: string
  /** Queries of the requests to the provider's authorization endpoint. */
  readonly logins: URLSearchParams[]
  close(): Promise<void>
}

export interface RelayStackOptions {
  /** Settings of mcp.relay. */
  readonly relay?: object
  readonly flags?: readonly string[]
  readonly environment?: StackOptions['environment']
  readonly own?: StackOptions['own']
  /** Resources in addition to the stack's own. */
  readonly more?: readonly object[]
  /** A backend instead of the MCP server. */
  readonly backend?: { readonly host: string; readonly port: number }
}

export async function startRelayStack(options: RelayStackOptions = {}): Promise<RelayStack> {
  const [server, idp] = await Promise.all([
    startMcpServer(),
    startTestIdp(idpOne, { sendIss: true }),
  ])
  const stack = await startStack({
    flags: options.flags ?? [],
    environment: options.environment ?? {},
    ...(options.own !== undefined && { own: options.own }),
    resources: (port) => [
      gateway([port]),
      proxyBackend('everything', options.backend ?? server),
      proxyBackend('idp', idp),
      mcpRoute('mcp', 'everything'),
      relayPolicy(idp, `http://127.0.0.1:${String(port)}/mcp`, options.relay),
      ...(options.more ?? []),
    ],
  })
  const logins: URLSearchParams[] = []
  idp.intercept((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', idp.origin)
    if (!pathname.endsWith('/auth')) return false
    logins.push(searchParams)
    // Answers an unregistered redirect URI as a real provider would.
    const isRegistered = searchParams.get('redirect_uri') === stack.origin + CALLBACK
    if (!isRegistered) response.writeHead(400).end('redirect_uri is not registered')
    return !isRegistered
  })
  await providerFetched(stack)
  return {
    stack,
    idp,
    server,
    logins,
    url: `${stack.origin}/mcp`,
    close: async () => {
      await stack.close()
      await Promise.all([server.close(), idp.close()])
    },
  }
}

export const relayPolicy = (idp: TestIdp, resource: string, relay: object | undefined): object =>
  proxyPolicy('mcp', 'mcp', {
    jwtAuthentication: {
      providers: [
        {
          issuer: idp.issuer,
          audiences: [CLIENT_ID],
          jwks: remoteJwks('idp', idp.port, idp.jwksPath),
        },
      ],
      mcp: {
        provider: 'IdpOne',
        authorizationServer: 'Relay',
        clientId: CLIENT_ID,
        allowedOrigins: ['https://app.example'],
        ...(relay !== undefined && { relay }),
        resourceMetadata: { resource, scopesSupported: ['openid', 'profile'] },
      },
    },
    authorization: allow('"mcp-users" in jwt.groups'),
  })

/**
 * Waits for the provider's discovery document and key set: without the first no login reaches the provider, without the
 * second every request is answered 503.
 */
export async function providerFetched(stack: Stack): Promise<void> {
  await eventually(async () => {
    const policy = (await stack.status()).find(({ kind }) => kind === 'ProxyPolicy')
    if (policy === undefined) throw new Error('no policy yet')
    const text = JSON.stringify(policy.conditions)
    if (/discovery document|KeySetUnavailable/.test(text)) throw new Error(text)
  })
}

/** A user agent that consents. */
export const consenting = (authorization: URL): Promise<URL> => visitConsenting(authorization)
