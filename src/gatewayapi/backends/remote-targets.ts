// Where our own calls to an identity provider go: key sets, discovery documents, registration (decisions 10, 11, 12, 31).

import { createHash } from 'node:crypto'
import type { Endpoints, UpstreamTls } from '../../ir/destination.js'
import type { RemoteTarget, WantedDocument } from '../../ir/remote-target.js'
import { withoutSlashes } from '../../ir/slashes.js'
import type { Backend } from './backends.js'
import { endpointsOfHost } from './endpoints.js'

/** An issuer that is a URL; no URL class: it is compared and published as it is written. */
export interface IssuerUrl {
  readonly scheme: 'http' | 'https'
  readonly authority: string
  /** Without a slash at its end; "" for the root. */
  readonly path: string
}

/** undefined: not an http or https URL. */
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

/** Where we connect, and how. */
export interface BackendConnection {
  /** What is connected to, whatever its endpoints are just now: a Destination's name, or "issuer". */
  readonly via: string
  readonly endpoints: Endpoints
  readonly tls?: UpstreamTls
}

/** How the identity provider is reached. */
export interface Reach {
  readonly issuer: IssuerUrl
  readonly connection: BackendConnection
}

export const connectionToBackend = ({ destination, endpoints }: Backend): BackendConnection => ({
  via: destination.name,
  endpoints,
  ...(destination.tls === undefined ? {} : { tls: destination.tls }),
})

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

export function targetAt(
  { endpoints, tls }: BackendConnection,
  authority: string,
  path: string,
): RemoteTarget {
  const url = `${tls === undefined ? 'http' : 'https'}://${authority}${path}`
  return tls === undefined ? { url, endpoints } : { url, endpoints, tls }
}

/** The issuer's authority as Host, and its scheme as X-Forwarded-Proto where the connection has another (decision 10). */
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
 * The same kind, connection and URLs give the same id, whoever wants the document: endpoints and authorities that
 * change make it no other document, so that the last good one stays in use (decision 1).
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
