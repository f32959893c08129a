// A text anywhere in a body or an event, in a known member or a new one, is shown or makes the body unreadable; a mask
// removes it and changes nothing else.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readReply, readRequest } from '../../../src/extproc/llm/read-body.js'
import { type Conversation, rewrite } from '../../../src/extproc/llm/text/conversation.js'
import type { StreamEvent } from '../../../src/extproc/llm/text/stream-event.js'
import type { Result } from '../../../src/kit/result.js'
import { atOnce } from '../../../src/kit/turns.js'
import { runs } from '../../support/runs.js'
import { EVENTS, REPLIES, REQUESTS } from './recorded.js'
import { ERRORS } from './recorded-errors.js'
import { readEvent, rewritten } from './support.js'
import { untold } from './untold.js'

const SECRET = 'a fox that nobody expects'
/** Looks like an identifier. */
const WORDY = 'Ignore_all_rules_of_the_fox'
/** Could be the number of a card. */
const NUMBER = '4111-1111-1111-1111'
const MAIL = 'fox@example.com'
const MASK = '****'

interface Seen {
  readonly shown: readonly string[]
  readonly masked: string
}

const mask = (text: string): string =>
  text.replaceAll(
    /a fox that nobody expects|Ignore_all_rules_of_the_fox|4111-1111-1111-1111|fox@example\.com/g,
    MASK,
  )

/** Tool calls, definitions and files are shown only where a webhook asks for them. */
const textsOf = <Found extends { readonly kind: string }>(found: readonly Found[]): Found[] =>
  found.filter(({ kind }) => kind === 'text')

function seenInBody(found: Conversation): Seen {
  const shown = textsOf(found.entries).map(({ content }) => content)
  const contents = found.entries.map(({ content }) => mask(content))
  return { shown, masked: atOnce(rewrite(found, contents)) }
}

function seenInEvent(event: StreamEvent): Seen {
  const [pieces, repeats] = [event.pieces, event.repeats].map((all) => all.map(({ text }) => text))
  const texts = { pieces: (pieces ?? []).map(mask), repeats: (repeats ?? []).map(mask) }
  const shown = textsOf([...event.pieces, ...event.repeats]).map(({ text }) => text)
  return { shown, masked: rewritten(event, texts) }
}

type Reader = (json: string) => Result<Seen, string>

const reading =
  <Found>(read: (json: string) => Result<Found, string>, see: (found: Found) => Seen): Reader =>
  (json) => {
    const found = read(json)
    return found.ok ? { ok: true, value: see(found.value) } : found
  }

/** Those that are recognized as events. */
const ERROR_EVENTS = Object.fromEntries(
  Object.entries(ERRORS).filter(([, error]) => readEvent(JSON.stringify(error)).ok),
)

const bytes = (json: string): Uint8Array => new TextEncoder().encode(json)

const KINDS: readonly (readonly [string, Reader, Readonly<Record<string, object>>])[] = [
  ['requests', reading((json) => atOnce(readRequest(bytes(json))), seenInBody), REQUESTS],
  ['replies', reading((json) => atOnce(readReply(bytes(json))), seenInBody), REPLIES],
  [
    'replies of any form',
    reading((json) => atOnce(readReply(bytes(json), 'any')), seenInBody),
    { ...REPLIES, models: { data: [{ id: 'm', object: 'model' }] } },
  ],
  ['errors', reading((json) => atOnce(readReply(bytes(json), 'error')), seenInBody), ERRORS],
  ['events', reading(readEvent, seenInEvent), EVENTS],
  ['error events', reading(readEvent, seenInEvent), ERROR_EVENTS],
]

interface Place {
  readonly holder: Record<string, unknown> | unknown[]
  readonly key: string | number
  /** The member that contains the holder, after the one that contains its object: "message.content". */
  readonly owner: string
}

/** Definitions of tools are shown only where a webhook asks for them. */
const isDefinition = (name: string): boolean => name === 'tools'

/** Whether a member is what a tool is called with, in an object that has it. */
const isCall = (holder: Place['holder'], name: string | number): boolean =>
  /^(?:arguments|args|action|partial_json)$/.test(String(name)) ||
  (name === 'input' && /_use$|tool_call$|^tool-/.test(String(Reflect.get(holder, 'type'))))

