// Translates jwtAuthentication.mcp into what ext_proc serves to MCP clients, except what depends on the route
// (decisions 9-12a, 14).

import {
  MCP_PROTOCOL_VERSION,
  publishedMembers,
} from '../../../extauthz/oauth/resource-metadata.js'
import { err, ok, type Result } from '../../../kit/result.js'
import type { Json, JsonObject } from '../../../model/json.js'
import type { Registration, ServerMetadata } from '../../../model/proc-entry.js'
import type { Relay } from '../../../model/relay.js'
import type { RemoteDocument, WantedDocument } from '../../../model/remote-target.js'
import type { SessionBinding } from '../../../model/session-binding.js'
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
import { type McpSpec, projectOf, type ProviderSpec } from './key-sets.js'
import { type RelayInput, translateRelay } from './relay.js'
import { readSealingKeys } from './relay-secrets.js'

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
  /** Set if sessions are bound to their callers. */
  readonly session?: SessionBinding
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
  const sessions = translateSessions(context, from, spec, provider)
  if (!sessions.ok) return err([sessions.error])
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
    ...(sessions.value.session === undefined ? {} : { session: sessions.value.session }),
    wanted: [wanted],
    notes: [
      ...(spec.allowedOrigins === undefined ? [NO_ORIGINS] : []),
      ...(spec.authorizationServer === 'Gateway' ? issuerNotes(metadataIssuer) : []),
      ...registration.notes,
      ...(relay?.value.notes ?? []),
      ...(relay === undefined && isIdle(spec) ? [IDLE_RELAY] : []),
      ...sessions.value.notes,
      ...discoveryNotes(spec.authorizationServer, known, wanted),
    ],
    warnings: [
      ...issuerWarnings(provider.issuer, known),
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

/** Its keys may be those of sessions. */
const isIdle = ({ relay, bindSession }: McpSpec): boolean =>
  relay !== undefined && !(bindSession && relay.keyRef !== undefined)

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

/** Tokens name the provider's own issuer, so none of them would be valid. */
const issuerWarnings = (issuer: string, known: RemoteDocument | undefined): readonly string[] =>
  known?.document === undefined || known.document['issuer'] === issuer
    ? []
    : [
        `The discovery document names the issuer ${quoted(known.document['issuer'])}, not ${issuer}: tokens with that issuer are refused`,
      ]

function discoveryNotes(
  server: McpSpec['authorizationServer'],
  known: RemoteDocument | undefined,
  { targets }: WantedDocument,
): readonly string[] {
  const url = targets[0]?.url ?? ''
  if (known?.document === undefined) return [unavailableNote('discovery document', url, known)]
  const { authorization_response_iss_parameter_supported: sendsIss } = known.document
  return [
    ...ageNotes('discovery document', url, known),
    ...(server === 'Provider' ? providerNotes(known.document, known.isOpenToPages === true) : []),
    ...(server === 'Gateway' && sendsIss === true ? [SENDS_ISS] : []),
  ]
}

const SENDS_ISS =
  'The provider sends iss in its authorization response (RFC 9207): MCP clients that check it cannot log in with authorizationServer Gateway; they need authorizationServer Provider or Relay'

// Translates mcp.bindSession: the keys that seal sessions, and who they are bound to.

/** A translated mcp.bindSession. */
export interface BoundSessions {
  /** Absent: sessions are bound to nobody. */
  readonly session?: SessionBinding
  /** Behaviour that users may not expect. */
  readonly notes: readonly string[]
}

/** from: the policy. The error is one sentence; the policy is then broken. */
function translateSessions(
  context: Context,
  { namespace, name }: Referent,
  { bindSession, relay }: McpSpec,
  { issuer }: ProviderSpec,
): Result<BoundSessions, string> {
  if (!bindSession) return ok({ notes: [] })
  const keys = readSealingKeys(context, namespace, relay?.keyRef)
  if (!keys.ok) return err(`mcp.bindSession: mcp.relay.keyRef: ${keys.error}`)
  return ok({
    session: { policy: keyIn(namespace, name), issuer, sealingKeys: keys.value.keys },
    notes: keys.value.areOwn ? [OWN_KEY] : [],
  })
}

const OWN_KEY =
  'mcp.bindSession: mcp.relay.keyRef is not set: gatehouse run makes a key at each start, after which clients must begin new sessions; gatehouse serve refuses the policy'

// Lists what a provider's discovery document lacks for MCP clients that use the provider directly
// (authorizationServer Provider).

/** isOpenToPages: whether pages of every origin may read the document. */
export function providerNotes(discovery: JsonObject, isOpenToPages: boolean): readonly string[] {
  const {
    code_challenge_methods_supported: challenges,
    registration_endpoint: registration,
    client_id_metadata_document_supported: documents,
  } = discovery
  const registers = typeof registration === 'string'
  return [
    ...(names(challenges, 'S256')
      ? []
      : [
          'The discovery document does not list S256 in code_challenge_methods_supported: MCP clients refuse the provider',
        ]),
    ...(registers || documents === true
      ? []
      : [
          'The provider offers neither registration nor client metadata documents: every MCP client needs a client id that is registered there',
        ]),
    ...(registers && documents !== true
      ? [
          'The provider does not support client metadata documents (client_id_metadata_document_supported): clients must register there, if it allows that',
        ]
      : []),
    ...(!registers && documents === true
      ? [
          'The provider does not offer registration (registration_endpoint): MCP clients without a metadata document need a client id that is registered there',
        ]
      : []),
    ...(isOpenToPages
      ? []
      : [
          'The provider does not let web pages read its discovery document (CORS): MCP clients in a browser cannot log in',
        ]),
  ]
}

const names = (list: Json | undefined, value: string): boolean =>
  Array.isArray(list) && (list as readonly Json[]).includes(value)

// Decides who answers client registration on an MCP route: Gatehouse, the provider, or nobody (decisions 12 and 12a).

/** Who answers client registration. */
export interface TranslatedRegistration {
  readonly registration: Registration
  /** Behaviour that users may not expect. */
  readonly notes: readonly string[]
  /** What does not work. */
  readonly warnings: readonly string[]
}

/** discovery: the provider's document, if it was fetched. */
function translateRegistration(
  { clientId, provider }: McpSpec,
  issuer: string,
  reach: Reach,
  discovery: JsonObject | undefined,
): TranslatedRegistration {
  if (clientId !== undefined)
    return { registration: { type: 'answer', clientId }, notes: [], warnings: [] }
  if (provider === 'IdpOne')
    return refused('mcp.clientId is not set, and IdpOne does not register clients')
  return provider === 'IdpTwo'
    ? proxiedToIdpTwo(issuer, reach)
    : proxiedAsDiscovered(reach, discovery)
}

const refused = (description: string): TranslatedRegistration => ({
  registration: { type: 'refuse', description },
  notes: [],
  warnings: [`Client registration is refused: ${description}`],
})

function proxiedToIdpTwo(
  issuer: string,
  { issuer: url, connection }: Reach,
): TranslatedRegistration {
  const project = projectOf(issuer)
  if (project === undefined)
    return refused(`mcp.clientId is not set, and the issuer is not one of IdpTwo's`)
  const path = `/v1/mgmt/mcp/client/${project.projectId}/${project.serverId}/register`
  const target = targetOfIssuer(connection, url, path)
  const note =
    'mcp.clientId is not set: registration is passed on to IdpTwo, which refuses it without a management key'
  return { registration: { type: 'proxy', target }, notes: [note], warnings: [] }
}

/** Uses the document's endpoint only if it has the issuer's origin: a document cannot redirect Gatehouse elsewhere. */
function proxiedAsDiscovered(
  { issuer, connection }: Reach,
  discovery: JsonObject | undefined,
): TranslatedRegistration {
  if (discovery === undefined)
    return {
      registration: { type: 'refuse', description: "the provider's metadata is not available yet" },
      notes: [],
      warnings: [],
    }
  const endpoint = discovery['registration_endpoint']
  const origin = `${issuer.scheme}://${issuer.authority}`
  if (typeof endpoint !== 'string' || !endpoint.startsWith(`${origin}/`) || /[\s#]/.test(endpoint))
    return refused(
      'mcp.clientId is not set, and the provider names no registration endpoint of its own origin',
    )
  const target = targetOfIssuer(connection, issuer, endpoint.slice(origin.length))
  return { registration: { type: 'proxy', target }, notes: [], warnings: [] }
}
