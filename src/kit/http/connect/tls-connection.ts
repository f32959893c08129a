// The thread's part of a TLS connection: opens it for another thread, and passes its bytes on.

import { isIP, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { checkServerIdentity, connect, type PeerCertificate, type TLSSocket } from 'node:tls'
import type { MessagePort } from 'node:worker_threads'
import type { Address, UpstreamTls } from '../../../model/destination.js'
import { GatehouseError } from '../../errors.js'
import { ConnectionClosed, opened, openTcp } from './open-tcp.js'
import { PortStream } from './port-stream.js'
import { codeOf, RemoteError, type RemoteFailure } from './remote-failure.js'
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

// Checks the names in a peer's certificate against a BackendTLSPolicy: its hostname, or any of the subjectAltNames.

/** Returns undefined if the certificate matches, otherwise an error for tls.connect. Does not throw. */
export function checkCertificateNames(
  tls: UpstreamTls,
  certificate: PeerCertificate,
): Error | undefined {
  try {
    return checkNames(tls, certificate)
  } catch {
    return new CertificateNameError()
  }
}

function checkNames(tls: UpstreamTls, certificate: PeerCertificate): Error | undefined {
  if (tls.subjectAltNames.length === 0) return checkServerIdentity(tls.hostname, certificate)
  const uris = certificateUris(certificate.subjectaltname ?? '')
  const fits = tls.subjectAltNames.some(({ type, value }) =>
    type === 'URI' ? uris.includes(value) : checkServerIdentity(value, certificate) === undefined,
  )
  return fits ? undefined : new CertificateNameError()
}

class CertificateNameError extends GatehouseError {
  readonly code = 'ERR_TLS_CERT_ALTNAME_INVALID'

  constructor() {
    super('the certificate carries none of the expected names')
  }
}

/** Parses Node's "DNS:a, URI:b", in which a value with a comma or a quote is a JSON string. */
const certificateUris = (subjectAltName: string): string[] =>
  [...subjectAltName.matchAll(/(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,"]*)/gy)]
    .filter(([, type]) => type === 'URI')
    .map(([, , value = '']) => (value.startsWith('"') ? (JSON.parse(value) as string) : value))

// A TCP socket that notices when what reads from it takes long for one piece of bytes.

/** Passes the bytes of a socket on, and measures how long their reader takes. */
class TimedSocket extends Duplex {
  readonly #socket: Socket
  /** Called with the milliseconds that the reader took for the bytes of one read. */
  onRead: (ms: number) => void = () => undefined

  constructor(socket: Socket) {
    super()
    this.#socket = socket
    socket.on('data', (bytes) => {
      const begun = performance.now()
      if (!this.push(bytes)) socket.pause()
      this.onRead(performance.now() - begun)
    })
    socket.on('end', () => this.push(null))
    socket.on('error', (error) => this.destroy(error))
    socket.on('close', () => {
      // What came before its end is still read.
      if (!socket.readableEnded) this.destroy()
    })
    socket.pause()
  }

  override _read(): void {
    this.#socket.resume()
  }

  override _write(chunk: Uint8Array, _encoding: string, callback: (error?: Error | null) => void) {
    this.#socket.write(chunk, callback)
  }

  override _final(callback: () => void): void {
    this.#socket.end(callback)
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#socket.destroy()
    callback(error)
  }
}
