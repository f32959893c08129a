// What a relay reads from a request, and the context in which it answers.

import type { Vault } from '../../../extauthz/oauth/vault.js'
import type { HeadersPart } from '../../../extproc/session/process-message.js'
import type { Result } from '../../../kit/result.js'
import type { Relay } from '../../../model/relay.js'
import type { Client } from '../oauth/client.js'
import type { BoundedRequest } from './bounds.js'
import type { KnownClient } from './clients.js'

/** The fields of a request that a relay reads. */
export interface RelayRequest {
  readonly method: string
  /** Path with the query. */
  readonly path: string
  readonly cookie?: string | undefined
  readonly origin?: string | undefined
  readonly contentType?: string | undefined
  /** Authorization, with which no client of a relay identifies itself. */
  readonly credentials?: string | undefined
  /** Result of networkOf() for the client's address; "": unknown. */
  readonly network: string
  /** Whether Sec-Fetch-Dest names something other than a window, e.g. a script or a frame; false if it is not sent. */
  readonly isInPage: boolean
  /** The whole body; empty before it has arrived. */
  readonly body: Uint8Array
}

/** One relay, ready for requests. */
export interface RelayContext {
  readonly relay: Relay
  readonly vault: Vault
  /** The gateway's origin. */
  readonly origin: string
  /** Whether cookies are restricted to https; otherwise the gateway is on loopback. */
  readonly isSecure: boolean
  readonly paths: { readonly callback: string }
  /** Milliseconds since the epoch. */
  now(): number
  random(size: number): Uint8Array
  /** Finds a client. error: a sentence for a person. */
  client(id: string, signal: AbortSignal): Promise<Result<Client, string>>
  /** Returns the client if it may still use its grants; its document is not fetched again for that. */
  known(id: string): KnownClient | undefined
  callProvider: CallProvider
  /** Whether the client's network may make this request now; counts it if so. */
  mayAsk(request: BoundedRequest, network: string): boolean
}

/**
 * Calls the token endpoint. form: the parameters of the grant; the relay's client credentials are added. error: why
 * there is no answer.
 */
export type CallProvider = (
  form: Readonly<Record<string, string>>,
  signal: AbortSignal,
) => Promise<Result<ProviderAnswer, 'busy' | 'failed'>>

/** The answer of the provider's token endpoint. */
export interface ProviderAnswer {
  readonly status: number
  readonly body: Uint8Array
}

/** Reads the fields from the headers of a request. */
export function relayRequest(
  { method, path, network }: Pick<RelayRequest, 'method' | 'path' | 'network'>,
  { headers }: HeadersPart,
): RelayRequest {
  // A repeated header is joined into an invalid value, because nobody can tell which of the two counts.
  const only = (name: string): string | undefined => headers.get(name)?.join(', ')
  return {
    method,
    path,
    network,
    // HTTP/2 may split cookies into several fields (RFC 9113 section 8.2.3).
    cookie: headers.get('cookie')?.join('; '),
    origin: only('origin'),
    contentType: only('content-type'),
    credentials: only('authorization'),
    isInPage: (only('sec-fetch-dest') ?? 'document') !== 'document',
    body: new Uint8Array(),
  }
}

/** Whether the content type is that of an HTML form. */
export const isForm = ({ contentType }: RelayRequest): boolean =>
  /^application\/x-www-form-urlencoded *(?:;|$)/i.test(contentType ?? '')
