// Translates mcp.relay into what ext_proc needs to be the authorization server of MCP clients
// (authorizationServer Relay), or the reasons why it cannot.

import { err, ok, type Result } from '../../../kit/result.js'
import type { Json, JsonObject } from '../../../model/json.js'
import type { Relay, RelayProvider } from '../../../model/relay.js'
import { nameFor, plainLine } from '../../../model/status.js'
import { OWN_PARAMETERS, type RelaySpec } from '../../schema/kinds/relay.js'
import { resolveBackend } from '../backends/backends.js'
import {
  connectionToBackend,
  connectionToIssuer,
  isPlainInPlace,
  type IssuerUrl,
  parseIssuer,
  type Reach,
  targetOfIssuer,
} from '../backends/remote-targets.js'
import type { Context } from '../world/context.js'
import { relayTokensKey } from '../world/grouping.js'
import { keyOf } from '../world/world.js'
import type { McpSpec, ProviderSpec } from './key-sets.js'
import { readSealingKeys, readSecret } from './relay-secrets.js'

/** What a relay is translated with. */
export interface RelayInput {
  /** NAMESPACE/NAME of the policy. */
  readonly policy: string
  readonly namespace: string
  readonly spec: McpSpec
  readonly provider: ProviderSpec
  readonly reach: Reach
  /** The provider's document, if it was fetched. */
  readonly discovery: JsonObject | undefined
}

/** A translated relay. */
export interface TranslatedRelay {
  readonly relay: Relay
  readonly notes: readonly string[]
  readonly warnings: readonly string[]
}

/** Settings of a policy without a member "relay". */
const DEFAULTS: RelaySpec = {
  clientLifetime: 90 * 86_400_000,
  clientMetadataHosts: [],
  redirectUris: ['loopback'],
  resourceParameter: 'Send',
  authorizationParameters: {},
}

/** error: one sentence for each problem; the policy is then broken. */
export function translateRelay(
  context: Context,
  input: RelayInput,
): Result<TranslatedRelay, readonly string[]> {
  const { spec, provider, reach, discovery, namespace } = input
  const relay = spec.relay ?? DEFAULTS
  const resource = spec.resourceMetadata?.resource
  const { clientId } = spec
  const keys = readSealingKeys(context, namespace, relay.keyRef)
  const secret =
    relay.clientSecretRef === undefined
      ? ok(undefined)
      : readSecret(context, namespace, relay.clientSecretRef)
  const tokens = tokenReach(context, namespace, relay, reach)
  const isPlain =
    tokens.ok && isPlainInPlace(tokens.value.reach.issuer, tokens.value.reach.connection)
  const problems = [
    ...resourceProblems(resource),
    ...(clientId === undefined ? ['authorizationServer Relay requires mcp.clientId'] : []),
    ...(keys.ok ? [] : [`mcp.relay.keyRef: ${keys.error}`]),
    ...(secret.ok ? [] : [`mcp.relay.clientSecretRef: ${secret.error}`]),
    ...parameterProblems(relay),
    ...(tokens.ok ? [] : [`mcp.relay.tokenEndpoint.${tokens.error}`]),
    ...(isPlain && relay.clientSecretRef !== undefined ? [PLAIN_SECRET] : []),
  ]
  if (problems.length > 0 || !keys.ok || !secret.ok || !tokens.ok) return err(problems)
  const endpoints = relayProvider(provider.issuer, tokens.value, discovery)
  return ok({
    relay: {
      policy: input.policy,
      issuer: issuerOf(resource ?? ''),
      resource: resource ?? '',
      clientId: clientId ?? '',
      // Editors and `echo` append a newline, which is not part of the secret.
      ...(secret.value === undefined ? {} : { clientSecret: secret.value.replace(/\r?\n$/, '') }),
      sealingKeys: keys.value.keys,
      clientLifetimeMs: relay.clientLifetime,
      clientMetadataHosts: relay.clientMetadataHosts,
      redirectUris: relay.redirectUris,
      scopes: relay.scopes ?? spec.resourceMetadata?.scopesSupported ?? [],
      sendsResource: relay.resourceParameter === 'Send',
      authorizationParameters: Object.entries(relay.authorizationParameters).sort(),
      providerIssuer: provider.issuer,
      ...(endpoints?.ok === true ? { provider: endpoints.value } : {}),
    },
    notes: [
      ...(isPlain && tokens.value.isNamed ? [PLAIN_TOKENS] : []),
      ...(keys.value.areOwn ? [OWN_KEY] : []),
      ...sharedTokenNotes(context, input),
    ],
    warnings: endpoints?.ok === false ? [endpoints.error] : [],
  })
}

const PLAIN_SECRET =
  'mcp.relay.clientSecretRef: the secret would be sent without TLS to a token endpoint that is https: a BackendTLSPolicy for its backend is missing'

const PLAIN_TOKENS = plainLine(
  'the relay asks mcp.relay.tokenEndpoint for tokens without TLS, as no BackendTLSPolicy targets its backend: whoever is on the way can read them',
)

/** Returns the MCP URL as resource metadata names it; for the root, without the slash. */
const issuerOf = (resource: string): string => resource.replace(/^(https?:\/\/[^/]+)\/$/, '$1')

/**
 * Checks the resource URL: issuer, callback and cookies must never derive from a request, and cookies over plain HTTP
 * must stay on the machine.
 */
function resourceProblems(resource: string | undefined): readonly string[] {
  if (resource === undefined)
    return ['authorizationServer Relay requires mcp.resourceMetadata.resource']
  if (!URL.canParse(resource)) return [`mcp.resourceMetadata.resource ${resource} is not a URL`]
  const { protocol, hostname, origin } = new URL(resource)
  return [
    ...(protocol === 'https:' || /^(?:localhost|127\.0\.0\.1|\[::1\])$/.test(hostname)
      ? []
      : ['authorizationServer Relay requires https, except on loopback: its cookies need TLS']),
    ...(resource === origin || resource.startsWith(`${origin}/`)
      ? []
      : [
          `mcp.resourceMetadata.resource must begin with ${origin}, as browsers write it, for authorizationServer Relay`,
        ]),
    ...(resource.includes('?')
      ? ['mcp.resourceMetadata.resource may not have a query for authorizationServer Relay']
      : []),
  ]
}

function parameterProblems({ authorizationParameters }: RelaySpec): readonly string[] {
  const own = Object.keys(authorizationParameters).filter((name) =>
    OWN_PARAMETERS.includes(name.toLowerCase()),
  )
  return own.map((name) => `mcp.relay.authorizationParameters: ${name} is set by the gateway`)
}

/** Lists other relays of the same issuer and audience: a token from one is valid at all. */
function sharedTokenNotes(
  { reader }: Context,
  { policy, namespace, provider }: RelayInput,
): readonly string[] {
  const others = (provider.audiences ?? [])
    .flatMap((audience) => reader.read('relaysOf', relayTokensKey(provider.issuer, audience)) ?? [])
    .map(keyOf)
    .filter((other) => other !== policy)
    .map((other) => nameFor(namespace, 'ProxyPolicy', other))
  return [...new Set(others)].map(
    (other) =>
      `Tokens are interchangeable with those of ${other}, which relays logins for the same issuer and audience`,
  )
}

const OWN_KEY =
  'mcp.relay.keyRef is not set: gatehouse run makes a key at each start, after which clients must register again; gatehouse serve refuses the policy'

// Reads the endpoints of a relay's provider from its discovery document. The token endpoint must have the issuer's
// origin, or the one that the policy names (decision 10j).

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
function tokenReach(
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
function relayProvider(
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
