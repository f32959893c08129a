// Who is at the other end of a call: may a private key go there (decision 32)?

import { isLocalHost } from './address.js'

/** The part of a grpc-js call that says so. */
export interface Peer {
  getPeer(): string
  getAuthContext(): { readonly sslPeerCertificate?: unknown }
}

export interface PeerTrust {
  /** Loopback over TCP is private: true only where everything that connects from this machine belongs to its user. */
  readonly loopback: boolean
}

/** A Unix socket, a connection with a verified client certificate, or loopback where that is trusted. */
export const isPrivatePeer = (peer: Peer, trust: PeerTrust): boolean => {
  if (peer.getAuthContext().sslPeerCertificate !== undefined) return true
  const address = peer.getPeer()
  // grpc-js says "unknown" of a socket that has no remote address: a Unix socket's client.
  return address === 'unknown' || (trust.loopback && isLocalHost(address.replace(/:\d+$/, '')))
}
