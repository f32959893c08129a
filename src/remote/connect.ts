// One connection to a target: TCP to the first of its addresses that answers, then TLS as its BackendTLSPolicy says.

import { connect as connectTcp, isIP, type Socket } from 'node:net'
import {
  connect as connectTls,
  createSecureContext,
  type SecureContext,
  type TLSSocket,
} from 'node:tls'
import { GatehouseError } from '../errors.js'
import type { Address, UpstreamTls } from '../ir/destination.js'
import type { RemoteTarget } from '../ir/remote-target.js'
import { checkCertificateNames } from './certificate-names.js'
import { codeOf, RemoteError } from './remote-failure.js'
import { resolveEndpoints, type Resolving } from './resolve.js'

const MIN_ATTEMPT_MS = 250
/** After so long without a byte TCP asks the peer whether it is there. */
const QUIET_MS = 30_000

/** Rejects with RemoteError; when signal aborts, no socket is left behind. timeoutMs is shared by the addresses. */
export async function connectTarget(
  target: RemoteTarget,
  deps: Resolving & { readonly systemAuthorities: () => SecureContext },
  limits: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<Socket> {
  const addresses = await resolveEndpoints(target.endpoints, deps)
  const attemptMs = Math.max(MIN_ATTEMPT_MS, limits.timeoutMs / addresses.length)
  let last = new RemoteError({ type: 'aborted' })
  for (const address of addresses) {
    if (limits.signal.aborted) break
    try {
      const socket = await openTcp(address, attemptMs, limits.signal)
      return target.tls === undefined
        ? socket
        : await openTls(socket, target.tls, secureContext(target.tls, deps), limits.signal)
    } catch (error) {
      if (!(error instanceof RemoteError)) throw error
      last = error
      // A certificate is as wrong on the next address; only a connection that was not made is worth another try.
      if (error.failure.type === 'tls') break
    }
  }
  throw last
}

async function openTcp(address: Address, timeoutMs: number, signal: AbortSignal): Promise<Socket> {
  const socket = connectTcp({
    host: address.ip,
    port: address.port,
    noDelay: true,
    // A call may have no deadline: a peer that is gone without a word must be found out all the same.
    keepAlive: true,
    keepAliveInitialDelay: QUIET_MS,
  })
  const timer = setTimeout(() => socket.destroy(new AttemptTimeout()), timeoutMs)
  try {
    await opened(socket, 'connect', signal)
    return socket
  } catch (error) {
    const shown = isIP(address.ip) === 6 ? `[${address.ip}]` : address.ip
    throw new RemoteError({
      type: 'unreachable',
      address: `${shown}:${address.port}`,
      code: codeOf(error),
    })
  } finally {
    clearTimeout(timer)
  }
}

class AttemptTimeout extends GatehouseError {
  readonly code = 'ETIMEDOUT'
}

/** Made inside openTls, where an authority that is no certificate becomes a failure of the call. */
const secureContext =
  ({ authorities }: UpstreamTls, deps: { readonly systemAuthorities: () => SecureContext }) =>
  (): SecureContext =>
    authorities === 'System'
      ? deps.systemAuthorities()
      : createSecureContext({ ca: authorities.pem })

async function openTls(
  socket: Socket,
  tls: UpstreamTls,
  context: () => SecureContext,
  signal: AbortSignal,
): Promise<TLSSocket> {
  try {
    const secure = connectTls({
      socket,
      secureContext: context(),
      // RFC 6066 section 3: an IP address is no server name.
      ...(isIP(tls.hostname) === 0 ? { servername: tls.hostname } : {}),
      checkServerIdentity: (_host, certificate) => checkCertificateNames(tls, certificate),
      ALPNProtocols: ['http/1.1'],
      rejectUnauthorized: true,
    })
    await opened(secure, 'secureConnect', signal)
    return secure
  } catch (error) {
    socket.destroy()
    throw new RemoteError({ type: 'tls', hostname: tls.hostname, code: codeOf(error) })
  }
}

/** Resolves at the event; rejects, with the socket destroyed, when it fails, closes or the signal aborts before. */
const opened = (socket: Socket, event: string, signal: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const settle = (error?: Error) => {
      signal.removeEventListener('abort', onAbort)
      socket.off(event, onOpen).off('close', onClose)
      if (error === undefined) {
        socket.off('error', settle)
        resolve()
        return
      }
      // The error listener stays: a socket that fails again while it is destroyed must not end the process.
      socket.destroy()
      reject(error)
    }
    const onOpen = () => settle()
    const onClose = () => settle(new ConnectionClosed())
    const onAbort = () => settle(new ConnectionClosed())
    socket.on(event, onOpen).on('close', onClose).on('error', settle)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort)
  })

class ConnectionClosed extends GatehouseError {
  readonly code = 'ECONNRESET'
}
