// A relay without sockets: requests to its endpoints, a browser that keeps cookies, and a provider whose answers the
// test defines.

import { createHash, randomBytes } from 'node:crypto'
import { createRelayBounds } from '../../../../src/addons/relay/extproc/bounds.js'
import { type RelayDeps, relayReply } from '../../../../src/addons/relay/extproc/relay-replies.js'
import type { RelayRequest } from '../../../../src/addons/relay/extproc/relay-request.js'
import type { RelayEndpoint } from '../../../../src/extauthz/oauth/paths.js'
import { createVault, type Vault } from '../../../../src/extauthz/oauth/vault.js'
import type { Reply } from '../../../../src/extproc/session/immediate-response.js'
import { createRates } from '../../../../src/extproc/session/rates.js'
import { createSlots } from '../../../../src/extproc/session/slots.js'
import type { CallRemote, RemoteRequest } from '../../../../src/kit/http/http-call.js'
import { err, ok } from '../../../../src/kit/result.js'
import type { Relay } from '../../../../src/model/relay.js'
import type { RemoteTarget } from '../../../../src/model/remote-target.js'
import { relayOf } from '../oauth/support.js'

export const ORIGIN = 'https://gw.example'
export const AS = '/.well-known/oauth-authorization-server/mcp'
export const REDIRECT_URI = 'http://127.0.0.1:4711/cb'
export const ACCESS = 'eyJhbGciOiJSUzI1NiJ9.eyJhIjoxfQ.c2ln'
export const VERIFIER = 'v'.repeat(43)
export const CHALLENGE = createHash('sha256').update(VERIFIER).digest('base64url')

export interface World {
  readonly relay: Relay
  /** Milliseconds since the epoch. */
  now: number
  /** Requests to the provider's token endpoint, or to a client's host. */
  readonly calls: { readonly target: RemoteTarget; readonly request: RemoteRequest }[]
  readonly deps: RelayDeps
  ask(
    endpoint: RelayEndpoint | 'registration',
    request: Partial<Omit<RelayRequest, 'body' | 'path'>> & {
      readonly query?: string
      readonly body?: string
      readonly signal?: AbortSignal
    },
  ): Promise<Reply>
}

export interface WorldOptions {
  readonly relay?: Partial<Relay>
  readonly call?: CallRemote
  readonly documents?: RelayDeps['documents']
}

export const tokens =
  (more: object = {}): CallRemote =>
  () =>
    Promise.resolve(
      ok({
        status: 200,
        headers: {},
        body: Buffer.from(JSON.stringify({ access_token: ACCESS, token_type: 'Bearer', ...more })),
      }),
    )

export function createWorld(options: WorldOptions = {}): World {
  const relay = relayOf(options.relay)
  const answer = options.call ?? tokens({ refresh_token: 'rt-of-the-provider' })
  const now = () => world.now
  let vault: Vault | undefined
  const world: World = {
    relay,
    now: 1_800_000_000_000,
    calls: [],
    deps: {
      callRemote: (target, request) => {
        world.calls.push({ target, request })
        return answer(target, request)
      },
      slots: createSlots(2),
      rates: createRates({ perSecond: 1, burst: 1000 }, now),
      bounds: createRelayBounds((limits) => limits, now),
      documents: options.documents ?? { get: () => Promise.resolve(err('there are none')) },
      now,
      random: (size) => randomBytes(size),
      vaultOf: () => (vault ??= createVault(relay, { random: randomBytes })),
    },
    ask: (endpoint, { query, body = '', signal, ...request }) =>
      relayReply(
        endpoint,
        { relay, paths: { mcpPath: '/mcp', origin: ORIGIN } },
        {
          method: 'GET',
          path: `${AS}/${endpoint}${query === undefined ? '' : `?${query}`}`,
          network: '203.0.113',
          isInPage: false,
          ...(endpoint === 'token' && { contentType: FORM, method: 'POST' }),
          ...request,
          body: new TextEncoder().encode(body),
        },
        { signal: signal ?? new AbortController().signal, deps: world.deps },
      ),
  }
  return world
}

export const FORM = 'application/x-www-form-urlencoded'

export const form = (fields: Readonly<Record<string, string | undefined>>): string =>
  new URLSearchParams(
    Object.entries(fields).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, value]],
    ),
  ).toString()

