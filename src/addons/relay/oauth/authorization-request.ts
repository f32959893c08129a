// Validates an authorization request (RFC 6749 section 4.1.1, RFC 7636, RFC 8707): errors go to the client or a page.

import { isSameUri } from '../../../extauthz/oauth/same-uri.js'
import { err, ok, type Result } from '../../../kit/result.js'
import type { Relay } from '../../../model/relay.js'
import type { Client } from './client.js'
import { type Parameters, words } from './parameters.js'
import { isPermitted, isRegistered, isRelayRedirectUri } from './redirect-uri.js'

/** A valid authorization request. */
export interface AuthorizationRequest {
  readonly redirectUri: string
  readonly challenge: string
  readonly scopes: readonly string[]
  /** Returned to the client unchanged. */
  readonly state?: string
  readonly prompt: readonly string[]
  readonly loginHint?: string
}

/** An error sent to the client at its redirect URI. */
export interface ClientError {
  readonly error: string
  /** ASCII without quotation marks and backslashes (RFC 6749 section 4.1.2.1). */
  readonly description: string
}

const MAX_STATE = 1024
const MAX_HINT = 320
const PROMPTS = ['none', 'login', 'consent', 'select_account']
/** Parameters that would bypass the checks of the others (OpenID Connect Core sections 3.1.2.1, 5.5 and 6). */
const UNSUPPORTED: Readonly<Record<string, string>> = {
  request: 'request_not_supported',
  request_uri: 'request_uri_not_supported',
  response_mode: 'invalid_request',
  claims: 'invalid_request',
}

/** Returns the redirect URI if errors may be sent there, else a sentence for the error page. */
export function trustedRedirect(
  relay: Pick<Relay, 'redirectUris'>,
  client: Client,
  parameters: Parameters,
): Result<string, string> {
  const uri = parameters.get('redirect_uri')
  if (uri === undefined) return err('The request has no redirect_uri, or more than one.')
  if (!isRelayRedirectUri(uri) || !isRegistered(uri, client.redirectUris))
    return err('The redirect_uri of the request is none that the client has registered.')
  return isPermitted(uri, relay.redirectUris)
    ? ok(uri)
    : err('The redirect_uri of the request is none that this gateway allows.')
}

/** Reads and validates a request. redirectUri: from trustedRedirect(). */
export function readAuthorizationRequest(
  relay: Pick<Relay, 'scopes' | 'resource'>,
  parameters: Parameters,
  redirectUri: string,
): Result<AuthorizationRequest, ClientError> {
  const get = (name: string) => parameters.get(name)
  const state = get('state')
  const challenge = get('code_challenge') ?? ''
  const prompt = words(get('prompt'))
  const loginHint = get('login_hint')
  const scopes = scopesOf(relay, get('scope'))
  const fault =
    unsupportedFault(parameters) ??
    responseTypeFault(get('response_type')) ??
    challengeFault(challenge, get('code_challenge_method')) ??
    (isSameUri(get('resource') ?? relay.resource, relay.resource)
      ? undefined
      : bad('invalid_target', `resource must be ${relay.resource}, or absent`)) ??
    promptFault(prompt) ??
    stateFault(state) ??
    (isTooLong(loginHint, MAX_HINT) ? bad('invalid_request', 'login_hint is too long') : undefined)
  if (fault !== undefined) return err(fault)
  if (scopes === undefined)
    return err(bad('invalid_scope', `scope must be within these: ${relay.scopes.join(' ')}`))
  return ok({
    redirectUri,
    challenge,
    scopes,
    prompt,
    ...(state === undefined ? {} : { state }),
    ...(loginHint === undefined ? {} : { loginHint }),
  })
}

const bad = (error: string, description: string): ClientError => ({ error, description })

/** Whether a text has more than max bytes. */
const isTooLong = (text: string | undefined, max: number): boolean =>
  text !== undefined && Buffer.byteLength(text) > max

function unsupportedFault(parameters: Parameters): ClientError | undefined {
  const name = Object.keys(UNSUPPORTED).find((one) => parameters.has(one))
  return name === undefined
    ? undefined
    : bad(UNSUPPORTED[name] ?? 'invalid_request', `${name} is not supported`)
}

function responseTypeFault(type: string | undefined): ClientError | undefined {
  if (type === undefined) return bad('invalid_request', 'response_type is missing')
  return type === 'code'
    ? undefined
    : bad('unsupported_response_type', 'response_type must be code')
}

/** Checks the challenge: base64url of a SHA-256 hash has 43 characters. */
const challengeFault = (challenge: string, method: string | undefined): ClientError | undefined =>
  /^[A-Za-z0-9_-]{43}$/.test(challenge) && method === 'S256'
    ? undefined
    : bad('invalid_request', 'code_challenge with code_challenge_method S256 is required')

/** Refuses a state that would not come back as it was sent: bytes that are not UTF-8 have been replaced. */
function stateFault(state: string | undefined): ClientError | undefined {
  if (isTooLong(state, MAX_STATE)) return bad('invalid_request', 'state is too long')
  return state?.includes('\ufffd') === true
    ? bad('invalid_request', 'state is not UTF-8')
    : undefined
}

function promptFault(prompt: readonly string[]): ClientError | undefined {
  if (prompt.some((word) => !PROMPTS.includes(word)))
    return bad('invalid_request', `prompt must be of ${PROMPTS.join(', ')}`)
  return prompt.includes('none') && prompt.length > 1
    ? bad('invalid_request', 'prompt none stands alone')
    : undefined
}

/** Returns the scopes, sorted and unique; by default all but offline_access. undefined: one is not allowed. */
function scopesOf(
  { scopes: allowed }: Pick<Relay, 'scopes'>,
  asked: string | undefined,
): readonly string[] | undefined {
  const scopes = words(asked)
  if (scopes.length === 0) return allowed.filter((scope) => scope !== 'offline_access').toSorted()
  const known = new Set(allowed)
  return scopes.every((scope) => known.has(scope)) ? [...new Set(scopes)].toSorted() : undefined
}
