// Types for HTTP resources that Gatehouse itself calls, and for the documents it fetches.

import type { Endpoints, UpstreamTls } from './destination.js'
import type { JsonObject } from './json.js'

/** An HTTP endpoint that Gatehouse itself calls: a key set, a discovery document, a registration, a webhook. */
export interface RemoteTarget {
  /** The requested URL, as in messages: scheme, authority (the Host header) and path. Never built from a request. */
  readonly url: string
  /** Where Gatehouse connects: the backendRef's endpoints, or the URL's own host. */
  readonly endpoints: Endpoints
  /** Absent: plain HTTP. */
  readonly tls?: UpstreamTls
  /** Sent as X-Forwarded-Proto if the connection's scheme is not the issuer's (decision 10). */
  readonly forwardedProto?: 'http' | 'https'
}

/** A document that the translation needs: requested by translate(), fetched and kept fresh by remote/. */
export interface WantedDocument {
  /** Opaque; equal for the same kind, connection and URLs. */
  readonly id: string
  readonly kind: 'KeySet' | 'Discovery'
  /** Tried in this order until one answers with a document (RFC 8414 path, then OpenID's). */
  readonly targets: readonly RemoteTarget[]
}

/** The state of one wanted document in remote/. Replaced whole, never mutated. */
export interface RemoteDocument {
  /** The last good one; absent: never fetched. */
  readonly document?: JsonObject
  /** Whether pages of every origin may read it (CORS); not used for key sets. */
  readonly isOpenToPages?: boolean
  /** Time of the last success, in milliseconds since the epoch. */
  readonly fetchedAt?: number
  /** Time of the last attempt that failed, in milliseconds since the epoch; absent: none has. */
  readonly failedAt?: number
  /** Why the last attempt failed, without any content of the answer; absent: it succeeded. */
  readonly error?: string
}

/** Documents by WantedDocument.id. */
export type RemoteState = ReadonlyMap<string, RemoteDocument>
