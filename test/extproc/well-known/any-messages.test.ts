// Any messages in any order on a well-known route: nothing is passed on and nothing breaks.

import { status } from '@grpc/grpc-js'
import fc from 'fast-check'
import { afterEach, describe, expect, test } from 'vitest'
import { createProcessService } from '../../../src/extproc/process-service.js'
import { CommonResponse_ResponseStatus } from '../../../src/wire/grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import { runs } from '../../support/runs.js'
import { AS, entry, KEY, PRM, REGISTRATION } from '../support/entries.js'
import { guardrails } from '../support/guards.js'
import { body, pathOf, replyIn, request } from '../support/messages.js'
import { buildProcTable } from '../support/proc-table.js'
import { type Message, type ProcServer, silent, startProcServer } from '../support/stream.js'

const closing: ProcServer[] = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((server) => server.close()))
})

const good = '{"redirect_uris":["http://127.0.0.1/cb"]}'

async function serve(): Promise<ProcServer> {
  const table = buildProcTable([entry()])
  const server = await startProcServer(
    createProcessService({
      guardrails: guardrails(),
      table: () => table,
      callRemote: () => Promise.reject(new Error('no call expected')),
      now: () => 0,
      logger: silent,
    }),
  )
  closing.push(server)
  return server
}

describe('any sequence of messages', () => {
  const paths = fc.constantFrom(PRM, AS, REGISTRATION, `${PRM}/x`, '/mcp', '/', '')
  const methods = fc.constantFrom('GET', 'POST', 'HEAD', 'OPTIONS', 'PUT')
  const bytes = fc.oneof(
    fc.uint8Array(),
    fc.constantFrom(good, '{}', '', ' '.repeat(70_000)).map((text) => Buffer.from(text)),
  )
  const phase = fc.constantFrom(
    'responseHeaders',
    'responseTrailers',
    'requestTrailers',
    'responseBody',
  )
  const message: fc.Arbitrary<Message> = fc.oneof(
    {
      weight: 4,
      arbitrary: fc
        .tuple(methods, paths, fc.boolean())
        .map(([method, path, endOfStream]) => request(method, path, { endOfStream })),
    },
    {
      weight: 3,
      arbitrary: fc.tuple(bytes, fc.boolean()).map(([content, last]) => body(content, last)),
    },
    {
      weight: 1,
      arbitrary: phase.map((name) => ({ request: { case: name, value: {} } })),
    },
    { weight: 1, arbitrary: fc.constant({}) },
  )

  test('passes nothing on: a reply, an error, or the one answer that asks for a registration’s body', async () => {
    const server = await serve()
    await fc.assert(
      fc.asyncProperty(fc.array(message, { maxLength: 5 }), async (messages) => {
        const stream = server.open(KEY)
        stream.send(...messages)
        stream.halfClose()
        const { code } = await stream.end
        const kinds = stream.responses.map(({ response }) => response.case)
        expect([
          [],
          ['immediateResponse'],
          ['requestHeaders'],
          ['requestHeaders', 'immediateResponse'],
        ]).toContainEqual(kinds)
        for (const { response, modeOverride } of stream.responses) {
          expect(modeOverride).toBeUndefined()
          if (response.case !== 'requestHeaders') continue
          expect(pathOf(messages[0])).toBe(REGISTRATION)
          expect(response.value.response?.status).toBe(CommonResponse_ResponseStatus.CONTINUE)
          expect(response.value.response?.headerMutation).toBeUndefined()
        }
        // On OK, Envoy continues with whatever it still holds; only after a reply does it hold nothing.
        if (code === status.OK) expect(kinds.at(-1)).toBe('immediateResponse')
      }),
      { numRuns: runs(300) },
    )
    const after = server.open(KEY)
    after.send(request('GET', PRM))
    expect(replyIn(await after.next()).status).toBe(200)
  })
})
