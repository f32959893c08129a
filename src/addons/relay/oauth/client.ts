// The clients of a relay: registrations, which are signed instead of stored (RFC 7591), and metadata documents.

import { createHash } from 'node:crypto'
import {
  type JsonReply,
  parseRegistration,
  registrationRefused,
} from '../../../extauthz/oauth/registration.js'
import type { Vault } from '../../../extauthz/oauth/vault.js'
import { err, ok, type Result } from '../../../kit/result.js'
import { isJsonObject, type Json, type JsonObject, parseJson } from '../../../model/json.js'
import type { Relay } from '../../../model/relay.js'
import { isPermitted, isRelayRedirectUri } from './redirect-uri.js'

/** A client of a relay. */
export interface Client {
  readonly id: string
  /** Self-declared name, if any. */
  readonly name?: string
  readonly redirectUris: readonly string[]
  /** Hash of its metadata document, to which consent is bound. Absent for a registered client. */
  readonly documentHash?: string
}

const MAX_ID = 2048
const MAX_REDIRECT_URIS = 8
const MAX_NAME = 128
const PREFIX = 'gh1'
/** Allowance for different clocks of replicas. */
const LEEWAY_MS = 60_000

/** Registers a client: 201 with a self-contained client_id, 400 or 413 (RFC 7591 section 3.2). now: milliseconds. */
export function registerClient(
  relay: Pick<Relay, 'redirectUris'>,
  vault: Vault,
  body: Uint8Array,
  now: number,
): JsonReply {
  const request = parseRegistration(body)
  if (!request.ok) return request.error
  const { client_name: name, redirect_uris: uris } = request.value
  const issuedAt = Math.floor(now / 1000)
  const fault = nameFault(name) ?? redirectFault(uris, relay)
  if (fault !== undefined) return fault
  const hasName = typeof name === 'string' && name !== ''
  // The id must be unique (RFC 7591 section 3.2.1): consent for another client must not count for this one.
  const own = { i: issuedAt, r: vault.nonce() }
  const fields = { u: uris as Json, ...(hasName ? { n: name } : {}), ...own }
  const payload = Buffer.from(JSON.stringify(fields)).toString('base64url')
  const id = `${PREFIX}.${payload}.${vault.sign('client', payload)}`
  if (id.length > MAX_ID)
    return refused('invalid_client_metadata', 'the names and redirect URIs are too long together')
  return {
    status: 201,
    body: {
      client_id: id,
      client_id_issued_at: issuedAt,
      ...(hasName ? { client_name: name } : {}),
      redirect_uris: uris as Json,
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
    },
  }
}

const refused = (error: string, description: string): JsonReply =>
  registrationRefused(400, error, description)

/** Counts characters, of which some have two UTF-16 units. */
const isLongName = (name: string): boolean => Array.from(name).length > MAX_NAME

const nameFault = (name: Json | undefined): JsonReply | undefined =>
  typeof name === 'string' && isLongName(name)
    ? refused('invalid_client_metadata', `client_name has more than ${MAX_NAME} characters`)
    : undefined

function redirectFault(
  uris: Json | undefined,
  { redirectUris }: Pick<Relay, 'redirectUris'>,
): JsonReply | undefined {
  const bad = (description: string) => refused('invalid_redirect_uri', description)
  if (!isRedirectUris(uris))
    return bad(
      `redirect_uris must be 1 to ${MAX_REDIRECT_URIS} absolute URIs in their normal form, without user and fragment, of https, http on loopback, or a scheme of the client's own`,
    )
  return uris.every((uri) => isPermitted(uri, redirectUris))
    ? undefined
    : bad('a redirect URI is not among those that the gateway allows (mcp.relay.redirectUris)')
}

const isRedirectUris = (value: Json | undefined): value is readonly string[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.length <= MAX_REDIRECT_URIS &&
  value.every((uri: Json) => typeof uri === 'string' && isRelayRedirectUri(uri))

/** Returns the client of an id; undefined if it is not signed by a current key, or has expired. now: milliseconds. */
export function openClientId(
  id: string,
  { clientLifetimeMs }: Pick<Relay, 'clientLifetimeMs'>,
  vault: Vault,
  now: number,
): Client | undefined {
  const [prefix, payload = '', signature = '', more] = id.split('.')
  if (id.length > MAX_ID || prefix !== PREFIX || more !== undefined) return undefined
  if (!vault.isSigned('client', payload, signature)) return undefined
  const fields = parseJson(Buffer.from(payload, 'base64url'))
  if (!isJsonObject(fields)) return undefined
  const { u: redirectUris, n: name, i: issuedAt } = fields
  if (!isRedirectUris(redirectUris) || typeof issuedAt !== 'number') return undefined
  const age = now - issuedAt * 1000
  if (age < -LEEWAY_MS || age >= clientLifetimeMs) return undefined
  return { id, redirectUris, ...(typeof name === 'string' ? { name } : {}) }
}

/** Reads a client_id URL (the draft's section 3): https, a path, nothing ambiguous. host: with any port except 443. */
export function metadataUrl(
  id: string,
): { readonly url: string; readonly host: string } | undefined {
  if (
    id.length > MAX_ID ||
    !/^https:\/\/[a-z0-9.-]+(?::[0-9]+)?\/[\x21\x24-\x5b\x5d-\x7e]*$/.test(id)
  )
    return undefined
  if (!URL.canParse(id)) return undefined
  const { href, host, pathname } = new URL(id)
  // The URL must be in canonical form: no dot segments, default port or upper case.
  return href === id && pathname !== '/' ? { url: id, host } : undefined
}

/** Returns the client of the metadata document at url, or what is wrong with it. */
export function documentClient(url: string, document: JsonObject): Result<Client, string> {
  const { client_id: id, client_name: name, redirect_uris: uris } = document
  const method = document['token_endpoint_auth_method']
  if (id !== url) return err('its client_id is not its URL')
  if (method !== 'none') return err('its token_endpoint_auth_method is not "none"')
  if (!isRedirectUris(uris)) return err('its redirect_uris cannot be used')
  if (name !== undefined && (typeof name !== 'string' || isLongName(name)))
    return err(`its client_name is no text of at most ${MAX_NAME} characters`)
  return ok({
    id: url,
    redirectUris: uris,
    documentHash: hashOfText(JSON.stringify(document)),
    ...(name === undefined ? {} : { name }),
  })
}

/** Returns the SHA-256 hash in base64url. */
export const hashOfText = (text: string): string =>
  createHash('sha256').update(text).digest('base64url')
