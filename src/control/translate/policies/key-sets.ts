// Translates the jwks of a provider into its key set and the document to fetch (decisions 1, 11, 12c).

import { describeKeySet } from '../../../extauthz/oauth/key-set.js'
import { memoWork } from '../../../kit/incremental/memo.js'
import { err, ok, type Result } from '../../../kit/result.js'
import { atOnce, type Work } from '../../../kit/turns.js'
import type { KeySet } from '../../../model/authz-entry.js'
import type { JsonObject } from '../../../model/json.js'
import type { RemoteState, RemoteTarget, WantedDocument } from '../../../model/remote-target.js'
import type { ProxyPolicySpec } from '../../schema/kinds/proxy-policy.js'
import { type Backend, resolveBackend } from '../backends/backends.js'
import { ageNotes, keyNotes, unavailableNote } from '../backends/remote-notes.js'
import {
  type BackendConnection,
  connectionToBackend,
  connectionToIssuer,
  parseIssuer,
  targetAt,
  targetOfIssuer,
  wantedDocument,
} from '../backends/remote-targets.js'
import type { Context } from '../world/context.js'
import type { Referrer } from '../world/reference-grants.js'

/** traffic.jwtAuthentication of a policy. */
export type JwtSpec = NonNullable<NonNullable<ProxyPolicySpec['traffic']>['jwtAuthentication']>
/** A provider of jwtAuthentication. */
export type ProviderSpec = JwtSpec['providers'][number]
/** jwtAuthentication.mcp of a policy. */
export type McpSpec = NonNullable<JwtSpec['mcp']>

/** The key set of a provider. */
export interface TranslatedKeySet {
  readonly keySet: KeySet
  readonly wanted: readonly WantedDocument[]
  /** Connection by which the keys are fetched; absent: they are inline. */
  readonly connection?: BackendConnection
  /** Status messages about outdated or unusable keys. */
  readonly notes: readonly string[]
  /** Why the keys are not available yet (decision 1). */
  readonly unavailable?: string
}

/** Translates the jwks of a provider. The error is a sentence for the status. */
export function translateKeySet(
  context: Context,
  from: Referrer,
  provider: ProviderSpec,
  idp: 'IdpOne' | 'IdpTwo' | undefined,
): Result<TranslatedKeySet, string> {
  const { inline, remote } = provider.jwks
  if (inline !== undefined && remote !== undefined)
    return err('jwks: expected exactly one of remote and inline; both are set')
  if (inline !== undefined) return atOnce(inlineKeySet(provider.jwks))
  if (remote === undefined)
    return idp === 'IdpTwo'
      ? fetchedKeySet(context, provider, undefined)
      : err('jwks: expected exactly one of remote and inline; neither is set')
  if (remote.jwksPath === undefined && idp !== 'IdpTwo')
    return err('jwks.remote.jwksPath is needed; only with mcp.provider IdpTwo is it derived')
  if (remote.jwksPath !== undefined && /[\s#\\\p{Cc}]/u.test(remote.jwksPath))
    return err(`jwks.remote.jwksPath "${remote.jwksPath}" is not a path`)
  const backend = resolveBackend(context, from, remote.backendRef)
  return backend.ok
    ? fetchedKeySet(context, provider, backend.value)
    : err(`jwks.remote.backendRef: ${backend.error.message}`)
}

/** Reads the inline key sets of a policy, with a yield after each key, so that translateKeySet() need not do it at once. */
export function* readInlineKeySets({ providers }: JwtSpec): Work<void> {
  for (const { jwks } of providers) if (jwks.inline !== undefined) yield* inlineKeySet(jwks)
}

/** Looks through new key sets, with a yield after each key, so that translateKeySet() need not do it at once for all of a policy. */
export function* describeKeySets(before: RemoteState, now: RemoteState): Work<void> {
  for (const [id, { document }] of now) {
    if (document === undefined || document === before.get(id)?.document) continue
    yield* describeKeySet(document)
    yield
  }
}

const inlineKeySet = memoWork(function* ({
  inline = '',
}: ProviderSpec['jwks']): Work<Result<TranslatedKeySet, string>> {
  const jwks = parseObject(inline)
  yield
  if (jwks === undefined || !Array.isArray(jwks['keys']))
    return err('jwks.inline is not a JSON object with an array "keys"')
  yield* describeKeySet(jwks)
  const keySet: KeySet = { state: 'available', source: { type: 'inline' }, jwks }
  return ok({ keySet, wanted: [], notes: keyNotes('jwks.inline', jwks) })
})

function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as JsonObject)
      : undefined
  } catch {
    return undefined
  }
}

function fetchedKeySet(
  context: Context,
  provider: ProviderSpec,
  backend: Backend | undefined,
): Result<TranslatedKeySet, string> {
  const place = placeOfKeys(provider, backend)
  if (!place.ok) return place
  const { connection, target } = place.value
  const wanted = wantedDocument('KeySet', connection, [target])
  const reached = { wanted: [wanted], connection }
  const source = { type: 'remote', id: wanted.id, url: target.url } as const
  const known = context.reader.read('remote', wanted.id)
  if (known?.document === undefined) {
    const unavailable = unavailableNote('key set', source.url, known)
    return ok({ ...reached, keySet: { state: 'unavailable', source }, notes: [], unavailable })
  }
  const jwks = known.document
  const notes = [...ageNotes('key set', source.url, known), ...keyNotes(source.url, jwks)]
  return ok({ ...reached, keySet: { state: 'available', source, jwks }, notes })
}

function placeOfKeys(
  { issuer, jwks }: ProviderSpec,
  backend: Backend | undefined,
): Result<{ readonly connection: BackendConnection; readonly target: RemoteTarget }, string> {
  const path = jwks.remote?.jwksPath
  if (path !== undefined && backend !== undefined) {
    const connection = connectionToBackend(backend)
    return ok({ connection, target: targetAt(connection, backend.authority, path) })
  }
  const url = parseIssuer(issuer)
  const project = projectOf(issuer)
  if (url === undefined || project === undefined)
    return err(`jwks names no path, and none can be derived from the issuer ${issuer}: ${IDP_TWO}`)
  const connection = backend === undefined ? connectionToIssuer(url) : connectionToBackend(backend)
  const derived = `/${project.projectId}/.well-known/jwks.json`
  return ok({ connection, target: targetOfIssuer(connection, url, derived) })
}

const IDP_TWO = "IdpTwo's issuers are https://HOST/v1/apps/agentic/PROJECT_ID/SERVER_ID"

/** Returns the parts of an IdpTwo issuer (specification, identity-provider setup); undefined for other issuers. */
export function projectOf(
  issuer: string,
): { readonly projectId: string; readonly serverId: string } | undefined {
  const path = parseIssuer(issuer)?.path ?? ''
  const [, projectId, serverId] = /^\/v1\/apps\/agentic\/([^/]+)\/([^/]+)$/.exec(path) ?? []
  return projectId === undefined || serverId === undefined ? undefined : { projectId, serverId }
}
