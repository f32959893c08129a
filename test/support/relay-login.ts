// A login at a relay step by step, for tests that examine each step.

import { createHash, randomBytes } from 'node:crypto'
import { REDIRECT_URI } from './clients/client-run.js'
import { type CookieJar, type Step, walk } from './clients/consenting-agent.js'
import { AS } from './relay-stack.js'

export interface RelayLogin {
  readonly client: string
  readonly verifier: string
  readonly code: string
  readonly cookies: CookieJar
  readonly steps: readonly Step[]
}

export interface Tokens {
  readonly access_token?: string
  readonly refresh_token?: string
  readonly error?: string
}

export async function registerAt(origin: string, redirectUri = REDIRECT_URI): Promise<string> {
  const answer = await fetch(`${origin}${AS}/client-registration`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'Tester', redirect_uris: [redirectUri] }),
  })
  return ((await answer.json()) as { client_id: string }).client_id
}

export function authorizationAt(
  origin: string,
  client: string,
  verifier: string,
  more: Readonly<Record<string, string>> = {},
): URL {
  const url = new URL(`${origin}${AS}/authorize`)
  url.search = new URLSearchParams({
    response_type: 'code',
    client_id: client,
    redirect_uri: REDIRECT_URI,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state: 'state-of-the-client',
    login_hint: 'alice',
    ...more,
  }).toString()
  return url
}

/** Logs in up to the authorization code. */
export async function logInAt(
  origin: string,
  cookies: CookieJar = new Map(),
  client?: string,
): Promise<RelayLogin> {
  const id = client ?? (await registerAt(origin))
  const verifier = randomBytes(32).toString('base64url')
  const { end, steps } = await walk(authorizationAt(origin, id, verifier), { cookies })
  return { client: id, verifier, cookies, steps, code: end.searchParams.get('code') ?? '' }
}

export async function tokensAt(
  origin: string,
  fields: Readonly<Record<string, string>>,
): Promise<Tokens> {
  const answer = await fetch(`${origin}${AS}/token`, {
    method: 'POST',
    body: new URLSearchParams(fields),
  })
  return (await answer.json()) as Tokens
}

export const exchangeAt = (
  origin: string,
  { client, code, verifier }: RelayLogin,
): Promise<Tokens> =>
  tokensAt(origin, {
    grant_type: 'authorization_code',
    client_id: client,
    code,
    redirect_uri: REDIRECT_URI,
    code_verifier: verifier,
  })

export const refreshAt = (origin: string, client: string, token: string): Promise<Tokens> =>
  tokensAt(origin, { grant_type: 'refresh_token', client_id: client, refresh_token: token })
