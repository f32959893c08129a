// Finds the client that a client_id stands for: one registered here, or one with a metadata document.

import type { Vault } from '../../../extauthz/oauth/vault.js'
import { err, ok, type Result } from '../../../kit/result.js'
import type { Relay } from '../../../model/relay.js'
import { type Client, hashOfText, metadataUrl, openClientId } from '../oauth/client.js'

/** Returns client metadata documents by URL. */
export interface ClientDocuments {
  /** Never rejects. error: a sentence for a person. */
  get(url: string, signal: AbortSignal): Promise<Result<Client, string>>
}

/** What finding a client needs. */
export interface FindClientDeps {
  readonly vault: Vault
  readonly documents: ClientDocuments
  /** Milliseconds since the epoch. */
  readonly now: number
  readonly signal: AbortSignal
}

const REGISTER_AGAIN =
  'This client is not registered here, or its registration has ended: it must register again.'

/** Finds a client. The error is a sentence for its user. */
export async function findClient(
  id: string,
  relay: Relay,
  { vault, documents, now, signal }: FindClientDeps,
): Promise<Result<Client, string>> {
  if (isDocumentId(id)) {
    const url = readableUrl(id, relay)
    return url === undefined
      ? err('This client is described at an address that this gateway does not read.')
      : documents.get(url, signal)
  }
  const client = openClientId(id, relay, vault, now)
  return client === undefined ? err(REGISTER_AGAIN) : ok(client)
}

/** A client that may use its grants. */
export interface KnownClient {
  readonly hash: string
  /** Absent for a client with a metadata document, which is not fetched again for a grant. */
  readonly redirectUris?: readonly string[]
}

/** Returns the client if its client_id is still valid. now: milliseconds since the epoch. */
export function knownClient(
  id: string,
  relay: Relay,
  vault: Vault,
  now: number,
): KnownClient | undefined {
  const hash = hashOfText(id)
  if (isDocumentId(id)) return readableUrl(id, relay) === undefined ? undefined : { hash }
  const client = openClientId(id, relay, vault, now)
  return client && { hash, redirectUris: client.redirectUris }
}

/** Whether a client_id names a metadata document. */
export const isDocumentId = (id: string): boolean => /^https:/i.test(id)

function readableUrl(id: string, { clientMetadataHosts }: Relay): string | undefined {
  const document = metadataUrl(id)
  return document !== undefined && clientMetadataHosts.includes(document.host)
    ? document.url
    : undefined
}