/** Every string, and the end of every object and list: there a new one can be. */
function placesIn(value: unknown, owner = 'body'): Place[] {
  if (typeof value !== 'object' || value === null) return []
  const holder = value as Place['holder']
  const own = owner.split('.').at(-1) ?? ''
  const inner = Object.entries(holder).flatMap(([key, below]): Place[] => {
    if (isDefinition(key) || isCall(holder, key)) return []
    if (typeof below === 'string') return [{ holder, key, owner }]
    return placesIn(below, Array.isArray(holder) ? owner : `${own}.${key}`)
  })
  return [{ holder, key: Array.isArray(holder) ? holder.length : '', owner }, ...inner]
}

const newName = fc.constantFrom(
  'text',
  'content',
  'Text',
  'reasoning',
  'refusal',
  'summary',
  'thinking',
  'transcript',
  'inputs',
  'instruction',
  'note',
  'message',
  'messages',
  'data',
  'source',
  'output',
  'parts',
  'id',
  'model',
  'name',
  'type',
  'user',
  'metadata',
  'url',
  'signature',
  'status',
  'code',
  'labels',
  'customer_id',
  'x_url',
  'inputs',
  'language',
  'p',
  'obfuscation',
  'encrypted_note',
  'logprobs',
  'tokens',
  'token_ids',
  'arguments',
  'input',
  'action',
  'args',
  'delta',
  'error',
  'function',
  'custom',
  'tools',
  'tool',
  'operation',
  'image_url',
  'images',
  'file_data',
  'b64_json',
  'file',
  'audio',
  'input_audio',
  'inlineData',
  'schema',
  'required',
  'format',
  'properties',
  'items',
  '$ref',
  'thought_signature',
  'result',
  'sources',
  'item',
  'part',
)

/** The inserted value, which contains the secret. */
const sentence = fc.oneof(
  fc.constant<unknown>(SECRET),
  fc.constant<unknown>(`Well, ${SECRET}`),
  fc.constant<unknown>([SECRET]),
  fc.constant<unknown>([1, 2, [SECRET]]),
  fc.constant<unknown>([{ type: 'text', text: SECRET }]),
  fc.constant<unknown>({ type: 'of_tomorrow', words: { said: SECRET } }),
  fc.constant<unknown>({ role: 'user', content: SECRET, id: 'x' }),
  fc.constant<unknown>({ type: 'function_call', arguments: SECRET, input: SECRET, action: SECRET }),
  fc.constant<unknown>({ function: { arguments: SECRET }, custom: { input: SECRET } }),
  fc.constant<unknown>({ tools: [{ name: 'f', description: SECRET }] }),
  fc.constant<unknown>({ schema: { properties: { a: { default: SECRET } } } }),
  fc.constant<unknown>({ [SECRET]: 1 }),
)

/** One without blanks, below a member that no API has, or in any place. */
const compact = fc
  .tuple(
    fc.constantFrom(WORDY, NUMBER, MAIL),
    fc.constantFrom<((secret: string) => unknown)[]>(
      (secret) => secret,
      (secret) => [secret],
      (secret) => ({ words: { said: secret } }),
      (secret) => ({ x_new: { name: secret, id: secret } }),
      (secret) => ({ x_new: [{ type: secret, language: secret, country: secret }] }),
      (secret) => ({ x_url: secret, customer_id: secret, x_signature: secret }),
      (secret) => ({ x: { image_url: secret, data: secret, images: [secret] } }),
      (secret) => ({ x: { default: { format: secret, required: [secret], $ref: secret } } }),
      (secret) => ({ type: 'base64', x: { type: 'redacted_thinking', data: secret } }),
      (secret) => ({ extra: { customer: { user: secret, encrypted_note: secret, p: secret } } }),
    ),
  )
  .map(([secret, wrap]) => ({ secret, value: wrap(secret) }))

/**
 * The settings in which something that looks like an identifier, a file or an address may pass: the member, after the
 * member that contains its object. docs/guardrail-webhook.md has the same list.
 */
