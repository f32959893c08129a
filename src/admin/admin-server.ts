// Serves health, readiness, metrics, status, the config dump and the status page on the admin address, read-only, and
// explains requests.
// Rejects requests that a browser makes for another site and, where there is a token, pages requested without it.

import { createHash } from 'node:crypto'
import { unlink } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, isIP } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { LazyJson } from '../ir/json.js'
import type { Logger } from '../logger.js'
import { formatAddress, isLoopback, type ServerAddress } from '../settings/values.js'
import { nextTurn } from '../turns.js'
import { jsonAnswer, type PageAnswer, textAnswer } from './answer.js'
import { dumpText } from './dump-text.js'
import { createExplainPage, type ExplainPage, type ExplainSource } from './explain-page.js'
import { statusPage, STYLE } from './status-page.js'
import type { StatusReport } from './status-report.js'
import type { TokenFile } from './token-file.js'

/** Source of the pages; each is queried anew for every request. */
export interface AdminSource {
  status(): StatusReport
  readiness(): { readonly ready: boolean; readonly reasons: readonly string[] }
  /** Contains the unredacted model: the server redacts it. */
  configDump(): LazyJson
  metrics(): Promise<{ readonly contentType: string; readonly text: string }>
  readonly explain: ExplainSource
}

export interface AdminOptions {
  readonly address: ServerAddress
  readonly source: AdminSource
  readonly logger: Logger
  /** probes: health, readiness and metrics only. all: also the pages that show what is in resources. */
  readonly pages: 'probes' | 'all'
  /** Token required for all pages but the probes; absent: none. */
  readonly token?: TokenFile
}

export interface AdminServer {
  /** Address as bound, with the port that the system chose for port 0. */
  readonly address: string
  close(): Promise<void>
}

type Pages = Readonly<Record<string, (source: AdminSource) => PageAnswer | Promise<PageAnswer>>>

/** Pages for the kubelet and Prometheus, which have no token. */
const PROBES: Pages = {
  '/healthz': () => textAnswer(200, 'ok'),
  '/readyz'(source) {
    const { ready, reasons } = source.readiness()
    return ready ? textAnswer(200, 'ready') : textAnswer(503, `not ready: ${reasons.join('; ')}`)
  },
  async '/metrics'(source) {
    const { contentType, text: body } = await source.metrics()
    return { status: 200, type: contentType, body }
  },
}

/** Pages for people: they show what is in resources. */
const PRIVATE: Pages = {
  '/': (source) => ({
    status: 200,
    type: 'text/html; charset=utf-8',
    body: statusPage(source.status()),
  }),
  '/status': (source) => jsonAnswer(200, source.status()),
  '/config_dump': (source) => ({
    status: 200,
    type: 'application/json',
    body: dumpText(source.configDump()),
  }),
}

const ALL: Pages = { ...PROBES, ...PRIVATE }

/** Path to which clients POST the description of a request. */
const EXPLAIN = '/explain'

const POST_ONLY: PageAnswer = {
  ...textAnswer(405, 'POST only; see gatehouse help explain'),
  headers: { allow: 'POST' },
}

const MISSING_TOKEN: PageAnswer = {
  ...textAnswer(401, 'expected the token of --admin-token-file, e.g. curl --user :TOKEN'),
  headers: { 'www-authenticate': 'Basic realm="Gatehouse", charset="UTF-8"' },
}

/** Rejects with Node's listen error when the address cannot be bound. */
export async function startAdminServer(options: AdminOptions): Promise<AdminServer> {
  const { address, logger } = options
  const explain = createExplainPage(options.source.explain, logger)
  const server = createServer((request, response) => {
    answer(request, { ...options, explain })
      .catch((error: unknown) => {
        logger.error({ err: error, path: request.url }, 'an admin page failed')
        return textAnswer(500, 'internal error')
      })
      .then((reply) => send(request, response, reply))
      .catch((error: unknown) => logger.warn({ err: error }, 'an admin answer was not sent'))
  })
  await listen(server, address)
  return { address: boundAddress(server, address), close: () => close(server) }
}

async function answer(
  request: IncomingMessage,
  { address, source, pages, token, explain }: AdminOptions & { readonly explain: ExplainPage },
): Promise<PageAnswer> {
  const refusal = foreign(request, address)
  if (refusal !== undefined) return textAnswer(403, refusal)
  const [path = '/'] = (request.url ?? '/').split('?')
  const isExplain = pages === 'all' && path === EXPLAIN
  if (!(isExplain ? ['POST'] : ['GET', 'HEAD']).includes(request.method ?? ''))
    return isExplain ? POST_ONLY : textAnswer(405, 'GET or HEAD only')
  const served = pages === 'all' ? ALL : PROBES
  const page = Object.hasOwn(served, path) ? served[path] : undefined
  if (page === undefined && !isExplain)
    return textAnswer(404, `not found; there is ${Object.keys(served).join(' ')}`)
  if (token !== undefined && (isExplain || Object.hasOwn(PRIVATE, path))) {
    if (!(await token.isGiven(request.headers.authorization))) return MISSING_TOKEN
  }
  return page === undefined ? explain(request) : page(source)
}

/**
 * Returns why a request that a browser makes for another site is rejected. On loopback the Host must be local as well:
 * to the browser, a foreign name that resolves to 127.0.0.1 (DNS rebinding) would otherwise be same-origin.
 */
function foreign(request: IncomingMessage, address: ServerAddress): string | undefined {
  const { origin, host = '', 'sec-fetch-site': site } = request.headers
  if (site === 'cross-site' || site === 'same-site') return 'requests of other sites are refused'
  if (origin !== undefined && origin !== `http://${host}`)
    return 'requests of other origins are refused'
  const name = host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')
  const local = name === 'localhost' || isIP(name) !== 0
  return isLoopback(address) && !local
    ? 'expected the Host header to be localhost or an IP address'
    : undefined
}

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

async function send(
  request: IncomingMessage,
  response: ServerResponse,
  reply: PageAnswer,
): Promise<void> {
  const body = typeof reply.body === 'string' ? Buffer.from(reply.body) : reply.body
  response.writeHead(reply.status, {
    'content-type': reply.type,
    ...(Buffer.isBuffer(body) ? { 'content-length': body.length } : {}),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-origin',
    'content-security-policy': `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; img-src data:; frame-ancestors 'none'`,
    ...(reply.status === 405 ? { allow: 'GET, HEAD' } : {}),
    ...reply.headers,
  })
  if (request.method === 'HEAD') response.end()
  else if (Buffer.isBuffer(body)) response.end(body)
  else await pipeline(Readable.from(inTurns(body)), response)
}

async function* inTurns(pieces: Iterable<string>): AsyncGenerator<string> {
  for (const piece of pieces) {
    yield piece
    await nextTurn()
  }
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

/** Removes the socket of a process that has ended; a socket that is listened on stays. */
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