export async function register(world: World, redirectUri = REDIRECT_URI): Promise<string> {
  const body = JSON.stringify({ client_name: 'Tester', redirect_uris: [redirectUri] })
  const reply = await world.ask('registration', { method: 'POST', body })
  return (JSON.parse(Buffer.from(reply.body).toString()) as { client_id: string }).client_id
}

export const authorization = (
  client: string,
  change: Readonly<Record<string, string | undefined>> = {},
): string =>
  form({
    response_type: 'code',
    client_id: client,
    redirect_uri: REDIRECT_URI,
    code_challenge: CHALLENGE,
    code_challenge_method: 'S256',
    scope: 'openid',
    state: 'state-of-the-client',
    ...change,
  })

/** A browser's cookies; "NAME=value; NAME=value". */
export class Browser {
  readonly #jar = new Map<string, string>()

  get cookie(): string {
    return [...this.#jar].map(([name, value]) => `${name}=${value}`).join('; ')
  }

  keep({ cookies = [] }: Reply): void {
    for (const cookie of cookies) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      if (cookie.includes('Max-Age=0')) this.#jar.delete(name)
      else this.#jar.set(name, value)
    }
  }
}

export const html = (reply: Reply): string => Buffer.from(reply.body).toString()

export const tokenOf = (reply: Reply): string =>
  /name="token" value="([^"]+)"/.exec(html(reply))?.[1] ?? ''

/** Location of a redirect. */
export const locationOf = (reply: Reply): URL => new URL(reply.headers['location'] ?? 'none:')

/** Shows the page and approves it. Returns the redirect to the provider. */
export async function approve(world: World, browser: Browser, query: string): Promise<Reply> {
  const page = await world.ask('authorize', { query, cookie: browser.cookie })
  browser.keep(page)
  const reply = await world.ask('authorize', {
    query,
    method: 'POST',
    origin: ORIGIN,
    contentType: FORM,
    cookie: browser.cookie,
    body: form({ token: tokenOf(page), decision: 'allow' }),
  })
  browser.keep(reply)
  return reply
}

/** Delivers the provider's answer. Returns the redirect to the client. */
export async function comeBack(
  world: World,
  browser: Browser,
  login: Reply,
  change: Readonly<Record<string, string | undefined>> = {},
): Promise<Reply> {
  const state = locationOf(login).searchParams.get('state') ?? ''
  const query = form({
    code: 'code-of-the-provider',
    state,
    iss: world.relay.providerIssuer,
    ...change,
  })
  const reply = await world.ask('callback', { query, cookie: browser.cookie })
  browser.keep(reply)
  return reply
}

/** Logs in, from registration to the relay's code. */
export async function logIn(
  world: World,
  change: Readonly<Record<string, string | undefined>> = {},
): Promise<{ readonly client: string; readonly code: string; readonly browser: Browser }> {
  const browser = new Browser()
  const client = await register(world)
  const login = await approve(world, browser, authorization(client, change))
  const back = await comeBack(world, browser, login)
  return { client, browser, code: locationOf(back).searchParams.get('code') ?? '' }
}

export const exchange = (
  world: World,
  client: string,
  code: string,
  change: Readonly<Record<string, string | undefined>> = {},
  signal?: AbortSignal,
): Promise<Reply> =>
  world.ask('token', {
    body: form({
      grant_type: 'authorization_code',
      client_id: client,
      code,
      redirect_uri: REDIRECT_URI,
      code_verifier: VERIFIER,
      ...change,
    }),
    ...(signal && { signal }),
  })

export const refresh = (
  world: World,
  client: string,
  token: unknown,
  change: Readonly<Record<string, string>> = {},
): Promise<Reply> =>
  world.ask('token', {
    body: form({
      grant_type: 'refresh_token',
      client_id: client,
      refresh_token: String(token),
      ...change,
    }),
  })

/** The form that the provider's token endpoint was sent last. */
export const sent = (world: World): Record<string, string> =>
  Object.fromEntries(
    new URLSearchParams(Buffer.from(world.calls.at(-1)?.request.body ?? []).toString()),
  )

export const json = (reply: Reply): Record<string, unknown> =>
  JSON.parse(html(reply)) as Record<string, unknown>

/** The parameters of a URL. */
export const query = (url: URL): Record<string, string> => Object.fromEntries(url.searchParams)

/** Headers of every reply to a browser. */
export const BROWSER_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'referrer-policy': 'same-origin',
}
