// A gateway in front of MCP paths, each with its policy and identity provider, and the documents of the providers.

import { expect } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { type Backend, startBackend } from './backend.js'
import { type DocumentServer, json, startDocumentServer } from './document-server.js'
import { send } from './http.js'
import {
  type Document,
  gateway,
  mcpRoute,
  proxyBackend,
  proxyPolicy,
  remoteJwks,
} from './resources.js'
import { type Stack, startStack } from './stack.js'
import { keySet, newKey, type SigningKey } from './tokens.js'

/** Prefixes of the metadata documents of an MCP path; the path follows. */
export const PRM = '/.well-known/oauth-protected-resource'
export const AS = '/.well-known/oauth-authorization-server'

/** The origin of a web page. */
export const PAGE = 'http://app.example:6274'

/** Settings of the policy of an MCP path. */
export interface McpRow {
  /** Absent for a provider that needs no adaptation. */
  readonly provider?: 'IdpOne' | 'IdpTwo'
  readonly clientId?: string
  /** Whether resourceMetadata.resource is configured. */
  readonly resource?: boolean
  readonly challengeDetails?: boolean
  readonly corsHeaders?: string
  /** Whether the provider is down. */
  readonly down?: boolean
}

export const FULL_ROW = {
  clientId: 'public-client',
  resource: true,
  provider: 'IdpOne',
} as const satisfies McpRow

export interface McpStack extends Stack {
  readonly backend: Backend
  readonly idp: DocumentServer
  /** The providers' only key. */
  readonly key: SigningKey
  issuerOf(row: McpRow): string
  /** Returns the discovery document of that issuer. */
  discovery(issuer: string): object
  /** Forgets the backend's requests and restores its answer, "backend". */
  reset(): void
}

/** @param rows settings by MCP path. */
export async function startMcpStack(rows: Readonly<Record<string, McpRow>>): Promise<McpStack> {
  const [backend, idp, down, key] = await Promise.all([
    startBackend(),
    startDocumentServer(),
    startDocumentServer(),
    newKey('k1'),
  ])
  await down.close()
  const issuerOf = ({ provider, down: isDown }: McpRow): string => {
    const { origin } = isDown === true ? down : idp
    if (provider === 'IdpOne') return `${origin}/application/o/mcp/`
    return provider === 'IdpTwo' ? `${origin}/v1/apps/agentic/P1/S1` : `${origin}/plain`
  }
  const discovery = (issuer: string): object => discoveryOf(issuer, idp.origin)
  serveProviders(idp, discovery, key)
  const resourcesOf = (path: string, row: McpRow, port: number): Document[] => {
    const { down: isDown, ...said } = row
    const jwks =
      isDown === true
        ? remoteJwks('down', down.port, '/keys')
        : remoteJwks('idp', idp.port, '/keys')
    const provider = { issuer: issuerOf(row), audiences: ['api'], jwks }
    const resource = `http://127.0.0.1:${String(port)}${path}`
    return [mcpRoute(path.slice(1), 'backend', path), policyOf(path, said, provider, resource)]
  }
  const stack = await startStack({
    resources: (port) => [
      gateway([port]),
      proxyBackend('backend', backend),
      proxyBackend('idp', idp),
      proxyBackend('down', down),
      ...Object.entries(rows).flatMap(([path, row]) => resourcesOf(path, row, port)),
    ],
  })
  await eventually(async () => {
    for (const [path, row] of Object.entries(rows))
      if (row.down !== true) expect((await send(stack.origin, AS + path)).status).toBe(200)
  })
  return {
    ...stack,
    backend,
    idp,
    key,
    issuerOf,
    discovery,
    reset: () => {
      backend.requests.length = 0
      backend.answer((_request, response) => response.writeHead(200).end('backend'))
    },
    close: async () => {
      await stack.close()
      await Promise.all([backend.close(), idp.close()])
    },
  }
}

function policyOf(
  path: string,
  { provider, resource, ...mcp }: Omit<McpRow, 'down'>,
  idp: object,
  configured: string,
): Document {
  const name = path.slice(1)
  return proxyPolicy(name, name, {
    jwtAuthentication: {
      mode: 'Strict',
      providers: [idp],
      mcp: {
        ...(provider !== undefined && { provider }),
        ...mcp,
        resourceMetadata: {
          ...(resource === true && { resource: configured }),
          scopesSupported: ['openid', 'profile'],
          bearerMethodsSupported: ['header'],
        },
      },
    },
  })
}

function discoveryOf(issuer: string, origin: string): object {
  const base = issuer.replace(/\/$/, '')
  return {
    issuer,
    jwks_uri: `${origin}/keys`,
    authorization_endpoint: `${base}/authorize`,
    token_endpoint: `${base}/token`,
    response_types_supported: ['code'],
    client_id_metadata_document_supported: true,
    'x-own-field': { kept: [1, null, 'as it is'] },
  }
}

function serveProviders(
  idp: DocumentServer,
  discovery: McpStack['discovery'],
  key: SigningKey,
): void {
  idp.serve('/keys', keySet(key))
  for (const issuer of ['/application/o/mcp/', '/v1/apps/agentic/P1/S1']) {
    const path = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`
    idp.serve(path, discovery(idp.origin + issuer))
  }
  idp.serve(`${AS}/plain`, {
    ...discovery(`${idp.origin}/plain`),
    registration_endpoint: `${idp.origin}/register`,
  })
  idp.serve('/register', json({ client_id: 'registered-there', redirect_uris: ['x:/y'] }, 201))
  idp.serve('/v1/mgmt/mcp/client/P1/S1/register', json({ error: 'invalid_token' }, 401))
}
