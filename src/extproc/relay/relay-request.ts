// What a relay reads of a request, and what it works with.

import type { Relay } from '../../ir/relay.js'
import type { Client } from '../../oauth/relay/client.js'
import type { Vault } from '../../oauth/relay/vault.js'
import type { Result } from '../../result.js'
import type { HeadersPart } from '../stream/process-message.js'
import type { BoundedRequest } from './bounds.js'

export interface RelayRequest {
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly cookie?: string | undefined
  readonly origin?: string | undefined
  readonly contentType?: string | undefined
  readonly hasCredentials: boolean
  /** networkOf() the client's address; "": not known. */
  readonly network: string
  /** Sec-Fetch-Dest, of browsers that say so: whether a script or a frame asks, and not a window. */
  readonly isInPage: boolean
  /** All of it; empty before it has come. */
  readonly body: Uint8Array
}

/** One relay, ready for requests. */
export interface RelayContext {
  readonly relay: Relay
  readonly vault: Vault
  /** The gateway's origin. */
  readonly origin: string
  /** Cookies are for https alone; otherwise the gateway is on loopback. */
  readonly isSecure: boolean
  readonly paths: { readonly callback: string }
  /** Milliseconds since the epoch. */
  now(): number
  random(size: number): Uint8Array
  /** error: a sentence for a person. */
  client(id: string, signal: AbortSignal): Promise<Result<Client, string>>
  /** Whether a client may still use what it was given; its document is not read again for that. */
  isKnown(id: string): boolean
  callProvider: CallProvider
  /** Whether the client's network may ask for this now; counted when it may. */
  mayAsk(request: BoundedRequest, network: string): boolean
}

/** Of the token endpoint. form: with the client's own parameters; error: what kept it from answering. */
export type CallProvider = (
  form: Readonly<Record<string, string>>,
  signal: AbortSignal,
) => Promise<Result<ProviderAnswer, 'busy' | 'failed'>>

export interface ProviderAnswer {
  readonly status: number
  readonly body: Uint8Array
}

export function relayRequest(
  { method, path, network }: Pick<RelayRequest, 'method' | 'path' | 'network'>,
  { headers }: HeadersPart,
): RelayRequest {
  // A second one makes it none: which of the two counts nobody can tell.
  const only = (name: string): string | undefined => headers.get(name)?.join(', ')
  return {
    method,
    path,
    network,
    // HTTP/2 may carry them in several fields (RFC 9113 section 8.2.3).
    cookie: headers.get('cookie')?.join('; '),
    origin: only('origin'),
    contentType: only('content-type'),
    hasCredentials: headers.has('authorization'),
    isInPage: (only('sec-fetch-dest') ?? 'document') !== 'document',
    body: new Uint8Array(),
  }
}

export const isForm = ({ contentType }: RelayRequest): boolean =>
  /^application\/x-www-form-urlencoded *(?:;|$)/i.test(contentType ?? '')
