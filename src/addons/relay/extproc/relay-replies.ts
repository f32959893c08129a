// Answers requests to the endpoints of a relay.

import { timingSafeEqual } from 'node:crypto'
import { type RelayEndpoint, relayPath } from '../../../extauthz/oauth/paths.js'
import type { Vault } from '../../../extauthz/oauth/vault.js'
import { errorReply, jsonReply, type Reply } from '../../../extproc/session/immediate-response.js'
import type { Rates } from '../../../extproc/session/rates.js'
import type { Slots } from '../../../extproc/session/slots.js'
import type { CallRemote } from '../../../kit/http/http-call.js'
import { err, ok } from '../../../kit/result.js'
import { namespaceIn } from '../../../model/names.js'
import type { WellKnownEntry } from '../../../model/proc-entry.js'
import type { Relay } from '../../../model/relay.js'
import { hashOfText, registerClient } from '../oauth/client.js'
import { cookieValue, setCookie } from '../oauth/cookies.js'
import { queryOf, readParameters } from '../oauth/parameters.js'
import { isStillPermitted } from '../oauth/redirect-uri.js'
import { grantScopes } from '../oauth/scopes.js'
import { type Login, openLogin, sealCode } from '../oauth/transaction.js'
import { authorizeReply, loginCookie } from './authorize-reply.js'
import type { RelayBounds } from './bounds.js'
import { clientErrorReply, codeReply, errorPageReply } from './browser-replies.js'
import { type ClientDocuments, findClient, knownClient } from './clients.js'
import type { CallProvider, RelayContext, RelayRequest } from './relay-request.js'
import { tokenReply } from './token-reply.js'

/** What the relays of a process share. */
export interface RelayDeps extends ProviderCallDeps {
  readonly documents: ClientDocuments
  readonly bounds: RelayBounds
  /** Returns the vault of a relay, whose subkeys are derived once for each relay of the model. */
  vaultOf(relay: Relay): Vault
  /** Milliseconds since the epoch. */
  now(): number
  random(size: number): Uint8Array
}

/** Maximum bytes of a request body; a larger one is answered 413. */
export const MAX_FORM_BYTES = 64 * 1024

const METHODS: Readonly<Record<RelayEndpoint | 'registration', readonly string[]>> = {
  authorize: ['GET', 'POST'],
  callback: ['GET'],
  token: ['POST'],
  registration: ['POST'],
}

const isForPeople = (endpoint: RelayEndpoint | 'registration'): boolean =>
  endpoint === 'authorize' || endpoint === 'callback'

/** Returns a refusal that does not need the body; undefined: nothing is wrong so far. */
export function refusedEarly(
  endpoint: RelayEndpoint | 'registration',
  method: string,
  contentLength: number | undefined,
): Reply | undefined {
  const allowed = METHODS[endpoint]
  if (!allowed.includes(method)) {
    const allow = allowed.join(', ')
    const reply = isForPeople(endpoint)
      ? errorPageReply(405, 'This address is not used in this way.')
      : errorReply(405, ['invalid_request', `the method is ${allow}`], 'gatehouse_relay_method')
    return { ...reply, headers: { ...reply.headers, allow } }
  }
  if (contentLength === undefined || contentLength <= MAX_FORM_BYTES) return undefined
  return isForPeople(endpoint)
    ? errorPageReply(413, 'The request is too large.')
    : errorReply(
        413,
        ['invalid_request', 'the request is larger than 64 KiB'],
        'gatehouse_relay_size',
      )
}

