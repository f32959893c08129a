// A complete stack for one MCP client: the demo's identity provider and MCP server behind a gateway with one policy.

import { type McpServer, startMcpServer } from '../../../src/cli/demo/mcp-server.js'
import { eventually } from '../../../testing/eventually.js'
import { CLIENT_ID, idpOne, startTestIdp, type TestIdp } from '../../support/identity-provider.js'
import { providerFetched } from '../../support/relay-stack.js'
import {
  allow,
  gateway,
  mcpRoute,
  proxyBackend,
  proxyPolicy,
  remoteJwks,
} from '../../support/resources.js'
import { type Stack, startStack } from '../../support/stack.js'

export interface McpStack {
  readonly stack: Stack
  readonly idp: TestIdp
  readonly server: McpServer
  /** URL of the MCP server behind the gateway. */
  readonly url: string
  /** Changes the settings of jwtAuthentication.mcp and waits until they are in force. */
  reconfigure(mcp: object): Promise<void>
  close(): Promise<void>
}

/** The MCP path is /mcp, with the specification's CORS filter; metadataIssuer is Gateway; alice is allowed. */
export async function startMcpStack(): Promise<McpStack> {
  const [server, idp] = await Promise.all([startMcpServer(), startTestIdp(idpOne)])
  const resources = (port: number, mcp: object = {}): readonly object[] => [
    gateway([port]),
    proxyBackend('everything', server),
    proxyBackend('idp', idp),
    mcpRoute('mcp', 'everything'),
    policy(idp, `http://127.0.0.1:${String(port)}/mcp`, mcp),
  ]
  const stack = await startStack({ resources })
  await providerFetched(stack)
  await metadataServed(stack)
  return {
    stack,
    idp,
    server,
    url: `${stack.origin}/mcp`,
    reconfigure: async (mcp) => {
      const before = await revision(stack)
      await stack.write('resources.yaml', ...resources(stack.port, mcp))
      await eventually(() => changed(stack, before))
    },
    close: async () => {
      await stack.close()
      await Promise.all([server.close(), idp.close()])
    },
  }
}

const policy = (idp: TestIdp, resource: string, mcp: object): object =>
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
        clientId: CLIENT_ID,
        metadataIssuer: 'Gateway',
        resourceMetadata: { resource, scopesSupported: ['openid', 'profile', 'email'] },
        ...mcp,
      },
    },
    authorization: allow('"mcp-users" in jwt.groups'),
  })

/** Waits for the server metadata, which is served after the provider's discovery document has been fetched. */
async function metadataServed({ origin }: Stack): Promise<void> {
  await eventually(async () => {
    const answer = await fetch(`${origin}/.well-known/oauth-authorization-server/mcp`)
    if (!answer.ok) throw new Error(`the server metadata answers ${String(answer.status)}`)
  })
}

interface Report {
  readonly revision: string
  readonly envoys: readonly { readonly types: readonly { sent?: string; acked?: string }[] }[]
}

const report = async ({ admin }: Stack): Promise<Report> =>
  (await (await fetch(`${admin}/status`)).json()) as Report

const revision = async (stack: Stack): Promise<string> => (await report(stack)).revision

/** Throws until another revision is published and Envoy has ACKed all of it. */
async function changed(stack: Stack, before: string): Promise<void> {
  const { revision, envoys } = await report(stack)
  const settled = envoys.every(({ types }) => types.every(({ sent, acked }) => sent === acked))
  if (revision === before || !settled) throw new Error('the change is not in force yet')
}
