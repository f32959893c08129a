// Serves health, readiness, metrics, status, the config dump and the status page with its live updates on the admin
// address, read-only, and explains requests.
// Rejects requests that a browser makes for another site and, where there is a token, pages requested without it.

import { createHash } from 'node:crypto'
import { readFile, unlink } from 'node:fs/promises'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, isIP } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Logger } from '../../kit/logger.js'
import { ownFile } from '../../kit/own-files.js'
import { nextTurn, runInTurns } from '../../kit/turns.js'
import type { Json, LazyJson } from '../../model/json.js'
import { formatAddress, isLoopback, type ServerAddress } from '../settings/values.js'
import { type PageAnswer, textAnswer } from './answer.js'
import { dumpText, jsonText } from './dump-text.js'
import { createExplainPage, type ExplainPage, type ExplainSource } from './explain-page.js'
import { LiveUpdates } from './live-updates.js'
import { readPageQuery } from './page/page-query.js'
import { STYLE } from './page/page-style.js'
import { pageSections, type PageState } from './page/page-view.js'
import { statusDocument } from './page/status-document.js'
import type { StatusReport } from './status-report.js'
import type { TokenFile } from './token-file.js'

/** Source of the pages; each is queried anew for every request. */
export interface AdminSource {
  status(): StatusReport | Promise<StatusReport>
  /** What the status page shows. address: of this server as bound. */
  page(address: string): Promise<PageState>
  readiness(): { readonly ready: boolean; readonly reasons: readonly string[] }
  /** Contains the unredacted model: the server redacts it. */
  configDump(): LazyJson
  metrics(): Promise<{ readonly contentType: string; readonly text: string }>
  readonly explain: ExplainSource
}

/** What the admin server is created with. */
export interface AdminOptions {
  readonly address: ServerAddress
  readonly source: AdminSource
  readonly logger: Logger
  /** probes: health, readiness and metrics only. all: also the pages that show what is in resources. */
  readonly pages: 'probes' | 'all'
  /** Token required for all pages but the probes; absent: none. */
  readonly token?: TokenFile
  /** How long a connection may stay without a byte in either direction; absent: half a minute. */
  readonly patienceMs?: number
}

/** The running admin server. */
export interface AdminServer {
  /** Address as bound, with the port that the system chose for port 0. */
  readonly address: string
  close(): Promise<void>
}

/** What pages are made of. */
interface PageContext {
  readonly source: AdminSource
  readonly live: LiveUpdates
  readonly state: () => Promise<PageState>
  /** The script of the status page. */
  readonly script: string
  /** The query of the request. */
  readonly query: string
}

type Pages = Readonly<Record<string, (context: PageContext) => PageAnswer | Promise<PageAnswer>>>

/** Pages for the kubelet and Prometheus, which have no token. */
const PROBES: Pages = {
  '/healthz': () => textAnswer(200, 'ok'),
  '/readyz'({ source }) {
    const { ready, reasons } = source.readiness()
    return ready ? textAnswer(200, 'ready') : textAnswer(503, `not ready: ${reasons.join('; ')}`)
  },
  async '/metrics'({ source }) {
    const { contentType, text: body } = await source.metrics()
    return { status: 200, type: contentType, body }
  },
}

/** Path of live updates, which bound their visitors themselves. */
const LIVE = '/events'

/** Pages for people: they show what is in resources. */
const PRIVATE: Pages = {
  async '/'({ state, script, query }) {
    const view = readPageQuery(query)
    const sections = await runInTurns(pageSections(await state(), view))
    return {
      status: 200,
      type: 'text/html; charset=utf-8',
      body: statusDocument(sections, view, script),
    }
  },
  [LIVE]: ({ live, query }) => live.answer(readPageQuery(query)),
  '/status': async ({ source }) => ({
    status: 200,
    type: 'application/json',
    body: jsonText((await source.status()) as unknown as Json),
  }),
  '/config_dump': ({ source }) => ({
    status: 200,
    type: 'application/json',
    body: dumpText(source.configDump()),
  }),
}

const ALL: Pages = { ...PROBES, ...PRIVATE }

/** Path of explanations, which clients also POST to. */
const EXPLAIN = '/explain'

const EXPLAIN_METHODS: PageAnswer = {
  ...textAnswer(405, 'GET, HEAD or POST only; see gatehouse help explain'),
  headers: { allow: 'GET, HEAD, POST' },
}

const MISSING_TOKEN: PageAnswer = {
  ...textAnswer(401, 'expected the token of --admin-token-file, e.g. curl --user :TOKEN'),
  headers: { 'www-authenticate': 'Basic realm="Gatehouse", charset="UTF-8"' },
}

/** Compiled from src/ops/status-client. */
const SCRIPT = ownFile('dist/status-client/status-client.js')

/** Rejects with Node's listen error when the address cannot be bound. */
export async function startAdminServer(options: AdminOptions): Promise<AdminServer> {
  const { address, logger, source } = options
  const script = options.pages === 'all' ? await readFile(SCRIPT, 'utf8') : ''
  const state = (): Promise<PageState> => source.page(boundAddress(server, address))
  const parts: AnswerParts = {
    ...options,
    script,
    explain: createExplainPage({
      explain: source.explain,
      logger,
      where: async () => (await state()).explain,
    }),
    state,
    live: new LiveUpdates({ state, logger }),
    readers: new Readers(),
  }
  const policy = contentSecurityPolicy(script)
  const server = createServer((request, response) => {
    answer(request, response, parts)
      .catch((error: unknown) => {
        logger.error({ err: error, path: request.url }, 'an admin page failed')
        return textAnswer(500, 'internal error')
      })
      .then((reply) => send(request, response, reply, policy))
      .catch((error: unknown) => logger.warn({ err: error }, 'an admin answer was not sent'))
  })
  endIdleConnections(server, options.patienceMs)
  await listen(server, address)
  return { address: boundAddress(server, address), close: () => close(server) }
}

