// The token endpoint of a relay (RFC 6749 sections 4.1.3 and 6). It checks the client before it calls the provider.

import { isSameUri } from '../../../extauthz/oauth/same-uri.js'
import { errorReply, jsonReply, type Reply } from '../../../extproc/session/immediate-response.js'
import { err, ok, type Result } from '../../../kit/result.js'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../../../model/json.js'
import { hashOfText } from '../oauth/client.js'
import { type Parameters, readParameters, words } from '../oauth/parameters.js'
import { isAnyPermitted, isStillPermitted } from '../oauth/redirect-uri.js'
import { type GrantScopes, grantScopes } from '../oauth/scopes.js'
import { type Grant, openCode, openRefresh, sealRefresh } from '../oauth/transaction.js'
import type { KnownClient } from './clients.js'
import {
  isForm,
  type ProviderAnswer,
  type RelayContext,
  type RelayRequest,
} from './relay-request.js'

/** A client's grant, and the form that requests its tokens from the provider. */
interface Exchange {
  readonly grant: Grant
  readonly scopes: GrantScopes
  /** Whether the client asks for no scopes, and the relay for those that it still offers. */
  readonly isLimited: boolean
  /** The scopes of a token whose answer names none; empty: those that the client knows. */
  readonly scope: string
  readonly form: Readonly<Record<string, string>>
}

/** Answers a request to the token endpoint. */
export async function tokenReply(
  context: RelayContext,
  request: RelayRequest,
  signal: AbortSignal,
): Promise<Reply> {
  if (!context.mayAsk('token', request.network)) return TOO_MANY
  if (!isForm(request)) return refused('invalid_request', 'the request is not a form')
  if (request.credentials !== undefined) return refusedCredentials(request.credentials)
  const parameters = readParameters(Buffer.from(request.body).toString('latin1'))
  if ('repeated' in parameters)
    return refused('invalid_request', 'a parameter is there more than once')
  const id = parameters.get('client_id')
  if (id === undefined) return refused('invalid_request', 'client_id is missing')
  const client = context.known(id)
  if (client === undefined) return UNKNOWN_CLIENT
  const exchange = exchangeOf(context, parameters, client)
  if (!exchange.ok) return exchange.error
  const answer = await context.callProvider(exchange.value.form, signal)
  if (!answer.ok) return answer.error === 'busy' ? BUSY : UNREACHED
  return answered(context, exchange.value, answer.value)
}

const DETAILS = 'gatehouse_relay_token'

const refused = (error: string, description: string): Reply =>
  errorReply(400, [error, description], DETAILS)

/** Answers credentials with 401 and a challenge of their scheme (RFC 6749 section 5.2). */
const refusedCredentials = (authorization: string): Reply =>
  errorReply(
    401,
    ['invalid_client', 'clients are public here: they send no credentials'],
    DETAILS,
    {
      'www-authenticate': `${/^bearer\b/i.test(authorization) ? 'Bearer' : 'Basic'} realm="token"`,
    },
  )

/** Answers an unknown client with 401 (RFC 6749 section 5.2). */
const UNKNOWN_CLIENT = errorReply(
  401,
  ['invalid_client', 'the client is not registered here, or its registration has ended'],
  DETAILS,
)
const BUSY = errorReply(
  503,
  ['temporarily_unavailable', 'too many tokens are asked for at this moment'],
  DETAILS,
  { 'retry-after': '5' },
)
const TOO_MANY = errorReply(
  429,
  ['temporarily_unavailable', 'too many tokens are asked for at this moment'],
  DETAILS,
  { 'retry-after': '5' },
)
const UNREACHED = errorReply(
  502,
  ['temporarily_unavailable', 'the identity provider did not answer'],
  DETAILS,
)

/** The parameters that each grant needs (RFC 6749 sections 4.1.3 and 6, RFC 7636 section 4.5). */
const NEEDED: ReadonlyMap<string, readonly string[]> = new Map([
  ['authorization_code', ['code', 'redirect_uri', 'code_verifier']],
  ['refresh_token', ['refresh_token']],
])

