// An identity provider on loopback in the shape of IdpOne or IdpTwo: oidc-provider behind their paths.

import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pathToFileURL } from 'node:url'
import type { Context, Next } from 'koa'
import type * as OidcProvider from 'oidc-provider'
import type { interactionPolicy } from 'oidc-provider'
import { type IdpConfig, providerConfiguration } from './idp/configuration.js'
import { interact } from './idp/interaction.js'
import { type ShapePaths, shapePaths } from './idp/shape.js'
import { answersToken } from './idp/token-path.js'
import { ownPackages, type ResolvePackage } from './party-packages.js'

/** A running identity provider. */
export interface IdentityProvider {
  /** Scheme, host and port. */
  readonly origin: string
  readonly host: string
  readonly port: number
  readonly issuer: string
  readonly jwksPath: string
  close(): Promise<void>
}

/** Rejects when the port is in use. port: 0 or absent for a free one. */
export async function startIdentityProvider(
  config: IdpConfig & { readonly port?: number },
  resolve: ResolvePackage = ownPackages,
): Promise<IdentityProvider> {
  const server = createServer()
  const { host, port } = await listen(server, config.port ?? 0)
  const origin = `http://${host}:${String(port)}`
  server.on('request', await identityProviderListener(config, origin, resolve))
  const paths = shapePaths(config.shape)
  return {
    origin,
    host,
    port,
    issuer: origin + paths.issuer,
    jwksPath: paths.jwks,
    close: () => close(server),
  }
}

/** Returns the provider's request listener, for a server that listens at origin. */
export async function identityProviderListener(
  config: IdpConfig,
  origin: string,
  resolve: ResolvePackage = ownPackages,
): Promise<RequestListener> {
  const file = pathToFileURL(resolve('oidc-provider')).href
  const oidc = (await import(file)) as typeof OidcProvider
  const paths = shapePaths(config.shape)
  const issuer = origin + paths.issuer
  const provider = new oidc.Provider(
    issuer,
    providerConfiguration(config, issuer, interactions(oidc.interactionPolicy, config)),
  )
  allowLoopbackRedirects(provider)
  provider.use((ctx: Context, next: Next) => reshape(ctx, next, { config, paths, origin }))
  const handle = provider.callback()
  return (request, response) => {
    if (answersToken(request, response, { config, origin })) return
    if (config.rememberLogin !== true) dropSession(request)
    const path = route(request, paths)
    if (!path?.startsWith('/interaction/')) return void handle(request, response)
    interact(provider, config, request, response).catch(() => {
      response.writeHead(400, { 'content-type': 'text/plain' })
      response.end('This login is over. Go back to the client and start again.\n')
    })
  }
}

/** Returns an interaction policy that never asks for consent. */
function interactions(
  policies: typeof OidcProvider.interactionPolicy,
  { rememberLogin }: IdpConfig,
): interactionPolicy.DefaultPolicy {
  const policy = policies.base()
  policy.get('consent')?.checks.clear()
  if (rememberLogin === true) return policy
  policy
    .get('login')
    ?.checks.add(
      new policies.Check(
        'each_time',
        'log in again',
        (ctx) => ctx.oidc.result?.login === undefined,
      ),
    )
  return policy
}

/** Allows any loopback redirect URI: RFC 8252 section 7.3, extended to localhost and any path. */
function allowLoopbackRedirects(provider: OidcProvider.Provider): void {
  const client = provider.Client.prototype
  client.redirectUriAllowed = (uri: string) =>
    /^https?:\/\/(127\.0\.0\.1|\[::1\]|localhost)(:\d+)?(\/|$)/.test(uri)
}

/** Rewrites the request to oidc-provider's own paths. Returns the path below the issuer, if it is there. */
function route(request: IncomingMessage, paths: ShapePaths): string | undefined {
  const asked = request.url ?? '/'
  const path = asked.split('?')[0] ?? ''
  // oidc-provider finds its mount path by comparing originalUrl with url: both need the added scope.
  const original = path === `${paths.mount}/auth` ? withScope(asked) : asked
  Object.assign(request, { originalUrl: original })
  if (path === paths.jwks && !path.startsWith(paths.mount)) request.url = '/jwks'
  else if (path === paths.registration) request.url = '/reg'
  else if (path.startsWith(`${paths.mount}/`)) {
    request.url = original.slice(paths.mount.length)
    return path.slice(paths.mount.length)
  } else request.url = '/not-found'
  return undefined
}

/** Removes the session cookie: every login starts anew, even as another user in the same browser. */
function dropSession(request: IncomingMessage): void {
  const cookies = request.headers.cookie?.split(/; */)
  if (cookies === undefined) return
  request.headers.cookie = cookies.filter((cookie) => !cookie.startsWith('_session')).join('; ')
}

/** Adds the usual scopes to a request without any. */
function withScope(url: string): string {
  return /[?&]scope=/.test(url) ? url : `${url}${url.includes('?') ? '&' : '?'}scope=openid+profile`
}

interface Reshaping {
  readonly config: IdpConfig
  readonly paths: ShapePaths
  readonly origin: string
}

/** Adjusts what the two providers do differently: the discovery document, and no RFC 9207 iss. */
async function reshape(ctx: Context, next: Next, { config, paths, origin }: Reshaping) {
  await next()
  const body: unknown = ctx.body
  if (isRecord(body) && 'authorization_endpoint' in body) {
    body.jwks_uri = origin + paths.jwks
    if (paths.registration !== undefined) body.registration_endpoint = origin + paths.registration
    if (config.sendIss !== true) delete body.authorization_response_iss_parameter_supported
  }
  const location = ctx.response.get('location')
  if (config.sendIss !== true && /[?&]iss=/.test(location)) {
    const url = new URL(location)
    url.searchParams.delete('iss')
    ctx.set('location', url.href)
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Buffer.isBuffer(value)

function listen(server: Server, port: number): Promise<{ host: string; port: number }> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      resolve({ host: '127.0.0.1', port: (server.address() as AddressInfo).port })
    })
  })
}

function close(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => void server.close(() => resolve()))
}
