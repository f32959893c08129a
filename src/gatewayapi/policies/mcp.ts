// Translates jwtAuthentication.mcp into what ext_proc serves to MCP clients, except what depends on the route
// (decisions 9-12a, 14).

import type { Json, JsonObject } from '../../ir/json.js'
import type { Registration, ServerMetadata } from '../../ir/proc-entry.js'
import type { Relay } from '../../ir/relay.js'
import type { RemoteDocument, WantedDocument } from '../../ir/remote-target.js'
import { MCP_PROTOCOL_VERSION, publishedMembers } from '../../oauth/resource-metadata.js'
import { err, ok, type Result } from '../../result.js'
import { ageNotes, unavailableNote } from '../backends/remote-notes.js'
import {
  type BackendConnection,
  connectionToIssuer,
  parseIssuer,
  type Reach,
  targetOfIssuer,
  wantedDocument,
} from '../backends/remote-targets.js'
import type { Context } from '../world/context.js'
import type { Referent } from '../world/reference-grants.js'
import { keyIn } from '../world/world.js'
import type { McpSpec, ProviderSpec } from './key-sets.js'
import { providerNotes } from './provider-notes.js'
import { translateRegistration } from './registration.js'
import { type RelayInput, translateRelay } from './relay.js'

/** A translated jwtAuthentication.mcp. */
export interface Mcp {
  readonly spec: McpSpec
  /** From resourceMetadata.resource; absent: derived from the route and the request. */
  readonly resource?: { readonly origin: string; readonly path: string }
  readonly resourceMetadata: JsonObject
  /** The authorization server in resource metadata; absent: the gateway. */
  readonly authorizationServer?: string
  readonly serverMetadata: ServerMetadata
  readonly registration: Registration
  /** Set if the gateway itself is the authorization server. */
  readonly relay?: Relay
  readonly wanted: readonly WantedDocument[]
  /** Behaviour that users may not expect; the policy is still accepted. */
  readonly notes: readonly string[]
  /** What does not work; shown as PartiallyValid. */
  readonly warnings: readonly string[]
}

/** What jwtAuthentication.mcp is translated with. */
export interface McpInput {
  readonly spec: McpSpec
  readonly provider: ProviderSpec
  /** Connection of the provider's backendRef; absent: straight to the issuer. */
  readonly connection: BackendConnection | undefined
}

/** from: the policy, as the referrer. error: one sentence for each problem. */
export function translateMcp(
  context: Context,
  from: Referent,
  { spec, provider, connection }: McpInput,
): Result<Mcp, readonly string[]> {
  const issuer = parseIssuer(provider.issuer)
  if (issuer === undefined)
    return err([
      `issuer ${provider.issuer} is not an http or https URL, which jwtAuthentication.mcp needs`,
    ])
  const reach = { issuer, connection: connection ?? connectionToIssuer(issuer) }
  const wanted = discoveryDocument(spec, reach)
  const known = context.reader.read('remote', wanted.id)
  const metadataIssuer = spec.metadataIssuer ?? context.options.metadataIssuer
  const registration = translateRegistration(spec, provider.issuer, reach, known?.document)
  const relay = relayOf(context, from, { spec, provider, reach, discovery: known?.document })
  if (relay?.ok === false) return relay
  const resource = spec.resourceMetadata?.resource
  return ok({
    spec,
    ...(resource === undefined ? {} : { resource: splitResource(resource) }),
    resourceMetadata: resourceMetadata(spec, context.options.mcpProtocolVersion),
    ...(spec.authorizationServer === 'Provider' ? { authorizationServer: provider.issuer } : {}),
    serverMetadata: {
      metadataIssuer,
      clientIdConfigured: spec.clientId !== undefined,
      ...(known?.document === undefined ? {} : { discovery: known.document }),
    },
    registration: registration.registration,
    ...(relay === undefined ? {} : { relay: relay.value.relay }),
    wanted: [wanted],
    notes: [
      ...(spec.allowedOrigins === undefined ? [NO_ORIGINS] : []),
      ...(spec.authorizationServer === 'Gateway' ? issuerNotes(metadataIssuer) : []),
      ...registration.notes,
      ...(relay?.value.notes ?? []),
      ...(relay === undefined && spec.relay !== undefined ? [IDLE_RELAY] : []),
      ...discoveryNotes(provider.issuer, spec.authorizationServer, known, wanted),
    ],
    warnings: [
      ...(spec.authorizationServer === 'Gateway' ? registration.warnings : []),
      ...(relay?.value.warnings ?? []),
    ],
  })
}

