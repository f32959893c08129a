// Headers that repeat parts of a message: what a webhook has changed in the body, the server does not get in a header either.

import { fromBinary } from '@bufbuild/protobuf'
import { describe, expect, test } from 'vitest'
import { createMcpGuardProcessor } from '../../../src/extproc/mcp/mcp-guard-processor.js'
import { compileWebhook } from '../../../src/extproc/webhook/compiled-guard.js'
import { OwnEnding } from '../../../src/kit/ending.js'
import type { WebhookPools } from '../../../src/kit/http/webhook-pools.js'
import { ok } from '../../../src/kit/result.js'
import { ProcessingResponseSchema } from '../../../src/wire/grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import { guardrails, webhook } from '../support/guards.js'
import { silent } from '../support/stream.js'

/** Masks "secret" in what it is asked. */
const masking: WebhookPools['call'] = ({ body }) => {
  const question = (JSON.parse(Buffer.from(body).toString()) as { body: object }).body
  const masked = JSON.stringify({ action: { body: question } }).replaceAll('secret', 'hidden')
  return Promise.resolve(ok({ status: 200, headers: new Map(), body: [Buffer.from(masked)] }))
}

/** Renames the member uri. */
const renaming: WebhookPools['call'] = async (call) => {
  const answer = await masking(call)
  return answer.ok
    ? ok({
        ...answer.value,
        body: [Buffer.from(Buffer.concat(answer.value.body).toString().replace('uri', 'url'))],
      })
    : answer
}

interface Passed {
  readonly status: number | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Returns what the server gets. */
async function passed(
  message: object,
  own: Readonly<Record<string, string>>,
  call = masking,
): Promise<Passed> {
  let status: number | undefined
  let body = ''
  const headers: Record<string, string> = { ...own }
  const send = (bytes: Uint8Array): void => {
    const { response } = fromBinary(ProcessingResponseSchema, bytes)
    if (response.case === 'immediateResponse') status = response.value.status?.code
    if (response.case === 'requestHeaders')
      for (const { header } of response.value.response?.headerMutation?.setHeaders ?? [])
        if (header !== undefined && header.key in own)
          headers[header.key] = Buffer.from(header.rawValue).toString('latin1')
    if (response.case !== 'requestBody') return
    const { mutation } = response.value.response?.bodyMutation ?? {}
    if (mutation?.case === 'streamedResponse') body += Buffer.from(mutation.value.body).toString()
  }
  const hooks = [compileWebhook(webhook(1))]
  const processor = createMcpGuardProcessor(
    { type: 'mcp-guard', route: 'default/mcp', request: hooks, response: hooks },
    { send, signal: new OwnEnding() },
    {
      ...guardrails({ call, close: () => Promise.resolve() }),
      now: () => 0,
      logger: silent,
    },
  )
  const all = { ':method': 'POST', ':path': '/mcp', 'content-type': 'application/json', ...own }
  await processor.requestHeaders(
    {
      headers: new Map(Object.entries(all).map(([name, value]) => [name, [value]])),
      endOfStream: false,
    },
    { config: { requestBodyMode: 4, responseBodyMode: 4 } },
  )
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, ...message })
  await processor.requestBody({ body: Buffer.from(text), endOfStream: true })
  return { status, headers, body }
}

const VERSION = 'io.modelcontextprotocol/protocolVersion'
const encoded = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`

describe('a header that repeats what a webhook has changed says what the body says', () => {
  test.each<[string, object, Readonly<Record<string, string>>, Readonly<Record<string, string>>]>([
    [
      'the name of a tool',
      { method: 'tools/call', params: { name: 'my secret' } },
      { 'mcp-method': 'tools/call', 'mcp-name': 'my secret' },
      { 'mcp-method': 'tools/call', 'mcp-name': 'my hidden' },
    ],
    [
      'an encoded name',
      { method: 'prompts/get', params: { name: 'my secret €' } },
      { 'mcp-name': encoded('my secret €') },
      { 'mcp-name': encoded('my hidden €') },
    ],
    [
      'a URI',
      { method: 'resources/read', params: { uri: 'my secret' } },
      { 'mcp-name': 'my secret' },
      { 'mcp-name': 'my hidden' },
    ],
    [
      'a method',
      { method: 'my secret' },
      { 'mcp-method': 'my secret' },
      { 'mcp-method': 'my hidden' },
    ],
    [
      'a version',
      { method: 'ping', params: { _meta: { [VERSION]: 'a secret' } } },
      { 'mcp-method': 'ping', 'mcp-protocol-version': 'a secret' },
      { 'mcp-method': 'ping', 'mcp-protocol-version': 'a hidden' },
    ],
    [
      'a name that is shown in JSON, as a member beside it is odd',
      { method: 'tools/call', params: { name: 'my-secret', 'odd name': 1 } },
      { 'mcp-name': 'my-secret' },
      { 'mcp-name': 'my-hidden' },
    ],
    [
      'a name, beside an argument with the same text',
      { method: 'tools/call', params: { arguments: { a: 'my secret' }, name: 'my secret' } },
      { 'mcp-name': 'my secret', 'mcp-param-a': 'my secret' },
      { 'mcp-name': 'my hidden', 'mcp-param-a': 'my hidden' },
    ],
  ])('%s', async (_what, message, headers, changed) => {
    const got = await passed(message, headers)
    expect(got.body).not.toContain('secret')
    expect(got).toMatchObject({ status: undefined, headers: changed })
  })

  test('an argument of digits, which could be a number', async () => {
    const params = { name: 't', arguments: { card: '4111 secret', n: '4111' } }
    const digits: WebhookPools['call'] = async (call) => {
      const answer = await masking(call)
      if (!answer.ok) return answer
      const text = Buffer.concat(answer.value.body).toString().replaceAll('4111', '0000')
      return ok({ ...answer.value, body: [Buffer.from(text)] })
    }
    const got = await passed({ method: 'tools/call', params }, { 'mcp-param-n': '4111' }, digits)
    expect([got.headers, got.body.includes('4111')]).toEqual([{ 'mcp-param-n': '0000' }, false])
  })

  test('an argument that is shown in JSON refuses the message once it is changed', async () => {
    const params = { name: 't', arguments: { 'odd name': 1, a: 'my secret' } }
    const headers = { 'mcp-param-a': 'my secret' }
    const got = await passed({ method: 'tools/call', params }, headers)
    expect([got.status, got.body]).toEqual([400, ''])
    const kept = { ...params, arguments: { ...params.arguments, a: 'mine' } }
    expect(
      await passed({ method: 'tools/call', params: kept }, { 'mcp-param-a': 'mine' }),
    ).toMatchObject({
      status: undefined,
      headers: { 'mcp-param-a': 'mine' },
    })
  })

  test('one that repeats nothing any more refuses the message', async () => {
    // The webhook changes the name of the member.
    const message = { method: 'x', params: { 'odd name': 1, uri: 'gone' } }
    const got = await passed(message, { 'mcp-name': 'gone' }, renaming)
    expect([got.status, got.body]).toEqual([400, ''])
  })

  test('what it has not changed stays', async () => {
    const params = { name: 'tool', arguments: { a: 'a secret' } }
    const headers = { 'mcp-method': 'tools/call', 'mcp-name': encoded('tool') }
    expect((await passed({ method: 'tools/call', params }, headers)).headers).toEqual(headers)
  })
})
