// An HTTP resource of another party that we call ourselves: key sets, discovery documents, registration.

import type { Endpoints, UpstreamTls } from './destination.js'
import type { JsonObject } from './json.js'

/** An HTTP endpoint that Gatehouse itself calls: a key set, a discovery document, a registration, a webhook. */
export interface RemoteTarget {
  /** What we ask for, as messages show it: scheme, authority (the Host header) and path. Never built from a request. */
  readonly url: string
  /** Where we connect: the backendRef's endpoints, or the URL's own host. */
  readonly endpoints: Endpoints
  /** Absent: plain HTTP. */
  readonly tls?: UpstreamTls
  /** Sent as X-Forwarded-Proto when the connection's scheme is not the issuer's (decision 10). */
  readonly forwardedProto?: 'http' | 'https'
}

/** A document that the translation needs; asked for by translate(), fetched and kept fresh by remote/. */
export interface WantedDocument {
  /** Opaque; the same kind and targets have the same id. */
  readonly id: string
  readonly kind: 'KeySet' | 'Discovery'
  /** Tried in this order until one answers with a document (RFC 8414 path, then OpenID's). */
  readonly targets: readonly RemoteTarget[]
}

/** What remote/ knows of one wanted document. Replaced whole, never mutated. */
export interface RemoteDocument {
  /** The last good one; absent: never fetched. */
  readonly document?: JsonObject
  /** Whether pages of every origin may read it (CORS); of a key set nobody asks. */
  readonly isOpenToPages?: boolean
  /** Milliseconds since the epoch, of the last success. */
  readonly fetchedAt?: number
  /** Why the last attempt failed, without any content of the answer; absent: it did not. */
  readonly error?: string
}

/** By WantedDocument.id. */
export type RemoteState = ReadonlyMap<string, RemoteDocument>
