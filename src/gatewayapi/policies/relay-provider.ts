// Reads the endpoints of a relay's provider from its discovery document. The token endpoint must have the issuer's
// origin, or the one that the policy names (decision 10j).

import type { Json, JsonObject } from '../../ir/json.js'
import type { RelayProvider } from '../../ir/relay.js'
import type { RelaySpec } from '../../resources/kinds/relay.js'
import { err, ok, type Result } from '../../result.js'
import { resolveBackend } from '../backends/backends.js'
import {
  connectionToBackend,
  connectionToIssuer,
  type IssuerUrl,
  parseIssuer,
  type Reach,
  targetOfIssuer,
} from '../backends/remote-targets.js'
import type { Context } from '../world/context.js'

/** The origin that the token endpoint must have, and the connection to it. */
export interface TokenReach {
  /** Scheme of the issuer; endpoints use plain HTTP only if it does. */
  readonly scheme: IssuerUrl['scheme']
  /** The origin and the connection to it. */
  readonly reach: Reach
  /** Whether the policy names the origin; otherwise it is the issuer's. */
  readonly isNamed: boolean
}

/** reach: the issuer and the connection to it. error: begins with the name of a field of tokenEndpoint. */
export function tokenReach(
  context: Context,
  namespace: string,
  { tokenEndpoint }: RelaySpec,
  reach: Reach,
): Result<TokenReach, string> {
  const { scheme } = reach.issuer
  if (tokenEndpoint === undefined) return ok({ scheme, reach, isNamed: false })
  const { origin, backendRef } = tokenEndpoint
  const named = parseIssuer(origin)
  if (named === undefined) return err(`origin: ${origin} is not an origin`)
  if (scheme === 'https' && named.scheme !== 'https')
    return err('origin: must be https, as the issuer is')
  if (backendRef === undefined)
    return ok({
      scheme,
      reach: { issuer: named, connection: connectionToIssuer(named) },
      isNamed: true,
    })
  const from = { group: context.options.apiGroup, kind: 'ProxyPolicy', namespace }
  const backend = resolveBackend(context, from, backendRef)
  return backend.ok
    ? ok({
        scheme,
        reach: { issuer: named, connection: connectionToBackend(backend.value) },
        isNamed: true,
      })
    : err(`backendRef: ${backend.error.message}`)
}

/** Returns undefined if the document was never fetched, which discoveryNotes() reports. */
export function relayProvider(
  issuer: string,
  { scheme, reach: { issuer: url, connection }, isNamed }: TokenReach,
  discovery: JsonObject | undefined,
): Result<RelayProvider, string> | undefined {
  if (discovery === undefined) return undefined
  const { authorization_endpoint: authorization, token_endpoint: token } = discovery
  const origin = `${url.scheme}://${url.authority}`
  if (!isEndpoint(authorization, scheme))
    return err('Logins are refused: the discovery document names no usable authorization_endpoint')
  // The document alone must not direct the client's secret to another origin.
  if (!isEndpoint(token, scheme) || !token.startsWith(`${origin}/`))
    return err(
      `Logins are refused: the discovery document names no token_endpoint of ${isNamed ? 'mcp.relay.tokenEndpoint.origin' : "the issuer's origin"} ${origin}${otherOrigin(token, scheme, isNamed)}`,
    )
  if (discovery['issuer'] !== issuer)
    return err('Logins are refused: the discovery document is of another issuer')
  const methods = discovery['token_endpoint_auth_methods_supported']
  return ok({
    authorizationEndpoint: authorization,
    token: targetOfIssuer(connection, url, token.slice(origin.length)),
    sendsIss: discovery['authorization_response_iss_parameter_supported'] === true,
    secretIn:
      lists(methods, 'client_secret_post') && !lists(methods, 'client_secret_basic')
        ? 'body'
        : 'header',
  })
}

const MOST_SHOWN = 256

/** Suggests the field that allows the endpoint of the document. */
function otherOrigin(
  token: Json | undefined,
  scheme: IssuerUrl['scheme'],
  isNamed: boolean,
): string {
  if (isNamed || !isEndpoint(token, scheme)) return ''
  const { origin } = new URL(token)
  return origin.length > MOST_SHOWN
    ? ''
    : `; if ${origin} is the provider's, name it in mcp.relay.tokenEndpoint.origin`
}

/** Whether the value is a URL of visible ASCII, as headers require, and https unless the issuer is http. */
const isEndpoint = (value: Json | undefined, scheme: 'http' | 'https'): value is string =>
  typeof value === 'string' &&
  /^https?:\/\/[\x21\x24-\x5b\x5d-\x7e]+$/.test(value) &&
  URL.canParse(value) &&
  (scheme === 'http' || value.startsWith('https:'))

const lists = (list: Json | undefined, value: string): boolean =>
  Array.isArray(list) && (list as readonly Json[]).includes(value)