interface AnswerParts extends AdminOptions, Omit<PageContext, 'query'> {
  readonly explain: ExplainPage
  readonly readers: Readers
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  parts: AnswerParts,
): Promise<PageAnswer> {
  const { pages, token, explain } = parts
  const [path = '/', query = ''] = (request.url ?? '/').split('?')
  const isExplain = pages === 'all' && path === EXPLAIN
  const isPrivate = isExplain || Object.hasOwn(PRIVATE, path)
  const refusal = foreign(request, isPrivate, parts)
  if (refusal !== undefined) return textAnswer(403, refusal)
  const isRead = ['GET', 'HEAD'].includes(request.method ?? '')
  if (!isRead && !(isExplain && request.method === 'POST'))
    return isExplain ? EXPLAIN_METHODS : textAnswer(405, 'GET or HEAD only')
  const served = pages === 'all' ? ALL : PROBES
  const page = Object.hasOwn(served, path) ? served[path] : undefined
  if (page === undefined && !isExplain)
    return textAnswer(404, `not found; there is ${Object.keys(served).join(' ')}`)
  if (token !== undefined && isPrivate) {
    if (!(await token.isGiven(request.headers.authorization))) return MISSING_TOKEN
  }
  if (isPrivate && path !== LIVE && !parts.readers.admit(response)) return TOO_MANY_READERS
  return page === undefined ? explain(request, query) : page({ ...parts, query })
}

/**
 * Returns why a request that a browser makes for another site is rejected. A foreign name that resolves to the admin
 * address (DNS rebinding) is same-origin to the browser, so only names that no attacker can own are allowed: on
 * loopback everywhere, elsewhere on pages that show resources and require no token.
 */
function foreign(
  request: IncomingMessage,
  isPrivate: boolean,
  { address, token }: AdminOptions,
): string | undefined {
  const { origin, host = '', 'sec-fetch-site': site } = request.headers
  if (site === 'cross-site' || site === 'same-site') return 'requests of other sites are refused'
  if (origin !== undefined && origin !== `http://${host}`)
    return 'requests of other origins are refused'
  if (isLocal(host)) return undefined
  if (isLoopback(address)) return 'expected the Host header to be localhost or an IP address'
  return isPrivate && token === undefined && address.type === 'tcp'
    ? 'expected the Host header to be localhost or an IP address; open the page by its address, or set --admin-token-file'
    : undefined
}

/** Whether the Host names no domain that can be registered: localhost, a name below it, or an IP address. */
function isLocal(host: string): boolean {
  const name = host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1')
  return /^(?:[\w.-]+\.)?localhost$/i.test(name) || isIP(name) !== 0
}

const hashOf = (text: string): string =>
  `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** Allows the style and script of the status page, requests to this server, and nothing else. */
const contentSecurityPolicy = (script: string): string =>
  [
    "default-src 'none'",
    `style-src ${hashOf(STYLE)}`,
    `script-src ${hashOf(script)}`,
    "connect-src 'self'",
    "form-action 'self'",
    'img-src data:',
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')

async function send(
  request: IncomingMessage,
  response: ServerResponse,
  reply: PageAnswer,
  policy: string,
): Promise<void> {
  const body = typeof reply.body === 'string' ? Buffer.from(reply.body) : reply.body
  response.writeHead(reply.status, {
    'content-type': reply.type,
    ...(Buffer.isBuffer(body) ? { 'content-length': body.length } : {}),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-origin',
    'content-security-policy': policy,
    ...(reply.status === 405 ? { allow: 'GET, HEAD' } : {}),
    ...reply.headers,
  })
  if (request.method === 'HEAD') response.end()
  else if (Buffer.isBuffer(body)) response.end(body)
  else if (typeof body === 'function') body(response)
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

// Bounds who reads a page at once: a page of thousands of resources is megabytes, which wait for as long as nobody reads
// them.

/** Maximum number of private pages that are made or sent at once, except for live updates. */
export const MAX_READERS = 16

/** How long a connection may stay without a byte in either direction. */
const READER_PATIENCE_MS = 30_000

/** Answer to one more reader. */
const TOO_MANY_READERS: PageAnswer = {
  ...textAnswer(503, `${MAX_READERS} pages are already being read`),
  headers: { 'retry-after': '1' },
}

/** Counts the readers of a server's pages. */
class Readers {
  #count = 0

  /** Admits the reader of an answer until its connection has all of it or ends. False: there are too many. */
  admit(response: ServerResponse): boolean {
    if (this.#count >= MAX_READERS) return false
    this.#count += 1
    response.once('close', () => {
      this.#count -= 1
    })
    return true
  }
}

/** Ends connections whose other side neither reads nor writes. */
function endIdleConnections(server: Server, patienceMs = READER_PATIENCE_MS): void {
  server.setTimeout(patienceMs, (socket) => {
    socket.destroy()
  })
}
