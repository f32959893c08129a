// Streams that Envoy traces: calls and lines of the decision log belong to the trace.

import { expect, test } from 'vitest'
import { createProcessService } from '../../src/extproc/process-service.js'
import { createDecisionLog } from '../../src/kit/decision-log.js'
import type { RemoteRequest } from '../../src/kit/http/http-call.js'
import { ok } from '../../src/kit/result.js'
import { recordingTracer } from '../support/recorded-spans.js'
import { KEY, proxied, REGISTRATION } from './support/entries.js'
import { guardrails } from './support/guards.js'
import { body, replyIn, request } from './support/messages.js'
import { buildProcTable } from './support/proc-table.js'
import { silent, startProcServer } from './support/stream.js'

const OF_ENVOY = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`

test('a registration at the provider is a span of the trace, which goes on at the provider', async () => {
  const tracer = recordingTracer()
  const sent: RemoteRequest[] = []
  const table = buildProcTable([proxied()])
  const lines: object[] = []
  const decisions = createDecisionLog({
    claims: [],
    now: () => 0,
    choice: { refusals: true, oneAllowedOf: 1 },
    write: (_, fields) => void lines.push(fields),
  })
  const server = await startProcServer(
    createProcessService({
      guardrails: { ...guardrails(), decisions },
      table: () => table,
      callRemote: (_target, call) => {
        sent.push(call)
        return Promise.resolve(ok({ status: 201, headers: {}, body: Buffer.from('{}') }))
      },
      now: () => 1_700_000_000_000,
      logger: silent,
      tracer,
    }),
  )
  const stream = server.openTraced(KEY, OF_ENVOY, 'vendor=1')
  stream.send(request('POST', REGISTRATION))
  expect((await stream.next()).response.case).toBe('requestHeaders')
  stream.send(body('{"redirect_uris":["http://127.0.0.1/cb"]}'))
  expect(replyIn(await stream.next()).status).toBe(201)
  const [span, ...others] = tracer.spans
  expect(others).toEqual([])
  expect(span).toMatchObject({ name: 'POST', kind: 'client', parent: OF_ENVOY })
  expect(span?.attributes).toMatchObject({
    'url.full': 'https://idp.example/register',
    'http.response.status_code': 201,
  })
  expect(sent[0]?.headers?.['traceparent']).toBe(span?.traceparent)
  expect(sent[0]?.headers?.['tracestate']).toBe('vendor=1')
  expect(lines).toMatchObject([{ decision: 'allow', traceId: 'a'.repeat(32) }])
  await server.close()
})
