// A text anywhere in a body or an event, in a known member or a new one, is shown or makes the body unreadable; a mask
// removes it and changes nothing else.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readReply, readRequest } from '../../src/llm/read-body.js'
import { type Conversation, rewrite } from '../../src/llm/text/conversation.js'
import type { StreamEvent } from '../../src/llm/text/stream-event.js'
import type { Result } from '../../src/result.js'
import { atOnce } from '../../src/turns.js'
import { runs } from '../support/runs.js'
import { EVENTS, REPLIES, REQUESTS } from './recorded.js'
import { readEvent, rewritten } from './support.js'

const SECRET = 'a fox that nobody expects'
const MASK = '****'

interface Seen {
  readonly shown: readonly string[]
  readonly masked: string
}

const mask = (text: string): string => text.replaceAll(SECRET, MASK)

function seenInBody(found: Conversation): Seen {
  const shown = found.entries.map(({ content }) => content)
  return { shown, masked: atOnce(rewrite(found, shown.map(mask))) }
}

function seenInEvent(event: StreamEvent): Seen {
  const [pieces, repeats] = [event.pieces, event.repeats].map((all) => all.map(({ text }) => text))
  const texts = { pieces: (pieces ?? []).map(mask), repeats: (repeats ?? []).map(mask) }
  return { shown: [...(pieces ?? []), ...(repeats ?? [])], masked: rewritten(event, texts) }
}

type Reader = (json: string) => Result<Seen, string>

const reading =
  <Found>(read: (json: string) => Result<Found, string>, see: (found: Found) => Seen): Reader =>
  (json) => {
    const found = read(json)
    return found.ok ? { ok: true, value: see(found.value) } : found
  }

const bytes = (json: string): Uint8Array => new TextEncoder().encode(json)

const KINDS: readonly (readonly [string, Reader, Readonly<Record<string, object>>])[] = [
  ['requests', reading((json) => atOnce(readRequest(bytes(json))), seenInBody), REQUESTS],
  ['replies', reading((json) => atOnce(readReply(bytes(json))), seenInBody), REPLIES],
  [
    'replies of any form',
    reading((json) => atOnce(readReply(bytes(json), 'any')), seenInBody),
    { ...REPLIES, models: { data: [{ id: 'm', object: 'model' }] } },
  ],
  ['events', reading(readEvent, seenInEvent), EVENTS],
]

interface Place {
  readonly holder: Record<string, unknown> | unknown[]
  readonly key: string | number
}

/** Definitions of tools are shown only where a webhook asks for them. */
const isDefinition = (name: string): boolean => name === 'tools'

/** Every string, and the end of every object and list: there a new one can be. */
function placesIn(value: unknown): Place[] {
  if (typeof value !== 'object' || value === null) return []
  const holder = value as Place['holder']
  const inner = Object.entries(holder).flatMap(([key, below]): Place[] => {
    if (isDefinition(key)) return []
    return typeof below === 'string' ? [{ holder, key }] : placesIn(below)
  })
  return [{ holder, key: Array.isArray(holder) ? holder.length : '' }, ...inner]
}

const newName = fc.constantFrom(
  ...['text', 'content', 'Text', 'reasoning', 'refusal', 'summary', 'thinking', 'transcript'],
  ...['inputs', 'instruction', 'note', 'message', 'messages', 'data', 'source', 'output', 'parts'],
  ...['id', 'model', 'name', 'type', 'user', 'metadata', 'url', 'signature', 'status', 'code'],
  ...['logprobs', 'tokens', 'token_ids', 'arguments', 'input', 'action', 'args', 'delta', 'error'],
)

/** The inserted value, which contains the secret. */
const said = fc.oneof(
  fc.constant<unknown>(SECRET),
  fc.constant<unknown>(`Well, ${SECRET}`),
  fc.constant<unknown>([SECRET]),
  fc.constant<unknown>([1, 2, [SECRET]]),
  fc.constant<unknown>([{ type: 'text', text: SECRET }]),
  fc.constant<unknown>({ type: 'of_tomorrow', words: { said: SECRET } }),
  fc.constant<unknown>({ role: 'user', content: SECRET, id: 'x' }),
  fc.constant<unknown>({ [SECRET]: 1 }),
)

/** Members that repeat other texts are emptied with them. */
const withoutEchoes = (json: string): unknown =>
  JSON.parse(json, (name: string, value: unknown) =>
    /^(?:logprobs|logprobsResult|tokens|token_ids)$/.test(name) ? null : value,
  )

/** The words of an error that ends a stream are the server's own. */
function isOfError(root: object, { holder, key }: Place, name: string): boolean {
  const error = 'error' in root ? root.error : undefined
  const words = error === undefined ? ['error'] : ['error', 'message', 'detail']
  return words.includes(name) || (holder === error && key === 'message')
}

describe.each(KINDS)('%s', (kind, read, recorded) => {
  test.each(Object.entries(recorded))('%s', (_name, body) => {
    fc.assert(
      fc.property(fc.nat(), newName, said, (at, name, value) => {
        const changed = structuredClone(body)
        const places = placesIn(changed)
        const place = places[at % places.length] ?? expect.unreachable()
        fc.pre(kind !== 'events' || !isOfError(changed, place, place.key === '' ? name : ''))
        Reflect.set(place.holder, place.key === '' ? name : place.key, value)
        const json = JSON.stringify(changed)
        const seen = read(json)
        if (!seen.ok) {
          expect(seen.error).not.toContain('fox')
          return
        }
        const { shown, masked } = seen.value
        expect(
          shown.filter((text) => text.includes(SECRET)),
          json,
        ).not.toEqual([])
        expect(masked).not.toContain(SECRET)
        expect(withoutEchoes(masked)).toEqual(withoutEchoes(mask(json)))
        if (!/logprobs|tokens|token_ids/.test(json)) expect(masked).toBe(mask(json))
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
