// Answers POST /explain, whose body describes the request to explain. Bodies are bounded because they are held whole,
// and never logged because they may contain a token.

import type { IncomingMessage } from 'node:http'
import { errorKind } from '../errors.js'
import type { Logger } from '../logger.js'
import type { Result } from '../result.js'
import { jsonAnswer, type PageAnswer, textAnswer } from './answer.js'

/** Explains a request. description: JSON text. error: what is wrong with it, or why nothing can be explained now. */
export type ExplainSource = (description: Buffer) => Promise<Result<object, string>>

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

/** Answers a POST. */
export type ExplainPage = (request: IncomingMessage) => Promise<PageAnswer>

export function createExplainPage(explain: ExplainSource, logger: Logger): ExplainPage {
  let running = 0
  return async (request) => {
    if (!/^application\/json\b/i.test(request.headers['content-type'] ?? ''))
      return textAnswer(415, 'expected the Content-Type application/json')
    if (running === AT_ONCE) return BUSY
    running += 1
    try {
      return await explained(request, explain)
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
  return explanation.ok ? jsonAnswer(200, explanation.value) : textAnswer(400, explanation.error)
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
