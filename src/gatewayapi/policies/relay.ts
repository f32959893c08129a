// Translates mcp.relay into what ext_proc needs to be the authorization server of MCP clients
// (authorizationServer Relay), or the reasons why it cannot.

import type { JsonObject } from '../../ir/json.js'
import type { Relay } from '../../ir/relay.js'
import { OWN_PARAMETERS, type RelaySpec } from '../../resources/kinds/relay.js'
import { err, ok, type Result } from '../../result.js'
import type { Reach } from '../backends/remote-targets.js'
import type { Context } from '../world/context.js'
import { relayTokensKey } from '../world/grouping.js'
import { keyOf, OWN_RELAY_KEYS } from '../world/world.js'
import type { McpSpec, ProviderSpec } from './key-sets.js'
import { relayProvider, tokenReach } from './relay-provider.js'
import { keyOfFile, readSealingKey, readSecret } from './relay-secrets.js'

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
  const keys = sealingKeys(context, namespace, relay)
  const secret =
    relay.clientSecretRef === undefined
      ? ok(undefined)
      : readSecret(context, namespace, relay.clientSecretRef)
  const tokens = tokenReach(context, namespace, relay, reach)
  const problems = [
    ...resourceProblems(resource),
    ...(clientId === undefined ? ['authorizationServer Relay requires mcp.clientId'] : []),
    ...(keys.ok ? [] : [`mcp.relay.keyRef: ${keys.error}`]),
    ...(secret.ok ? [] : [`mcp.relay.clientSecretRef: ${secret.error}`]),
    ...parameterProblems(relay),
    ...(tokens.ok ? [] : [`mcp.relay.tokenEndpoint.${tokens.error}`]),
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
    notes: [...keys.value.notes, ...sharedTokenNotes(context, input)],
    warnings: endpoints?.ok === false ? [endpoints.error] : [],
  })
}

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

interface Keys {
  readonly keys: readonly string[]
  readonly notes: readonly string[]
}

function sealingKeys(
  context: Context,
  namespace: string,
  { keyRef }: RelaySpec,
): Result<Keys, string> {
  if (keyRef === undefined) {
    const relayKeys = context.reader.read('relayKeys', OWN_RELAY_KEYS)
    if (relayKeys === undefined || relayKeys.keys.length === 0)
      return err('is missing, and there is no --relay-key-file either')
    return ok({ keys: relayKeys.keys, notes: relayKeys.areOwn ? [OWN_KEY] : [] })
  }
  const keys: string[] = []
  for (const { name, key: member, file } of keyRef) {
    if ((name === undefined) === (file === undefined))
      return err('expected exactly one of name and file')
    if (file !== undefined && member !== undefined)
      return err('key is the member of a Secret; a file has none')
    const key =
      name === undefined
        ? keyOfFile(context, file ?? '')
        : readSealingKey(context, namespace, { name, key: member })
    if (!key.ok) return key
    keys.push(key.value)
  }
  return ok({ keys, notes: [] })
}

/** Lists other relays of the same issuer and audience: a token from one is valid at all. */
function sharedTokenNotes(
  { reader }: Context,
  { policy, provider }: RelayInput,
): readonly string[] {
  const others = (provider.audiences ?? [])
    .flatMap((audience) => reader.read('relaysOf', relayTokensKey(provider.issuer, audience)) ?? [])
    .map(keyOf)
    .filter((other) => other !== policy)
  return [...new Set(others)].map(
    (other) =>
      `Tokens are interchangeable with those of ProxyPolicy ${other}, which relays logins for the same issuer and audience`,
  )
}

const OWN_KEY =
  'mcp.relay.keyRef is not set: gatehouse run makes a key at each start, after which clients must register again; gatehouse serve refuses the policy'
