// The authorization endpoint of a relay. It sends nobody to the provider who has not consented here, for this client,
// in this browser (MCP's security page, "Confused Deputy Problem").

import type { Reply } from '../../../extproc/session/immediate-response.js'
import {
  type AuthorizationRequest,
  readAuthorizationRequest,
  trustedRedirect,
} from '../oauth/authorization-request.js'
import { type Client, hashOfText } from '../oauth/client.js'
import { CONSENT_SECONDS, consentCookie, isConsented, withConsent } from '../oauth/consent.js'
import { cookieValue, setCookie } from '../oauth/cookies.js'
import { consentPage } from '../oauth/pages.js'
import { queryOf, readParameters } from '../oauth/parameters.js'
import { withParameters } from '../oauth/redirect-uri.js'
import { LOGIN_SECONDS, sealLogin } from '../oauth/transaction.js'
import { clientErrorReply, errorPageReply, pageReply, redirectReply } from './browser-replies.js'
import { isDocumentId } from './clients.js'
import { isForm, type RelayContext, type RelayRequest } from './relay-request.js'

const MAX_PATH = 16 * 1024
const BROWSER = 'browser'
const FORM_MS = 600_000

/** A request that the user may consent to. */
interface Asked {
  readonly client: Client
  readonly request: AuthorizationRequest
  /** The query as received; the consent form is valid for this query only. */
  readonly query: string
}

/** Answers a request to the authorization endpoint: a page for consent, a redirect, or an error. */
export async function authorizeReply(
  context: RelayContext,
  request: RelayRequest,
  signal: AbortSignal,
): Promise<Reply> {
  if (request.path.length > MAX_PATH) return errorPageReply(400, 'The request is too long.')
  if (request.isInPage)
    return errorPageReply(403, 'A login begins in a window of its own, not within a page.')
  const asked = await read(context, request, signal)
  if ('reply' in asked) return asked.reply
  return request.method === 'POST'
    ? decided(context, request, asked)
    : shown(context, request, asked)
}

async function read(
  context: RelayContext,
  { path, network }: RelayRequest,
  signal: AbortSignal,
): Promise<Asked | { readonly reply: Reply }> {
  const { relay } = context
  const query = queryOf(path)
  const page = (sentence: string) => ({ reply: errorPageReply(400, sentence) })
  const all = readParameters(query)
  const parameters = 'repeated' in all ? all.others : all
  const id = parameters.get('client_id')
  if (id === undefined) return page('The request has no client_id, or more than one.')
  const isBusy = !context.mayAsk('authorize', network)
  // Finding the client would require fetching its metadata document.
  if (isBusy && isDocumentId(id)) return { reply: TOO_MANY }
  const client = await context.client(id, signal)
  if (!client.ok) return page(client.error)
  const redirect = trustedRedirect(relay, client.value, parameters)
  if (!redirect.ok) return page(redirect.error)
  const returnTo = { redirectUri: redirect.value, state: parameters.get('state') }
  const toClient = (error: string, description: string) => ({
    reply: clientErrorReply(relay, returnTo, { error, description }),
  })
  if (isBusy) return toClient('temporarily_unavailable', 'too many logins begin at this moment')
  if ('repeated' in all) return toClient('invalid_request', 'a parameter is there more than once')
  const request = readAuthorizationRequest(relay, parameters, redirect.value)
  if (!request.ok) return toClient(request.error.error, request.error.description)
  if (relay.provider === undefined)
    return toClient('temporarily_unavailable', 'the identity provider has not been reached yet')
  return { client: client.value, request: request.value, query }
}

const TOO_MANY = errorPageReply(
  429,
  'Too many logins begin at this moment. Try again in a moment.',
  [],
  { 'retry-after': '5' },
)