function exchangeOf(
  context: RelayContext,
  parameters: Parameters,
  client: KnownClient,
): Result<Exchange, Reply> {
  const type = parameters.get('grant_type') ?? ''
  const missing = ['grant_type', ...(NEEDED.get(type) ?? [])].find((name) => !parameters.has(name))
  if (missing !== undefined) return err(refused('invalid_request', `${missing} is missing`))
  const { resource } = context.relay
  if (!isSameUri(parameters.get('resource') ?? resource, resource))
    return err(refused('invalid_target', `resource must be ${resource}, or absent`))
  switch (type) {
    case 'authorization_code':
      return ofCode(context, parameters, client)
    case 'refresh_token':
      return ofRefresh(context, parameters, client)
    default:
      return err(
        refused('unsupported_grant_type', 'grant_type is authorization_code or refresh_token'),
      )
  }
}

/** Whether the grant is for this client, and for the resource that the gateway protects now. */
const isOfClient = ({ relay }: RelayContext, grant: Grant, { hash }: KnownClient): boolean =>
  grant.clientHash === hash && grant.resource === relay.resource

/**
 * Whether the client may still be sent to where the login returned to. If the grant does not say where that was, any
 * redirect URI of its client counts; those of a metadata document are unknown here.
 */
const isReturnAllowed = (
  { relay: { redirectUris: patterns } }: RelayContext,
  { redirectUri }: Grant,
  { redirectUris }: KnownClient,
): boolean =>
  redirectUri === undefined
    ? redirectUris === undefined || isAnyPermitted(redirectUris, patterns)
    : isStillPermitted(redirectUri, patterns)

const NO_GRANT = refused('invalid_grant', 'the grant is not good, or of another client')
const NO_RETURN = refused('invalid_grant', 'the redirect URI of the grant is no longer allowed')
const WITHDRAWN = refused('invalid_grant', 'a scope of the grant is no longer offered')

function ofCode(
  context: RelayContext,
  parameters: Parameters,
  client: KnownClient,
): Result<Exchange, Reply> {
  const grant = openCode(context.vault, parameters.get('code') ?? '', context.now())
  const verifier = parameters.get('code_verifier') ?? ''
  if (grant === undefined || !isOfClient(context, grant, client)) return err(NO_GRANT)
  if (parameters.get('redirect_uri') !== grant.redirectUri)
    return err(refused('invalid_grant', 'redirect_uri is another than at the authorization'))
  if (!isVerified(verifier, grant.challenge))
    return err(refused('invalid_grant', 'code_verifier does not fit the challenge'))
  if (!isReturnAllowed(context, grant, client)) return err(NO_RETURN)
  const scopes = grantScopes(context.relay, grant.scopes)
  // The provider takes no scope with a code, so the token would have all those of the login.
  if (scopes.withdrawn.length > 0) return err(WITHDRAWN)
  return ok({
    grant,
    scopes,
    isLimited: false,
    scope: grant.scopes,
    form: {
      grant_type: 'authorization_code',
      code: grant.secret,
      redirect_uri: context.origin + context.paths.callback,
      code_verifier: verifier,
      ...resourceOf(context),
    },
  })
}

/** Whether the PKCE verifier matches the challenge (RFC 7636 section 4.6). */
const isVerified = (verifier: string, challenge: string): boolean =>
  /^[A-Za-z0-9._~-]{43,128}$/.test(verifier) && hashOfText(verifier) === challenge

const resourceOf = ({ relay }: RelayContext): Readonly<Record<string, string>> =>
  relay.sendsResource ? { resource: relay.resource } : {}