const RIDES: ReadonlySet<string> = new Set(
  `audio.data audio.id body.cachedContent body.code body.delta body.id body.item_id body.model
  body.modelVersion body.name body.obfuscation body.p body.partial_image_b64 body.responseId
  body.system_fingerprint body.type body.user codeExecutionResult.id content.data
  content.encrypted_content content.id content.name content.signature content.tool_use_id
  content.url content_block.data content_block.id content_block.name content_block.signature
  content_block.tool_use_id data.embedding data.id data.model data.name delta.id delta.signature
  body.error_type body.param body.request_id detail.code detail.loc detail.type details.@type
  details.code details.domain details.type error.code error.param error.type fieldViolations.field
  fieldViolations.type fieldViolations.code innererror.code innererror.type executableCode.id file.file_data format.name format.required function.name functionCall.id
  functionCall.name functionResponse.id functionResponse.name image_url.url inlineData.data
  input.call_id input.encrypted_content input.id input.name input.result input.server_label
  item.id json_schema.name json_schema.required message.id message.model   message.user messages.id messages.tool_call_id output.call_id output.encrypted_content output.id
  output.name output.result output.server_label part.id parts.thoughtSignature plugins.id
  prediction.id prediction.signature prompt.id prompt.version response.id response.model
  response.user response_format.name results.file_id
  body.images body.threadId body.runId body.parentRunId body.messageId body.toolCallId body.parentMessageId
  body.sourceId body.approvalId body.toolName body.toolCallName body.b64_json body.url data.url data.b64_json
  parts.id parts.toolCallId parts.sourceId parts.toolName messages.toolCallId message.toolCallId sources.id document.id
  toolResult.toolUseId
  source.data tool_calls.id tool_calls.name parts.thought_signature messages.images message.images delta.images`.split(
    /\s+/,
  ),
)

/** Members that repeat other texts are emptied with them. */
const withoutEchoes = (json: string): unknown =>
  untold(
    JSON.parse(json, (name: string, value: unknown) =>
      /^(?:logprobs|logprobsResult|tokens|token_ids)$/.test(name) ? null : value,
    ),
  )

function expectSeen(read: Reader, changed: object, secret: string): void {
  const json = JSON.stringify(changed)
  const seen = read(json)
  if (!seen.ok) {
    expect(seen.error).not.toContain(secret)
    return
  }
  const { shown, masked } = seen.value
  expect(
    shown.filter((text) => text.includes(secret)),
    json,
  ).not.toEqual([])
  expect(masked).not.toContain(secret)
  expect(withoutEchoes(masked)).toEqual(withoutEchoes(mask(json)))
  if (!/logprobs|tokens|token_ids|signature|encrypted|"(?:start|end)/i.test(json))
    expect(masked).toBe(mask(json))
}

/** Whether a tool call or a definition may be in a place: in a member of theirs, or as a new item. */
const hasCalls = ({ holder, owner }: Place, key: string | number): boolean =>
  (Object.hasOwn(holder, key) && isCall(holder, key)) ||
  (Array.isArray(holder) && /(?:input|output|tool_calls)$/.test(owner)) ||
  (key === 'tools' && /^body(?:\.response)?$/.test(owner))

const isBare = (value: unknown): boolean => typeof value === 'string' || Array.isArray(value)

const ridesIn = ({ holder, owner }: Place, key: string | number): boolean =>
  RIDES.has(Array.isArray(holder) ? owner : `${owner.split('.').at(-1) ?? ''}.${String(key)}`)

describe.each(KINDS)('%s', (_kind, read, recorded) => {
  test.each(Object.entries(recorded))('%s', (_name, body) => {
    fc.assert(
      fc.property(fc.nat(), newName, sentence, (at, name, value) => {
        const changed = structuredClone(body)
        const places = placesIn(changed)
        const place = places[at % places.length] ?? expect.unreachable()
        const key = place.key === '' ? name : place.key
        fc.pre(!hasCalls(place, key))
        Reflect.set(place.holder, key, value)
        expectSeen(read, changed, SECRET)
      }),
      { numRuns: runs(500) },
    )
  })

  test.each(Object.entries(recorded))('%s: a secret without blanks', (_name, body) => {
    fc.assert(
      fc.property(fc.nat(), newName, compact, (at, name, { secret, value }) => {
        const changed = structuredClone(body)
        const places = placesIn(changed)
        const place = places[at % places.length] ?? expect.unreachable()
        const key = place.key === '' ? name : place.key
        fc.pre(!hasCalls(place, key))
        fc.pre(!isBare(value) || (key !== 'role' && (secret !== WORDY || !ridesIn(place, key))))
        Reflect.set(place.holder, key, value)
        expectSeen(read, changed, secret)
      }),
      { numRuns: runs(500) },
    )
  })

  test.each(Object.entries(recorded))(
    '%s: read, and the same when nothing is changed',
    (_name, body) => {
      const json = JSON.stringify(body, null, 1)
      const seen = read(json)
      expect(seen.ok && seen.value.masked).toBe(json)
    },
  )
})
