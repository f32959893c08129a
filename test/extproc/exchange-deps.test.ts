// The share of the held bytes that an exchange has: by the namespace of its route, and by what is known of its caller.

import { create, type JsonObject, toBinary } from '@bufbuild/protobuf'
import { expect, test } from 'vitest'
import { listRequestText } from '../../src/extauthz/rules/list-request.js'
import { createGuardProcessor } from '../../src/extproc/guard/guard-processor.js'
import { createListsProcessor } from '../../src/extproc/lists/lists-processor.js'
import type { CompiledProcEntry } from '../../src/extproc/proc-table.js'
import { exchangeDeps } from '../../src/extproc/process-service.js'
import { createHeldBytes, type HeldBytes } from '../../src/extproc/session/held-bytes.js'
import type { Processor, ProcessorStream } from '../../src/extproc/session/processor.js'
import type { GuardDeps } from '../../src/extproc/webhook/guard-deps.js'
import { OwnEnding } from '../../src/kit/ending.js'
import { CLAIMS_KEY, CLAIMS_NAMESPACE, LIST_REQUEST_KEY } from '../../src/model/names.js'
import type { ProcEntry } from '../../src/model/proc-entry.js'
import { MetadataSchema } from '../../src/wire/grpc/generated/envoy/config/core/v3/base_pb.js'
import { ProcessingMode_BodySendMode as BodySendMode } from '../../src/wire/grpc/generated/envoy/extensions/filters/http/ext_proc/v3/processing_mode_pb.js'
import { guardEntry, guardrails } from './support/guards.js'
import { buildProcTable } from './support/proc-table.js'
import { silent } from './support/stream.js'

const FULL = BodySendMode.FULL_DUPLEX_STREAMED
const MODES = { requestBodyMode: FULL, responseBodyMode: FULL }
const of = (key: string): ProcEntry => ({ ...guardEntry(key, {}), route: key })
const unchecked = (key: string, isAnonymous?: true): ProcEntry => ({
  type: 'unchecked-body',
  key,
  route: key,
  maxBodyBytes: 100,
  ...(isAnonymous && { isAnonymous }),
})
const lists = (key: string): ProcEntry => ({
  type: 'lists',
  key,
  route: key,
  authorization: { deny: [], require: [], allow: [] },
})

/** Returns the deps of an exchange on the first of these routes. */
function ofFirst(entries: readonly ProcEntry[]) {
  const table = buildProcTable(entries)
  const entry = table.get(entries[0]?.key ?? '')
  if (entry === undefined || entry.type === 'well-known') throw new Error('no such entry')
  const all: GuardDeps = {
    ...guardrails(),
    maxBodyBytes: 100,
    now: () => 0,
    logger: silent,
    heldBytes: createHeldBytes(4000),
  }
  return { entry, deps: exchangeDeps(entry, table, all) }
}

const request = {
  method: 'POST',
  host: 'gw.example',
  scheme: 'https',
  pathAndQuery: '/mcp',
  version: 'HTTP/1.1',
  headers: new Map(),
}

function mayHold(heldBytes: HeldBytes, bytes: number): boolean {
  const hold = heldBytes.open()
  const isHeld = hold.add(bytes)
  hold.release()
  return isHeld
}
/** Returns the limit of what one body may hold. */
function mostOf(heldBytes: HeldBytes): number {
  let most = 4000
  while (!mayHold(heldBytes, most)) most -= 1
  return most
}

test.each([
  ['another of the same namespace', [of('a/llm'), unchecked('a/mcp')], 1000],
  ['another namespace', [of('a/llm'), of('b/llm')], 500],
  ['a namespace of which the name begins in the same way', [of('a/llm'), of('ab/llm')], 500],
])('beside %s', (_, entries, most) => expect(mostOf(ofFirst(entries).deps.heldBytes)).toBe(most))

test('a body before its check: its caller is known where a token is required', () => {
  expect(mostOf(ofFirst([unchecked('a/mcp')]).deps.heldBytes)).toBe(4000)
  expect(mostOf(ofFirst([unchecked('a/mcp', true)]).deps.heldBytes)).toBe(1000)
})

function processorOf(
  entry: CompiledProcEntry,
  stream: ProcessorStream,
  deps: GuardDeps,
): Processor {
  if (entry.type === 'lists') return createListsProcessor(entry, stream, deps)
  if (entry.type === 'guard') return createGuardProcessor(entry, stream, deps)
  throw new Error('no such entry')
}

test.each([
  ['a guard', of('a/llm'), {}, 1000],
  ['a guard', of('a/llm'), { [CLAIMS_KEY]: { sub: 'one' } }, 4000],
  ['lists', lists('a/mcp'), {}, 1000],
  ['lists', lists('a/mcp'), { [CLAIMS_KEY]: { sub: 'one' } }, 4000],
])('%s: its caller is known by verified claims', (_, given, claims: JsonObject, most) => {
  const { entry, deps } = ofFirst([given])
  const asked = [{ id: '1', method: 'tools/list' as const }]
  const fields = { ...claims, [LIST_REQUEST_KEY]: listRequestText({ request }, asked) }
  const metadata = create(MetadataSchema, { filterMetadata: { [CLAIMS_NAMESPACE]: fields } })
  const stream = { send: () => undefined, signal: new OwnEnding() }
  void processorOf(entry, stream, deps).requestHeaders(
    { headers: new Map(), endOfStream: true },
    { metadata: Buffer.from(toBinary(MetadataSchema, metadata)), config: MODES },
  )
  expect(mostOf(deps.heldBytes)).toBe(most)
})