function ofRefresh(
  context: RelayContext,
  parameters: Parameters,
  client: KnownClient,
): Result<Exchange, Reply> {
  const grant = openRefresh(context.vault, parameters.get('refresh_token') ?? '', context.now())
  if (grant === undefined || !isOfClient(context, grant, client)) return err(NO_GRANT)
  if (!isReturnAllowed(context, grant, client)) return err(NO_RETURN)
  const scopes = grantScopes(context.relay, grant.scopes)
  const offered = new Set(scopes.offered)
  const own = words(parameters.get('scope'))
  if (!own.every((scope) => offered.has(scope)))
    return err(refused('invalid_scope', 'scope is wider than what was granted and is offered'))
  // Nothing is asked for while nothing was withdrawn: a provider that has granted less would refuse the whole.
  const isLimited = own.length === 0 && scopes.withdrawn.length > 0
  if (isLimited && offered.size === 0) return err(WITHDRAWN)
  const asked = isLimited ? scopes.offered : own
  return ok({
    grant,
    scopes,
    isLimited,
    scope: asked.join(' '),
    form: {
      grant_type: 'refresh_token',
      refresh_token: grant.secret,
      ...(asked.length === 0 ? {} : { scope: asked.join(' ') }),
      ...resourceOf(context),
    },
  })
}

function answered(
  context: RelayContext,
  exchange: Exchange,
  { status, body }: ProviderAnswer,
): Reply {
  const answer = parseJson(body)
  if (!isJsonObject(answer)) return FAILED
  if (status === 200) return withTokens(context, exchange, answer)
  const { error } = answer
  // The client has named no scope that it could change: it must log in.
  if (error === 'invalid_scope' && exchange.isLimited) return WITHDRAWN
  // Other errors concern the relay's client at the provider. If they were passed on, this client would register again.
  return error === 'invalid_grant' || error === 'invalid_scope'
    ? refused(error, 'the identity provider refused the grant')
    : FAILED
}

const FAILED = errorReply(
  502,
  [
    'server_error',
    'the identity provider refused the gateway or answered nothing that can be read',
  ],
  DETAILS,
)

/** Leaves id_token out: if its audience is the relay's client, it would be accepted as an access token. */
function withTokens(context: RelayContext, exchange: Exchange, answer: JsonObject): Reply {
  const { grant } = exchange
  const { access_token: access, expires_in: expires, refresh_token: refresh } = answer
  if (hasWithdrawn(exchange, answer['scope'])) return WITHDRAWN
  const scope = grantedScopes(exchange, answer['scope'])
  if (typeof access !== 'string' || access === '') return FAILED
  if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(access)) return OPAQUE
  return jsonReply(
    200,
    {
      access_token: access,
      token_type: 'Bearer',
      ...(typeof expires === 'number' ? { expires_in: expires } : {}),
      ...(scope === '' ? {} : { scope }),
      ...(typeof refresh === 'string'
        ? { refresh_token: sealRefresh(context.vault, { ...grant, secret: refresh }) }
        : {}),
    },
    DETAILS,
    { pragma: 'no-cache' },
  )
}

/**
 * Returns the scopes of the token (RFC 6749 section 5.1): those of the provider's that the user consented to. Providers
 * add others, and clients ask for all that they have heard of when they step up. If the token has none of the consented
 * scopes, the client must learn that: it gets the provider's.
 */
function grantedScopes({ scopes, scope }: Exchange, answered: Json | undefined): string {
  if (typeof answered !== 'string') return scope
  const named = answered.split(' ').filter((one) => SCOPE.test(one))
  const consented = new Set(scopes.offered)
  const known = named.filter((one) => consented.has(one))
  return known.length === 0 && consented.size > 0 ? shortened(named) : known.join(' ')
}

/** Whether the provider names a scope that is no longer offered: some grant all of the login whatever is asked for. */
function hasWithdrawn({ scopes }: Exchange, answered: Json | undefined): boolean {
  const named = typeof answered === 'string' ? new Set(words(answered)) : undefined
  return named !== undefined && scopes.withdrawn.some((one) => named.has(one))
}

/** A scope-token (RFC 6749 section 3.3). */
const SCOPE = /^[\x21\x23-\x5b\x5d-\x7e]{1,256}$/
const MOST_SCOPES = 32

const shortened = (scopes: readonly string[]): string => scopes.slice(0, MOST_SCOPES).join(' ')

const OPAQUE = errorReply(
  502,
  [
    'server_error',
    'the identity provider issued an access token that is no JWT, which the gateway cannot check',
  ],
  DETAILS,
)
