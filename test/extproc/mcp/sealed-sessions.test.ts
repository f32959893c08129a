// The session in a server's reply: sealed for the caller whatever else is done with the reply, or the reply is withheld.

import { create, fromBinary, toBinary } from '@bufbuild/protobuf'
import { describe, expect, test } from 'vitest'
import { createSessionSeal } from '../../../src/extauthz/oauth/session-seal.js'
import {
  type WithheldSession,
  withSealedSessions,
} from '../../../src/extproc/mcp/sealed-sessions.js'
import { createSessionsProcessor } from '../../../src/extproc/mcp/sessions-processor.js'
import type { Processor } from '../../../src/extproc/session/processor.js'
import { OwnEnding } from '../../../src/kit/ending.js'
import { CLAIMS_NAMESPACE } from '../../../src/model/names.js'
import { MetadataSchema } from '../../../src/wire/grpc/generated/envoy/config/core/v3/base_pb.js'
import {
  type ProcessingResponse,
  ProcessingResponseSchema,
} from '../../../src/wire/grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import { replyIn } from '../support/messages.js'

const seal = createSessionSeal({
  policy: 'default/mcp',
  issuer: 'https://idp.example',
  sealingKeys: ['A'.repeat(43)],
})

function play() {
  const sent: ProcessingResponse[] = []
  const withheld: WithheldSession[] = []
  const send = (bytes: Uint8Array): void =>
    void sent.push(fromBinary(ProcessingResponseSchema, bytes))
  const processor = withSealedSessions(
    { send, signal: new OwnEnding() },
    { seal, onWithheld: (one) => void withheld.push(one) },
    createSessionsProcessor,
  )
  return { processor, sent, withheld }
}

const metadataOf = (fields: object): Buffer =>
  Buffer.from(
    toBinary(
      MetadataSchema,
      create(MetadataSchema, { filterMetadata: { [CLAIMS_NAMESPACE]: { ...fields } } }),
    ),
  )

const reply = (processor: Processor, fields: object | undefined, ...ids: readonly string[]) =>
  processor.responseHeaders(
    {
      headers: new Map([
        [':status', ['200']],
        ...(ids.length > 0 ? [['mcp-session-id', ids] as const] : []),
      ]),
      endOfStream: false,
    },
    fields === undefined ? {} : { metadata: metadataOf(fields) },
  )

const ALICE = { jwt: { sub: 'alice' } }

/** Value of the header in the only message, an answer to headers. */
function sealedIn(sent: readonly ProcessingResponse[]): string | undefined {
  const [{ response } = create(ProcessingResponseSchema), ...more] = sent
  expect([response.case, more]).toEqual(['responseHeaders', []])
  if (response.case !== 'responseHeaders') return undefined
  const set = response.value.response?.headerMutation?.setHeaders ?? []
  return set
    .map(({ header }) => `${header?.key ?? ''} ${Buffer.from(header?.rawValue ?? []).toString()}`)
    .join()
}

test('a session is sealed for the caller', async () => {
  const { processor, sent } = play()
  await reply(processor, ALICE, 'server-1')
  const [name, sealed = ''] = sealedIn(sent)?.split(' ') ?? []
  expect([name, seal.open(sealed, 'alice')]).toEqual(['mcp-session-id', 'server-1'])
  expect(processor.isDone()).toBe(true)
})

test('a reply without a session passes as it is, also without a caller', async () => {
  const { processor, sent } = play()
  await reply(processor, undefined)
  expect(sealedIn(sent)).toBe('')
})

test('a session that the client has named is named as the client did', async () => {
  const named = seal.seal('server-1', 'alice') ?? ''
  const { processor, sent } = play()
  await reply(processor, { ...ALICE, mcp_session: named }, 'server-1')
  expect(sealedIn(sent)).toBe(`mcp-session-id ${named}`)
})

test('another session than the one that the client has named is sealed anew', async () => {
  const named = seal.seal('server-1', 'alice') ?? ''
  const { processor, sent } = play()
  await reply(processor, { ...ALICE, mcp_session: named }, 'server-2')
  expect(seal.open(sealedIn(sent)?.split(' ')[1] ?? '', 'alice')).toBe('server-2')
})

describe('the reply is withheld', () => {
  test.each<[string, object | undefined, readonly string[], string]>([
    ['for an unknown caller', undefined, ['server-1'], 'its caller is not known'],
    ['for a caller without a subject', { jwt: {} }, ['server-1'], 'its caller is not known'],
    ['with two ids', ALICE, ['server-1', 'server-2'], 'not one id'],
    ['with an empty id', ALICE, [''], 'not one id'],
    ['with an id that is too long', ALICE, ['x'.repeat(1025)], 'not one id'],
    ['with an id that is not ASCII', ALICE, ['\xe4'], 'not one id'],
  ])('%s', async (_name, fields, ids, problem) => {
    const { processor, sent, withheld } = play()
    await reply(processor, fields, ...ids)
    const [first, ...more] = sent
    const answer = first && replyIn(first)
    expect([answer?.status, more]).toEqual([502, []])
    expect(answer?.text).not.toContain('server-1')
    expect(withheld).toMatchObject([{ status: 502, reason: 'unusable_session' }])
    expect(withheld[0]?.problem).toContain(problem)
    await processor.responseBody({ body: Buffer.from('x'), endOfStream: true })
    await processor.responseTrailers()
    expect([sent.length, processor.isDone()]).toEqual([1, true])
  })
})

test('metadata that cannot be read lets nothing pass', () => {
  const { processor, sent } = play()
  const headers = new Map([['mcp-session-id', ['server-1']]])
  expect(() =>
    processor.responseHeaders({ headers, endOfStream: false }, { metadata: Buffer.of(0xff) }),
  ).toThrow()
  expect(sent).toEqual([])
})