function shown(context: RelayContext, request: RelayRequest, asked: Asked): Reply {
  const { relay, vault, isSecure } = context
  const { prompt, redirectUri, scopes } = asked.request
  const known = cookieValue(request.cookie, isSecure, consentCookie(relay))
  const given = { client: asked.client, redirectUri, scopes }
  if (!prompt.includes('consent') && isConsented(relay, vault, known, given, context.now()))
    return toProvider(context, asked, [])
  if (prompt.includes('none'))
    return clientErrorReply(relay, asked.request, {
      error: 'interaction_required',
      description: 'the user has not consented yet',
    })
  const browser = cookieValue(request.cookie, isSecure, BROWSER) ?? secret(context, 32)
  const issued = String(context.now())
  const token = `${issued}.${vault.sign('consent-form', formText(browser, issued, asked))}`
  return pageReply(
    200,
    consentPage({ relay, client: asked.client, redirectUri, scopes, token }),
    'gatehouse_relay_consent',
    [setCookie(isSecure, { name: BROWSER, value: browser, maxAgeSeconds: CONSENT_SECONDS })],
  )
}

/** What the form approves: the query, and what the page showed beside it, which may change meanwhile. */
const formText = (browser: string, issued: string, { query, client, request }: Asked): string =>
  JSON.stringify([
    browser,
    issued,
    hashOfText(JSON.stringify([query, client.documentHash ?? '', request.scopes])),
  ])

const secret = (context: RelayContext, bytes: number): string =>
  Buffer.from(context.random(bytes)).toString('base64url')

/** Handles the form of the consent page, submitted in the browser that it was shown in. */
function decided(context: RelayContext, request: RelayRequest, asked: Asked): Reply {
  const { relay, vault, isSecure } = context
  const form = readParameters(Buffer.from(request.body).toString('latin1'))
  if (request.origin !== context.origin || !isForm(request) || 'repeated' in form)
    return errorPageReply(403, 'Consent is given on the page of this gateway alone.')
  const browser = cookieValue(request.cookie, isSecure, BROWSER)
  const [issued = '', signature = ''] = (form.get('token') ?? '').split('.')
  const isOurs =
    browser !== undefined &&
    vault.isSigned('consent-form', formText(browser, issued, asked), signature)
  if (!isOurs || context.now() - Number(issued) >= FORM_MS)
    return errorPageReply(
      403,
      'This page is too old, or of another browser. Start again in the client.',
    )
  if (form.get('decision') !== 'allow')
    return clientErrorReply(relay, asked.request, {
      error: 'access_denied',
      description: 'the user has not consented',
    })
  const { redirectUri, scopes } = asked.request
  const name = consentCookie(relay)
  const known = cookieValue(request.cookie, isSecure, name)
  const given = { client: asked.client, redirectUri, scopes }
  const value = withConsent(relay, vault, known, given, context.now())
  return toProvider(context, asked, [
    setCookie(isSecure, { name, value, maxAgeSeconds: CONSENT_SECONDS }),
  ])
}

/** Returns the name of a login's cookie. */
export const loginCookie = (id: string): string => `login-${id}`

function toProvider(
  context: RelayContext,
  { client, request }: Asked,
  cookies: readonly string[],
): Reply {
  const { relay, vault, isSecure } = context
  const [id, cookie] = [secret(context, 12), secret(context, 32)]
  const state = sealLogin(vault, request, { id, cookie, clientId: client.id }, context.now())
  const login = setCookie(isSecure, {
    name: loginCookie(id),
    value: cookie,
    maxAgeSeconds: LOGIN_SECONDS,
  })
  const location = withParameters(relay.provider?.authorizationEndpoint ?? '', [
    ['response_type', 'code'],
    ['client_id', relay.clientId],
    ['redirect_uri', context.origin + context.paths.callback],
    ...given('scope', request.scopes.join(' ')),
    ['state', state],
    ['code_challenge', request.challenge],
    ['code_challenge_method', 'S256'],
    ...given('resource', relay.sendsResource ? relay.resource : ''),
    ...given('prompt', request.prompt.join(' ')),
    ...given('login_hint', request.loginHint ?? ''),
    ...relay.authorizationParameters.map(([name, value]): [string, string] => [name, value]),
  ])
  return redirectReply(location, 'gatehouse_relay_login', [...cookies, login])
}

const given = (name: string, value: string): [string, string][] =>
  value === '' ? [] : [[name, value]]
