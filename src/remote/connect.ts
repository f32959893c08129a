// Connects to a target: TCP to the first address that answers, then TLS as configured by its BackendTLSPolicy.

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
/** Idle time after which TCP sends a keepalive probe. */
const QUIET_MS = 30_000

/** Connects, or rejects with RemoteError. An abort leaves no socket behind. timeoutMs is shared by the addresses. */
export async function connectTarget(
  target: RemoteTarget,
  deps: Resolving & { readonly systemAuthorities: () => SecureContext },
  limits: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<Socket> {
  const addresses = await resolveEndpoints(target.endpoints, deps, limits.signal)
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
      // TLS would fail on the next address as well; only a failed connection is worth another attempt.
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
    // A call may have no deadline, so a peer that vanished must be detected by keepalive.
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

/** Returns a function for openTls(), where an invalid authority becomes a failure of the call. */
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
      // An IP address is not a server name (RFC 6066 section 3).
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

/** Resolves at the event. Destroys the socket and rejects if it fails or closes, or the signal aborts, before. */
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
      // The error listener stays: another error while the socket is destroyed must not end the process.
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
