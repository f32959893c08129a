// HTTP GET on the admin address → health, readiness, metrics, status, config dump and the status page.
// Reads only; refuses what a browser asks for on behalf of another site.

import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { unlink } from 'node:fs/promises'
import { connect, isIP, type AddressInfo } from 'node:net'
import type { Json } from '../ir/json.js'
import type { Logger } from '../logger.js'
import { formatAddress, type ServerAddress } from '../settings/values.js'
import { redact } from './redact.js'
import { STYLE, statusPage } from './status-page.js'
import type { StatusReport } from './status-report.js'

/** What the server shows; each is asked anew per request. */
export interface AdminSource {
  status(): StatusReport
  readiness(): { readonly ready: boolean; readonly reasons: readonly string[] }
  /** Unredacted: the server redacts it. */
  configDump(): Json
  metrics(): Promise<{ readonly contentType: string; readonly text: string }>
}

export interface AdminServer {
  /** As bound: with the port that the system chose for port 0. */
  readonly address: string
  close(): Promise<void>
}

interface Answer {
  readonly status: number
  readonly type: string
  readonly body: string
}

const text = (status: number, body: string): Answer => ({
  status,
  type: 'text/plain; charset=utf-8',
  body: `${body}\n`,
})

const json = (status: number, body: unknown): Answer => ({
  status,
  type: 'application/json',
  body: `${JSON.stringify(body, null, 2)}\n`,
})

const PAGES: Readonly<Record<string, (source: AdminSource) => Answer | Promise<Answer>>> = {
  '/': (source) => ({
    status: 200,
    type: 'text/html; charset=utf-8',
    body: statusPage(source.status()),
  }),
  '/healthz': () => text(200, 'ok'),
  '/readyz'(source) {
    const { ready, reasons } = source.readiness()
    return ready ? text(200, 'ready') : text(503, `not ready: ${reasons.join('; ')}`)
  },
  '/status': (source) => json(200, source.status()),
  '/config_dump': (source) => json(200, redact(source.configDump())),
  async '/metrics'(source) {
    const { contentType, text: body } = await source.metrics()
    return { status: 200, type: contentType, body }
  },
}

/** Throws (Node's listen error) when the address cannot be bound. */
export async function startAdminServer(
  address: ServerAddress,
  source: AdminSource,
  logger: Logger,
): Promise<AdminServer> {
  const server = createServer((request, response) => {
    answer(request, address, source)
      .catch((error: unknown) => {
        logger.error({ err: error, path: request.url }, 'an admin page failed')
        return text(500, 'internal error')
      })
      .then((reply) => send(request, response, reply))
      .catch((error: unknown) => logger.warn({ err: error }, 'an admin answer was not sent'))
  })
  await listen(server, address)
  return { address: boundAddress(server, address), close: () => close(server) }
}

async function answer(
  request: IncomingMessage,
  address: ServerAddress,
  source: AdminSource,
): Promise<Answer> {
  const refusal = foreign(request, address)
  if (refusal !== undefined) return text(403, refusal)
  if (request.method !== 'GET' && request.method !== 'HEAD') return text(405, 'GET or HEAD only')
  const [path = '/'] = (request.url ?? '/').split('?')
  const page = Object.hasOwn(PAGES, path) ? PAGES[path] : undefined
  return page === undefined
    ? text(404, `not found; there is ${Object.keys(PAGES).join(' ')}`)
    : page(source)
}

/**
 * Why a request is refused that a browser makes for another site. On loopback the Host must be ours as well: a
 * foreign name that resolves to 127.0.0.1 (DNS rebinding) would otherwise be same-origin to the browser.
 */
function foreign(request: IncomingMessage, address: ServerAddress): string | undefined {
  const { origin, host = '', 'sec-fetch-site': site } = request.headers
  if (site === 'cross-site' || site === 'same-site') return 'requests of other sites are refused'
  if (origin !== undefined && origin !== `http://${host}`)
    return 'requests of other origins are refused'
  const name = host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')
  const local = name === 'localhost' || isIP(name) !== 0
  const isLoopback = address.type === 'tcp' && /^(127\.|::1$|localhost$)/.test(address.host)
  return isLoopback && !local
    ? 'expected the Host header to be localhost or an IP address'
    : undefined
}

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

function send(request: IncomingMessage, response: ServerResponse, reply: Answer): void {
  const body = Buffer.from(reply.body)
  response.writeHead(reply.status, {
    'content-type': reply.type,
    'content-length': body.length,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-origin',
    'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; img-src data:; frame-ancestors 'none'`,
    ...(reply.status === 405 ? { allow: 'GET, HEAD' } : {}),
  })
  response.end(request.method === 'HEAD' ? undefined : body)
}

async function listen(server: Server, address: ServerAddress): Promise<void> {
  if (address.type === 'unix') await removeDeadSocket(address.path)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    const listening = (): void => resolve()
    if (address.type === 'unix') server.listen(address.path, listening)
    else server.listen(address.port, address.host, listening)
  })
}

/** What a process that is gone left behind; one that somebody listens on stays, and is in use. */
async function removeDeadSocket(path: string): Promise<void> {
  const isDead = await new Promise<boolean>((resolve) => {
    const socket = connect(path, () => {
      socket.destroy()
      resolve(false)
    })
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code === 'ECONNREFUSED'))
  })
  if (isDead) await unlink(path)
}

function boundAddress(server: Server, address: ServerAddress): string {
  if (address.type === 'unix') return formatAddress(address)
  return formatAddress({ ...address, port: (server.address() as AddressInfo).port })
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