/** Returns undefined if the policy does not ask for a relay. */
const relayOf = (
  context: Context,
  { namespace, name }: Referent,
  input: Pick<RelayInput, 'spec' | 'provider' | 'reach' | 'discovery'>,
): ReturnType<typeof translateRelay> | undefined =>
  input.spec.authorizationServer === 'Relay'
    ? translateRelay(context, { ...input, namespace, policy: keyIn(namespace, name) })
    : undefined

const OPENID = '/.well-known/openid-configuration'
const RFC_8414 = '/.well-known/oauth-authorization-server'

/**
 * Returns the document to fetch: for IdpOne and IdpTwo by OpenID Connect Discovery section 4, otherwise by RFC 8414
 * section 3.1 first (decision 12a).
 */
function discoveryDocument(spec: McpSpec, { issuer, connection }: Reach): WantedDocument {
  const openid = targetOfIssuer(connection, issuer, `${issuer.path}${OPENID}`)
  const oauth = targetOfIssuer(connection, issuer, `${RFC_8414}${issuer.path}`)
  return wantedDocument(
    'Discovery',
    connection,
    spec.provider === undefined ? [oauth, openid] : [openid],
  )
}

/** Returns the members as written, except authorizationServers, which is computed (decision 12b). */
function resourceMetadata(
  { resourceMetadata: written = {} }: McpSpec,
  version: string | undefined,
): JsonObject {
  const published = Object.entries(publishedMembers(written))
  return {
    ...(version === undefined || version === MCP_PROTOCOL_VERSION
      ? {}
      : { mcp_protocol_version: version }),
    ...Object.fromEntries(published.filter(([name]) => name !== 'authorization_servers')),
  }
}

const IDLE_RELAY = 'mcp.relay has no effect without authorizationServer Relay'

const NO_ORIGINS =
  'mcp.allowedOrigins is not set: web pages of any origin may send requests, which MCP 2026-07-28 asks servers to refuse'

/** Splits an absolute URL (the schema checks that). Keeps its text, as the URL class would add a slash (decision 9). */
function splitResource(resource: string): NonNullable<Mcp['resource']> {
  const [, origin, path] = /^(https?:\/\/[^/?#]+)([^?#]*)/.exec(resource) ?? []
  return { origin: origin ?? resource, path: path === undefined || path === '/' ? '' : path }
}

/** Decision 10a: stated wherever the policy's state is shown. */
const issuerNotes = (metadataIssuer: 'Provider' | 'Gateway'): readonly string[] =>
  metadataIssuer === 'Gateway'
    ? []
    : [
        "metadataIssuer is Provider: MCP clients that hold RFC 8414 section 3.3 refuse metadata whose issuer is not the gateway's; they need metadataIssuer Gateway or authorizationServer Provider",
      ]

const MOST_SHOWN = 256

/** Quotes and shortens a value of the provider's document (up to a mebibyte), so it cannot fill status and log. */
const quoted = (value: Json | undefined): string =>
  typeof value === 'string' && value.length > MOST_SHOWN
    ? `${JSON.stringify(value.slice(0, MOST_SHOWN))}…`
    : JSON.stringify(value ?? null)

function discoveryNotes(
  issuer: string,
  server: McpSpec['authorizationServer'],
  known: RemoteDocument | undefined,
  { targets }: WantedDocument,
): readonly string[] {
  const url = targets[0]?.url ?? ''
  if (known?.document === undefined) return [unavailableNote('discovery document', url, known)]
  const { issuer: named, authorization_response_iss_parameter_supported: sendsIss } = known.document
  return [
    ...ageNotes('discovery document', url, known),
    ...(named === issuer
      ? []
      : [`The discovery document names the issuer ${quoted(named)}, not ${issuer}`]),
    ...(server === 'Provider' ? providerNotes(known.document, known.isOpenToPages === true) : []),
    ...(server === 'Gateway' && sendsIss === true ? [SENDS_ISS] : []),
  ]
}

const SENDS_ISS =
  'The provider sends iss in its authorization response (RFC 9207): MCP clients that check it cannot log in with authorizationServer Gateway; they need authorizationServer Provider or Relay'
