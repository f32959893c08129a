// Builds the targets of Gatehouse's calls to an identity provider: key sets, discovery documents, registration
// (decisions 10, 11, 12, 31).

import { createHash } from 'node:crypto'
import type { Endpoints, UpstreamTls } from '../../../model/destination.js'
import type { RemoteTarget, WantedDocument } from '../../../model/remote-target.js'
import { withoutSlashes } from '../../../model/slashes.js'
import type { Backend } from './backends.js'
import { endpointsOfHost } from './endpoints.js'

/** The parts of an issuer that is a URL. They keep its text, as it is compared and published unchanged. */
export interface IssuerUrl {
  readonly scheme: 'http' | 'https'
  readonly authority: string
  /** Path without a trailing slash; "" for the root. */
  readonly path: string
}

/** Returns undefined if the issuer is not an http or https URL. */
export function parseIssuer(issuer: string): IssuerUrl | undefined {
  const parts = /^(https?):\/\/([^/?#@\s]+)((?:\/[^?#\s]*)?)$/.exec(issuer)
  if (parts === null || !URL.canParse(issuer)) return undefined
  const [, scheme, authority, path] = parts
  return {
    scheme: scheme === 'http' ? 'http' : 'https',
    authority: authority ?? '',
    path: withoutSlashes(path ?? ''),
  }
}

/** How Gatehouse connects to a host. */
export interface BackendConnection {
  /** Identifies the peer independent of its current endpoints: a Destination's name, or "issuer". */
  readonly via: string
  readonly endpoints: Endpoints
  readonly tls?: UpstreamTls
}

/** An identity provider and the connection to it. */
export interface Reach {
  readonly issuer: IssuerUrl
  readonly connection: BackendConnection
}

/** Returns the connection to a backend. */
export const connectionToBackend = ({ destination, endpoints }: Backend): BackendConnection => ({
  via: destination.name,
  endpoints,
  ...(destination.tls === undefined ? {} : { tls: destination.tls }),
})

/** Returns the connection straight to an issuer. */
export function connectionToIssuer(issuer: IssuerUrl): BackendConnection {
  const { hostname, port } = new URL(`${issuer.scheme}://${issuer.authority}`)
  const host = hostname.replace(/^\[|\]$/g, '')
  const isTls = issuer.scheme === 'https'
  const endpoints = endpointsOfHost(host, port === '' ? (isTls ? 443 : 80) : Number(port))
  return isTls
    ? {
        via: 'issuer',
        endpoints,
        tls: { hostname: host, subjectAltNames: [], authorities: 'System' },
      }
    : { via: 'issuer', endpoints }
}

/** Whether a provider whose URL says https is called without TLS: no BackendTLSPolicy targets its backend. */
export const isPlainInPlace = (
  { scheme }: Pick<IssuerUrl, 'scheme'>,
  { tls }: BackendConnection,
): boolean => scheme === 'https' && tls === undefined

/** Returns the target of a call over a connection. */
export function targetAt(
  { endpoints, tls }: BackendConnection,
  authority: string,
  path: string,
): RemoteTarget {
  const url = `${tls === undefined ? 'http' : 'https'}://${authority}${path}`
  return tls === undefined ? { url, endpoints } : { url, endpoints, tls }
}

/** Sets Host to the issuer's authority; X-Forwarded-Proto to its scheme if the connection's differs (decision 10). */
export function targetOfIssuer(
  connection: BackendConnection,
  issuer: IssuerUrl,
  path: string,
): RemoteTarget {
  const target = targetAt(connection, issuer.authority, path)
  const isTls = connection.tls !== undefined
  return isTls === (issuer.scheme === 'https')
    ? target
    : { ...target, forwardedProto: issuer.scheme }
}

/**
 * Returns a document whose id depends only on kind, connection and URLs. A change of endpoints or authorities does not
 * make it another document, so the last good one stays in use (decision 1); for other authorities it is fetched at once.
 */
export function wantedDocument(
  kind: WantedDocument['kind'],
  { via }: BackendConnection,
  targets: readonly RemoteTarget[],
): WantedDocument {
  const identity = targets.map(({ url, tls, forwardedProto }) => [
    url,
    tls?.hostname,
    tls?.subjectAltNames,
    forwardedProto,
  ])
  const hash = createHash('sha256')
    .update(JSON.stringify([via, identity]))
    .digest('hex')
  return { id: `${kind} ${targets[0]?.url ?? ''} ${hash.slice(0, 16)}`, kind, targets }
}
