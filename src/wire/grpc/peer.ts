// The peer of a connection, and whether a private key may be sent to it (decision 32).

import { isLocalHost } from './address.js'

/** The other end of a connection. */
export interface Peer {
  /** How it is connected. */
  readonly type: 'unix' | 'tcp'
  /** Its IP address without a port; "" over a Unix socket, or if it is already gone. */
  readonly address: string
  /** Whether it has presented a certificate of the required client authority. */
  readonly hasCertificate: boolean
}

/** Which peers count as private. */
export interface PeerTrust {
  /** Whether loopback TCP is private: only if all local connections belong to the user of this process. */
  readonly loopback: boolean
}

/** Whether the peer uses a Unix socket, a verified client certificate, or trusted loopback. */
export const isPrivatePeer = (peer: Peer, trust: PeerTrust): boolean =>
  peer.hasCertificate || peer.type === 'unix' || (trust.loopback && isLocalHost(peer.address))

/** Whether the peer is known without a token: by its certificate, or because it uses a Unix socket. */
export const needsNoToken = ({ hasCertificate, type }: Peer): boolean =>
  hasCertificate || type === 'unix'