/** request: with its body, after refusedEarly() has returned undefined. signal: aborts calls to other servers. */
export async function relayReply(
  endpoint: RelayEndpoint | 'registration',
  { relay, paths }: { readonly relay: Relay; readonly paths: WellKnownEntry['paths'] },
  request: RelayRequest,
  { signal, deps }: { readonly signal: AbortSignal; readonly deps: RelayDeps },
): Promise<Reply> {
  if (request.body.length > MAX_FORM_BYTES)
    return refusedEarly(endpoint, request.method, request.body.length) ?? TOO_LARGE
  const context = contextOf(relay, paths, deps)
  switch (endpoint) {
    case 'authorize':
      return authorizeReply(context, request, signal)
    case 'callback':
      return callbackReply(context, request)
    case 'token':
      return tokenReply(context, request, signal)
    case 'registration': {
      if (!context.mayAsk('registration', request.network)) return TOO_MANY_REGISTRATIONS
      const { status, body } = registerClient(relay, context.vault, request.body, deps.now())
      return jsonReply(status, body, 'gatehouse_relay_registration')
    }
  }
}

const TOO_MANY_REGISTRATIONS = errorReply(
  429,
  ['temporarily_unavailable', 'too many clients register at this moment'],
  'gatehouse_relay_busy',
  { 'retry-after': '5' },
)
const TOO_LARGE = errorPageReply(413, 'The request is too large.')

function contextOf(
  relay: Relay,
  { mcpPath, origin = '' }: WellKnownEntry['paths'],
  deps: RelayDeps,
): RelayContext {
  const vault = deps.vaultOf(relay)
  return {
    relay,
    vault,
    origin,
    isSecure: origin.startsWith('https:'),
    paths: { callback: relayPath(mcpPath, 'callback') },
    now: () => deps.now(),
    random: (size) => deps.random(size),
    client: (id, signal) =>
      findClient(id, relay, { vault, documents: deps.documents, now: deps.now(), signal }),
    known: (id) => knownClient(id, relay, vault, deps.now()),
    callProvider: createCallProvider(relay, deps),
    mayAsk: (request, network) => deps.bounds.take(request, relay.policy, network),
  }
}

// Handles the provider's redirect to a relay: its answer becomes one to the client, in the browser where the login
// began.

const MAX_PATH = 32 * 1024
const MAX_CODE = 8 * 1024

/**
 * Errors that are passed on, as a client may act on them (RFC 6749 section 4.1.2.1, OpenID Connect Core section
 * 3.1.2.6).
 */
const PASSED_ERRORS = [
  'access_denied',
  'invalid_scope',
  'server_error',
  'temporarily_unavailable',
  'interaction_required',
  'login_required',
  'account_selection_required',
  'consent_required',
]

/** Leaves the login's cookie alone, so that the page can be reloaded. */
const TOO_MANY = errorPageReply(
  429,
  'Too many logins end at this moment. Reload this page in a moment.',
  [],
  { 'retry-after': '5' },
)

/** Answers a request to the redirect URI of the relay. */
function callbackReply(context: RelayContext, request: RelayRequest): Reply {
  if (!context.mayAsk('callback', request.network)) return TOO_MANY
  const parameters =
    request.path.length > MAX_PATH ? undefined : readParameters(queryOf(request.path))
  if (parameters === undefined || 'repeated' in parameters)
    return errorPageReply(400, 'The answer of the identity provider cannot be read.')
  const login = openLogin(context.vault, parameters.get('state') ?? '', context.now())
  if (login === undefined || !isOfThisBrowser(context, request, login))
    return errorPageReply(
      400,
      'This login has ended, or began in another browser. Start again in the client.',
    )
  const { relay } = context
  const cookies = [
    setCookie(context.isSecure, { name: loginCookie(login.id), value: '', maxAgeSeconds: 0 }),
  ]
  if (!isStillAllowed(context, login))
    return errorPageReply(
      400,
      'The gateway no longer allows this client, or the address that it returns to.',
      cookies,
    )
  const refused = (error: string, description: string): Reply =>
    clientErrorReply(relay, login, { error, description }, cookies)
  const iss = parameters.get('iss')
  if (iss === undefined && relay.provider === undefined)
    return refused('temporarily_unavailable', 'the identity provider has not been reached yet')
  if (!isOfProvider(context, iss))
    return refused('server_error', 'the answer is of another identity provider')
  const [error, code] = [parameters.get('error'), parameters.get('code')]
  if (error !== undefined)
    return PASSED_ERRORS.includes(error)
      ? refused(error, 'the identity provider refused the login')
      : refused('server_error', 'the identity provider could not log in')
  if (code === undefined || code.length > MAX_CODE)
    return refused('server_error', 'the identity provider has sent no code')
  // The provider's code stands for all scopes of the login: a token for fewer cannot be had for it.
  if (grantScopes(relay, login.scopes).withdrawn.length > 0)
    return refused('invalid_scope', 'a scope of this login is no longer offered')
  const { clientHash, redirectUri, challenge, scopes } = login
  const grant = {
    secret: code,
    resource: relay.resource,
    clientHash,
    redirectUri,
    challenge,
    scopes,
  }
  return codeReply(relay, login, sealCode(context.vault, grant, context.now()), cookies)
}

