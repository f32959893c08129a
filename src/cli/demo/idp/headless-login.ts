// Logs in by authorization code with PKCE without a browser, following redirects and keeping cookies as one would.

import { createHash, randomBytes } from 'node:crypto'

const MAX_REDIRECTS = 20

/** What a login needs. */
export interface LoginRequest {
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly clientId: string
  readonly redirectUri: string
  readonly scope: string
  /** Resource indicator (RFC 8707). */
  readonly resource: string
  /** User who logs in, sent as login_hint. */
  readonly user: string
}

/** Returns the access token. Rejects with an Error that names the step that failed. */
export async function logIn(request: LoginRequest): Promise<string> {
  const verifier = randomBytes(32).toString('base64url')
  const callback = await visit(authorizationUrl(request, verifier))
  const code = callback.searchParams.get('code')
  if (code === null) {
    throw new Error(`the login was refused: ${callback.searchParams.get('error') ?? 'no code'}`)
  }
  const answer = await fetch(request.tokenEndpoint, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      client_id: request.clientId,
      redirect_uri: request.redirectUri,
      resource: request.resource,
    }),
  })
  const body = (await answer.json()) as { access_token?: string; error?: string }
  if (body.access_token === undefined) {
    throw new Error(`the token endpoint answered ${answer.status}: ${body.error ?? 'no token'}`)
  }
  return body.access_token
}

function authorizationUrl(request: LoginRequest, verifier: string): URL {
  const url = new URL(request.authorizationEndpoint)
  const parameters = {
    response_type: 'code',
    client_id: request.clientId,
    redirect_uri: request.redirectUri,
    scope: request.scope,
    resource: request.resource,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state: randomBytes(8).toString('hex'),
    login_hint: request.user,
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url
}

/**
 * Follows an authorization URL to the client's redirect URI and returns its URL without requesting it.
 * The authorization URL must name the user by login_hint.
 */
export async function visit(authorization: URL): Promise<URL> {
  const redirectUri = authorization.searchParams.get('redirect_uri') ?? ''
  const cookies = new Map<string, string>()
  let url = authorization
  for (let step = 0; step < MAX_REDIRECTS; step++) {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      if (name !== undefined && value !== undefined) cookies.set(name, value)
    }
    await response.body?.cancel()
    const location = response.headers.get('location')
    if (location === null) throw new Error(`${url.pathname} answered ${response.status}`)
    url = new URL(location, url)
    if (url.href.startsWith(redirectUri)) return url
  }
  throw new Error(`more than ${MAX_REDIRECTS} redirects from ${authorization.origin}`)
}
