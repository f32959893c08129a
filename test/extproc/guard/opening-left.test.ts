// The client leaves while Gatehouse looks whether a compressed reply is a stream: nothing is begun, sent or held.

import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { createResponseGuard } from '../../../src/extproc/guard/response-guard.js'
import { createHeldBytes } from '../../../src/extproc/session/held-bytes.js'
import { compileGuard } from '../../../src/extproc/webhook/compiled-guard.js'
import { OwnEnding } from '../../../src/kit/ending.js'
import { guardEntry, guardrails, webhook } from '../support/guards.js'
import { silent } from '../support/stream.js'

const PATH = '/v1beta/models/m:streamGenerateContent'
const HEADERS = new Map([
  [':status', ['200']],
  ['content-type', ['application/json']],
  ['content-encoding', ['gzip']],
])
const FIRST = { config: { requestBodyMode: 4, responseBodyMode: 4 } }
const REPLY = { candidates: [{ content: { role: 'model', parts: [{ text: 'Hello.' }] } }] }

interface Looked {
  readonly sent: number
  readonly held: number
}

/** Sends the first half of a reply; the client leaves while it is looked at, or stays. */
async function look(reply: unknown, leaves: boolean): Promise<Looked> {
  const ending = new OwnEnding()
  const heldBytes = createHeldBytes(1e9)
  let sent = 0
  const stream = { send: () => void (sent += 1), signal: ending }
  const request = {
    attributes: () => ({ request: { headers: new Map(), pathAndQuery: PATH } as never }),
    isOneChoice: () => false,
    hadBody: () => true,
    wasSeen: () => true,
  }
  const response = createResponseGuard(
    compileGuard(guardEntry('k', { response: [webhook(1)] })),
    request,
    stream,
    { ...guardrails(), heldBytes, now: () => 0, logger: silent },
  )
  await response.headers({ headers: HEADERS, endOfStream: false }, FIRST)
  const looking = response.body({ body: gzipSync(JSON.stringify(reply)), endOfStream: false })
  if (leaves) ending.abort()
  await looking
  const looked = { sent, held: heldBytes.held() }
  ending.abort()
  return looked
}

test('that is one', async () => {
  const kept = await look([REPLY], false)
  expect(kept.sent).toBeGreaterThan(0)
  expect(await look([REPLY], true)).toEqual({ sent: 0, held: 0 })
})

test('that is held', async () => {
  const kept = await look(REPLY, false)
  expect(kept.held).toBeGreaterThan(0)
  expect(await look(REPLY, true)).toEqual({ sent: 0, held: 0 })
})
