// The demo's identity providers with additions for tests: faults, key rotation, a record of requests.

import type { RequestListener } from 'node:http'
import { identityProviderListener } from '../../src/cli/demo/identity-provider.js'
import type { IdpConfig } from '../../src/cli/demo/idp/configuration.js'
import { logIn } from '../../src/cli/demo/idp/headless-login.js'
import { type Shape, shapePaths, type User } from '../../src/cli/demo/idp/shape.js'
import { type HttpServer, startHttpServer } from './http-server.js'

export const CLIENT_ID = 'gw-public-client'
export const MANAGEMENT_KEY = 'management-key'
export const SERVICE_ACCOUNT = { clientId: 'robot', secret: 'robot-secret' }

const users: readonly User[] = [
  { name: 'alice', groups: ['mcp-users', 'staff'] },
  { name: 'bob', groups: ['staff'] },
]

export const idpOne: Shape = { type: 'IdpOne', slug: 'mcp-app' }
export const idpTwo: Shape = {
  type: 'IdpTwo',
  project: 'P2test',
  server: 'MS2test',
  managementKey: MANAGEMENT_KEY,
}

export interface TestIdp extends HttpServer {
  readonly issuer: string
  readonly jwksPath: string
  /** "METHOD path" of each request. */
  readonly requests: string[]
  /**
   * Makes the fault answer instead of the provider, until called without one. A fault that returns false passes the
   * request on to the provider.
   */
  intercept(fault?: (...request: Parameters<RequestListener>) => boolean): void
  /** Replaces the provider's keys and state, so that earlier tokens become invalid. */
  rotate(): Promise<void>
  /** Returns an access token of a user. */
  token(user: string, resource: string): Promise<string>
  /** Returns an access token of the service account, by client_credentials. */
  serviceToken(resource: string): Promise<string>
}

export async function startTestIdp(
  shape: Shape,
  options: Partial<IdpConfig> & { readonly port?: number } = {},
): Promise<TestIdp> {
  const config = { shape, users, clientId: CLIENT_ID, serviceAccount: SERVICE_ACCOUNT, ...options }
  const requests: string[] = []
  let fault: ((...request: Parameters<RequestListener>) => boolean) | undefined
  let handle: RequestListener = (_request, response) => void response.writeHead(503).end()
  const server = await startHttpServer((request, response) => {
    requests.push(`${request.method ?? ''} ${(request.url ?? '').split('?')[0] ?? ''}`)
    if (fault?.(request, response) !== true) handle(request, response)
  }, options)
  const rotate = async (): Promise<void> => {
    handle = await identityProviderListener(config, server.origin)
  }
  await rotate()
  const paths = shapePaths(shape)
  const endpoint = (name: string): string => server.origin + paths.mount + name
  return {
    ...server,
    issuer: server.origin + paths.issuer,
    jwksPath: paths.jwks,
    requests,
    intercept: (next) => (fault = next),
    rotate,
    token: (user, resource) =>
      logIn({
        authorizationEndpoint: endpoint('/auth'),
        tokenEndpoint: endpoint('/token'),
        clientId: CLIENT_ID,
        redirectUri: 'http://127.0.0.1:39999/callback',
        scope: 'openid profile email',
        resource,
        user,
      }),
    serviceToken: (resource) => serviceToken(endpoint('/token'), resource),
  }
}

async function serviceToken(tokenEndpoint: string, resource: string): Promise<string> {
  const { clientId, secret } = SERVICE_ACCOUNT
  const credentials = Buffer.from(`${clientId}:${secret}`).toString('base64')
  const answer = await fetch(tokenEndpoint, {
    method: 'POST',
    headers: { authorization: `Basic ${credentials}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource }),
  })
  return ((await answer.json()) as { access_token: string }).access_token
}
