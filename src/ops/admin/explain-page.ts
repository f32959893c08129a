// Answers POST /explain, whose body describes the request to explain, and GET /explain, a page for people. Bodies are
// bounded because they are held whole, and never logged because they may contain a token.

import type { IncomingMessage } from 'node:http'
import { errorKind } from '../../kit/errors.js'
import type { Logger } from '../../kit/logger.js'
import type { Result } from '../../kit/result.js'
import { jsonAnswer, type PageAnswer, textAnswer } from './answer.js'
import { explainDocument, type ExplainedAs } from './page/explain-document.js'
import type { ExplainWhere } from './page/explain-link.js'

/** An explanation. */
export interface ExplainedRequest {
  /** For programs. */
  readonly json: object
  /** For people. */
  readonly text: string
}

/** Explains a request. description: JSON text. error: what is wrong with it, or why nothing can be explained now. */
export type ExplainSource = (description: Buffer) => Promise<Result<ExplainedRequest, string>>

/** Maximum size of a description in bytes, and how long it may take to arrive. */
const MAX_BYTES = 1024 * 1024
const MAX_MS = 10_000
/** Maximum number of descriptions that are read and explained at once. */
const AT_ONCE = 4

const BUSY: PageAnswer = {
  ...textAnswer(503, 'other requests are being explained'),
  headers: { 'retry-after': '1' },
}
const TOO_LARGE = textAnswer(
  413,
  'the description is larger than 1 MiB; gatehouse explain --resources has no such limit',
)

/** Answers a POST, or a GET with its query. */
export type ExplainPage = (request: IncomingMessage, query: string) => Promise<PageAnswer>

/** What the page is created with. */
export interface ExplainPageOptions {
  readonly explain: ExplainSource
  readonly logger: Logger
  readonly where: () => Promise<ExplainWhere>
}

/** Creates the page, which explains a few requests at once and turns more away. */
export function createExplainPage({ explain, logger, where }: ExplainPageOptions): ExplainPage {
  let running = 0
  return async (request, query) => {
    const isPost = request.method === 'POST'
    if (isPost && !/^application\/json\b/i.test(request.headers['content-type'] ?? ''))
      return textAnswer(415, 'expected the Content-Type application/json')
    if (running === AT_ONCE) return BUSY
    running += 1
    try {
      return await (isPost ? explained(request, explain) : explainedPage(query, explain, where))
    } catch (error) {
      logger.error({ error: errorKind(error) }, 'a request could not be explained')
      return textAnswer(500, 'internal error')
    } finally {
      running -= 1
    }
  }
}

async function explained(request: IncomingMessage, explain: ExplainSource): Promise<PageAnswer> {
  const description = await read(request)
  if (description === 'too large') return TOO_LARGE
  if (description === 'broken off') return textAnswer(400, 'the description broke off')
  const explanation = await explain(description)
  return explanation.ok
    ? jsonAnswer(200, explanation.value.json)
    : textAnswer(400, explanation.error)
}

const MAX_REQUEST = 4096

async function explainedPage(
  query: string,
  explain: ExplainSource,
  where: ExplainPageOptions['where'],
): Promise<PageAnswer> {
  const request = (new URLSearchParams(query).get('request') ?? '').slice(0, MAX_REQUEST).trim()
  const outcome = await outcomeOf(request, explain)
  return {
    status: outcome.type === 'problem' ? 400 : 200,
    type: 'text/html; charset=utf-8',
    body: explainDocument(request, outcome, await where()),
  }
}

async function outcomeOf(request: string, explain: ExplainSource): Promise<ExplainedAs> {
  if (request === '') return { type: 'none' }
  const explanation = await explain(Buffer.from(JSON.stringify({ request })))
  return explanation.ok
    ? { type: 'text', text: explanation.value.text }
    : { type: 'problem', problem: explanation.error }
}

const read = (request: IncomingMessage): Promise<Buffer | 'too large' | 'broken off'> =>
  new Promise((resolve) => {
    const pieces: Buffer[] = []
    let length = 0
    const end = (result: Buffer | 'too large' | 'broken off'): void => {
      clearTimeout(timer)
      resolve(result)
    }
    const timer = setTimeout(() => end('broken off'), MAX_MS)
    request.on('data', (piece: Buffer) => {
      length += piece.length
      if (length <= MAX_BYTES) pieces.push(piece)
      else end('too large')
    })
    request.on('end', () => end(Buffer.concat(pieces)))
    request.on('close', () => end('broken off'))
    request.on('error', () => end('broken off'))
  })
