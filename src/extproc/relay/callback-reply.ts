// Handles the provider's redirect to a relay: its answer becomes one to the client, in the browser where the login
// began.

import { timingSafeEqual } from 'node:crypto'
import { hashOfText } from '../../oauth/relay/client.js'
import { cookieValue, setCookie } from '../../oauth/relay/cookies.js'
import { queryOf, readParameters } from '../../oauth/relay/parameters.js'
import { isStillPermitted } from '../../oauth/relay/redirect-uri.js'
import { grantScopes } from '../../oauth/relay/scopes.js'
import { type Login, openLogin, sealCode } from '../../oauth/relay/transaction.js'
import type { Reply } from '../stream/immediate-response.js'
import { loginCookie } from './authorize-reply.js'
import { clientErrorReply, codeReply, errorPageReply } from './browser-replies.js'
import type { RelayContext, RelayRequest } from './relay-request.js'

const MAX_PATH = 32 * 1024
const MAX_CODE = 8 * 1024

/**
 * Errors that are passed on, as a client may act on them (RFC 6749 section 4.1.2.1, OpenID Connect Core section
 * 3.1.2.6).
 */
const PASSED_ERRORS = [
  ...['access_denied', 'invalid_scope', 'server_error', 'temporarily_unavailable'],
  ...['interaction_required', 'login_required', 'account_selection_required', 'consent_required'],
]

/** Leaves the login's cookie alone, so that the page can be reloaded. */
const TOO_MANY = errorPageReply(
  429,
  'Too many logins end at this moment. Reload this page in a moment.',
  [],
  { 'retry-after': '5' },
)

/** Answers a request to the redirect URI of the relay. */
export function callbackReply(context: RelayContext, request: RelayRequest): Reply {
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
