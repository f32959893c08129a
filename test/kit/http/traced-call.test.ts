// Client spans of calls to providers: what they show, and what the provider gets.

import { expect, test } from 'vitest'
import type { CallRemote, RemoteRequest } from '../../../src/kit/http/http-call.js'
import { tracedCall } from '../../../src/kit/http/traced-call.js'
import { err, ok } from '../../../src/kit/result.js'
import type { RemoteTarget } from '../../../src/model/remote-target.js'
import { recordingTracer } from '../../support/recorded-spans.js'

const PARENT = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`
const target: RemoteTarget = {
  url: 'https://idp.example/token?client=hidden',
  endpoints: { type: 'name', host: 'idp.example', port: 443 },
}
const request: RemoteRequest = { method: 'POST', headers: { accept: 'application/json' } }
const answering =
  (status: number): CallRemote =>
  () =>
    Promise.resolve(ok({ status, headers: {}, body: new Uint8Array() }))

test('a call is a span, and the provider gets its context', async () => {
  const tracer = recordingTracer()
  const sent: RemoteRequest[] = []
  const call = tracedCall(
    () => tracer,
    (to, asked) => {
      sent.push(asked)
      return answering(200)(to, asked)
    },
    { parent: PARENT, state: 'vendor=1' },
  )
  expect(await call(target, request)).toMatchObject({ ok: true })
  const [span] = tracer.spans
  expect(span).toMatchObject({ name: 'POST', kind: 'client', parent: PARENT, end: {} })
  expect(span?.attributes).toEqual({
    'http.request.method': 'POST',
    'http.response.status_code': 200,
    'server.address': 'idp.example',
    'server.port': 443,
    'url.full': 'https://idp.example/token',
  })
  expect(sent[0]?.headers).toEqual({
    accept: 'application/json',
    traceparent: span?.traceparent,
    tracestate: 'vendor=1',
  })
})

test('a trace without a state is passed on without one', async () => {
  const sent: RemoteRequest[] = []
  const call = tracedCall(
    () => recordingTracer(),
    (to, asked) => {
      sent.push(asked)
      return answering(200)(to, asked)
    },
    { parent: PARENT },
  )
  await call(target, request)
  expect(Object.keys(sent[0]?.headers ?? {})).toEqual(['accept', 'traceparent'])
})

test.each<[string, CallRemote]>([
  ['500', answering(500)],
  ['timeout', () => Promise.resolve(err({ type: 'timeout', timeoutMs: 1 }))],
  ['aborted', () => Promise.resolve(err({ type: 'aborted' }))],
])('a failure ends the span with its kind: %s', async (error, callRemote) => {
  const tracer = recordingTracer()
  await tracedCall(() => tracer, callRemote)(target, request)
  expect(tracer.spans[0]?.end).toEqual({ error })
})

test('a bug ends the span too', async () => {
  const tracer = recordingTracer()
  const call = tracedCall(
    () => tracer,
    () => Promise.reject(new Error('a bug')),
  )
  await expect(call(target, request)).rejects.toThrow('a bug')
  expect(tracer.spans[0]?.end).toEqual({ error: 'unexpected' })
})

test('without a tracer the call is as it was', async () => {
  const sent: RemoteRequest[] = []
  await tracedCall(
    () => undefined,
    (to, asked) => {
      sent.push(asked)
      return answering(200)(to, asked)
    },
  )(target, request)
  expect(sent).toEqual([request])
  expect(sent[0]).toBe(request)
})
