// Who is at the other end of a call: may a private key go there (decision 32)?

import { isLocalHost } from './address.js'

/** The part of a grpc-js call that says so. */
export interface Peer {
  getPeer(): string
  getAuthContext(): { readonly sslPeerCertificate?: unknown }
}

/** A Unix socket, loopback, or a connection with a verified client certificate. */
export const isPrivatePeer = (peer: Peer): boolean => {
  if (peer.getAuthContext().sslPeerCertificate !== undefined) return true
  const address = peer.getPeer()
  // grpc-js says "unknown" of a socket that has no remote address: a Unix socket's client.
  return address === 'unknown' || isLocalHost(address.replace(/:\d+$/, ''))
}
