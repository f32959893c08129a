// The thread's part of a TLS connection: opens it for another thread, and passes its bytes on.

import { isIP } from 'node:net'
import type { Duplex } from 'node:stream'
import { connect, type TLSSocket } from 'node:tls'
import type { MessagePort } from 'node:worker_threads'
import type { Address, UpstreamTls } from '../../ir/destination.js'
import { checkCertificateNames } from './certificate-names.js'
import { ConnectionClosed, opened, openTcp } from './open-tcp.js'
import { PortStream } from './port-stream.js'
import { codeOf, RemoteError, type RemoteFailure } from './remote-failure.js'
import { TimedSocket } from './timed-socket.js'
import type { TlsContexts } from './tls-contexts.js'

/** A connection that another thread wants. */
export interface WantedTls {
  readonly address: Address
  readonly tls: UpstreamTls
  /** Timeout of the TCP connection, in milliseconds. */
  readonly timeoutMs: number
  /** Takes a TlsOutcome, and then the bytes of an open connection (PortStream). Closing it ends the connection. */
  readonly port: MessagePort
}

/** The first message about a connection. */
export type TlsOutcome = 'open' | RemoteFailure

/** What connections are opened with. */
export interface TlsDeps {
  readonly contexts: TlsContexts
  /** Called for a peer whose bytes have held this thread for long. */
  readonly onSlow: (peer: TlsPeer) => void
}

/** A server, as connections name it. */
export interface TlsPeer {
  readonly address: Address
  readonly hostname: string
}

/** Milliseconds for the bytes of one read, of which a usual chain of certificates takes 2. */
const SLOW_MS = 50

/** Opens a connection. Never rejects. */
export async function serveTls(wanted: WantedTls, deps: TlsDeps): Promise<void> {
  const { port, tls } = wanted
  const given = new AbortController()
  const onClose = (): void => given.abort()
  port.on('close', onClose)
  try {
    const secure = await openTls(wanted, deps, given.signal)
    port.off('close', onClose)
    if (given.signal.aborted) return void secure.destroy()
    port.postMessage('open' satisfies TlsOutcome)
    join(secure, new PortStream(port))
  } catch (error) {
    const failure: RemoteFailure =
      error instanceof RemoteError
        ? error.failure
        : { type: 'tls', hostname: tls.hostname, code: codeOf(error) }
    port.postMessage(failure satisfies TlsOutcome)
    port.close()
  }
}

/** Connects and does the handshake. Rejects with RemoteError (unreachable) or an error of TLS. */
async function openTls(
  { address, tls, timeoutMs }: WantedTls,
  { contexts, onSlow }: TlsDeps,
  signal: AbortSignal,
): Promise<TLSSocket> {
  const socket = new TimedSocket(await openTcp(address, timeoutMs, signal))
  try {
    const secureContext = contexts(tls.authorities)
    let isOpen = false
    socket.onRead = (ms) => {
      if (ms < SLOW_MS) return
      onSlow({ address, hostname: tls.hostname })
      if (isOpen) socket.destroy(new ConnectionClosed())
    }
    const secure = connect({
      socket,
      secureContext,
      // An IP address is not a server name (RFC 6066 section 3).
      ...(isIP(tls.hostname) === 0 ? { servername: tls.hostname } : {}),
      checkServerIdentity: (_host, certificate) => checkCertificateNames(tls, certificate),
      ALPNProtocols: ['http/1.1'],
      rejectUnauthorized: true,
    })
    await opened(secure, 'secureConnect', signal)
    // It may have closed before this turn.
    if (secure.destroyed) throw new ConnectionClosed()
    isOpen = true
    return secure
  } catch (error) {
    socket.destroy()
    throw error
  }
}

/** Passes bytes on in both directions, until one of the two ends. */
function join(one: Duplex, other: Duplex): void {
  passOn(one, other)
  passOn(other, one)
}

function passOn(from: Duplex, to: Duplex): void {
  from.pipe(to)
  from.on('error', (error) => to.destroy(error))
  from.on('close', () => {
    if (!from.readableEnded) to.destroy()
  })
}
