// Where our own calls to an identity provider go: key sets, discovery documents, registration (decisions 10, 11, 12, 31).

import { createHash } from 'node:crypto'
import type { Endpoints, UpstreamTls } from '../ir/destination.js'
import type { RemoteTarget, WantedDocument } from '../ir/remote-target.js'
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
  const parts = /^(https?):\/\/([^/?#@\s]+)([^?#\s]*)$/.exec(issuer)
  if (parts === null || !URL.canParse(issuer)) return undefined
  const [, scheme, authority, path] = parts
  return {
    scheme: scheme === 'http' ? 'http' : 'https',
    authority: authority ?? '',
    path: (path ?? '').replace(/\/+$/, ''),
  }
}

/** Where we connect, and how. */
export interface Connection {
  readonly endpoints: Endpoints
  readonly tls?: UpstreamTls
}

export const connectionToBackend = ({ destination }: Backend): Connection => ({
  endpoints: destination.endpoints,
  ...(destination.tls === undefined ? {} : { tls: destination.tls }),
})

export function connectionToIssuer(issuer: IssuerUrl): Connection {
  const { hostname, port } = new URL(`${issuer.scheme}://${issuer.authority}`)
  const host = hostname.replace(/^\[|\]$/g, '')
  const isTls = issuer.scheme === 'https'
  const endpoints = endpointsOfHost(host, port === '' ? (isTls ? 443 : 80) : Number(port))
  return isTls
    ? { endpoints, tls: { hostname: host, subjectAltNames: [], authorities: 'System' } }
    : { endpoints }
}

export function targetAt(connection: Connection, authority: string, path: string): RemoteTarget {
  const scheme = connection.tls === undefined ? 'http' : 'https'
  return { url: `${scheme}://${authority}${path}`, ...connection }
}

/** The issuer's authority as Host, and its scheme as X-Forwarded-Proto where the connection has another (decision 10). */
export function targetOfIssuer(
  connection: Connection,
  issuer: IssuerUrl,
  path: string,
): RemoteTarget {
  const target = targetAt(connection, issuer.authority, path)
  const isTls = connection.tls !== undefined
  return isTls === (issuer.scheme === 'https')
    ? target
    : { ...target, forwardedProto: issuer.scheme }
}

/** The same kind and targets give the same id, whoever wants the document. */
export function wantedDocument(
  kind: WantedDocument['kind'],
  targets: readonly RemoteTarget[],
): WantedDocument {
  const hash = createHash('sha256').update(JSON.stringify(targets)).digest('hex').slice(0, 16)
  return { id: `${kind} ${targets[0]?.url ?? ''} ${hash}`, kind, targets }
}
