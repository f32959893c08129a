// Who is at the other end of a connection: may a private key go there (decision 32)?

import { isLocalHost } from './address.js'

export interface Peer {
  /** How it came. */
  readonly type: 'unix' | 'tcp'
  /** Its address, without a port; "" when it is gone already, or over a Unix socket. */
  readonly address: string
  /** It has shown a certificate of the authority that clients must have one of. */
  readonly hasCertificate: boolean
}

export interface PeerTrust {
  /** Loopback over TCP is private: true only where everything that connects from this machine belongs to its user. */
  readonly loopback: boolean
}

/** A Unix socket, a connection with a verified client certificate, or loopback where that is trusted. */
export const isPrivatePeer = (peer: Peer, trust: PeerTrust): boolean =>
  peer.hasCertificate || peer.type === 'unix' || (trust.loopback && isLocalHost(peer.address))