/**
 * Whether the client may still be answered. The policy may have been narrowed since the login began, and what it does
 * not allow any more must not even be sent an error.
 */
const isStillAllowed = (
  { relay: { redirectUris, clientMetadataHosts } }: RelayContext,
  { redirectUri, documentHost }: Login,
): boolean =>
  isStillPermitted(redirectUri, redirectUris) &&
  (documentHost === undefined || clientMetadataHosts.includes(documentHost))

function isOfThisBrowser(
  { isSecure }: RelayContext,
  { cookie }: RelayRequest,
  login: Login,
): boolean {
  const value = cookieValue(cookie, isSecure, loginCookie(login.id))
  if (value === undefined) return false
  const [own, expected] = [Buffer.from(hashOfText(value)), Buffer.from(login.cookieHash)]
  return own.length === expected.length && timingSafeEqual(own, expected)
}

/** Whether the answer comes from the configured provider (RFC 9207 section 2.4). An unknown one may send iss. */
const isOfProvider = ({ relay }: RelayContext, iss: string | undefined): boolean =>
  iss === undefined ? relay.provider?.sendsIss === false : iss === relay.providerIssuer

// Calls the provider's token endpoint as the relay's own client, over the backendRef, within limits of concurrency and
// rate.

/** What calls of a token endpoint need. */
export interface ProviderCallDeps {
  readonly callRemote: CallRemote
  /** Limits of concurrent calls and of calls per second, for each token endpoint and the relays of each namespace. */
  readonly slots: Slots
  readonly rates: Rates
}

const TIMEOUT_MS = 10_000
const MAX_BYTES = 256 * 1024

/** Returns a function that calls the provider's token endpoint. */
export const createCallProvider =
  ({ policy, provider, clientId, clientSecret }: Relay, deps: ProviderCallDeps): CallProvider =>
  async (form, signal) => {
    if (provider === undefined) return err('failed')
    const { token, secretIn } = provider
    const place = `relay ${JSON.stringify([namespaceIn(policy), token.url, token.endpoints])}`
    const giveBack = deps.rates.take(place) ? deps.slots.take(place) : undefined
    if (giveBack === undefined) return err('busy')
    try {
      const inHeader = clientSecret !== undefined && secretIn === 'header'
      const answer = await deps.callRemote(token, {
        method: 'POST',
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          ...(inHeader ? { authorization: basic(clientId, clientSecret) } : {}),
        },
        body: new TextEncoder().encode(
          new URLSearchParams({
            ...form,
            ...(inHeader ? {} : { client_id: clientId }),
            ...(clientSecret === undefined || inHeader ? {} : { client_secret: clientSecret }),
          }).toString(),
        ),
        timeoutMs: TIMEOUT_MS,
        maxBytes: MAX_BYTES,
        signal,
      })
      return answer.ok ? ok(answer.value) : err('failed')
    } finally {
      giveBack()
    }
  }

/** Returns an Authorization value. RFC 6749 section 2.3.1: both parts are form-encoded. */
const basic = (id: string, secret: string): string =>
  `Basic ${Buffer.from(`${formEncoded(id)}:${formEncoded(secret)}`).toString('base64')}`

const formEncoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1)
