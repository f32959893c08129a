// Whole streams with any conversation, choices, chunking and masks: the output equals the mask of the complete reply.

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { createSseReader } from '../../../../src/extproc/sse/framing/sse-frames.js'
import type { HeldChannel } from '../../../../src/extproc/sse/windows/held-channel.js'
import { createHeldReply, type HeldReply } from '../../../../src/extproc/sse/windows/held-reply.js'
import { atOnce, Pace } from '../../../../src/kit/turns.js'
import { runs } from '../../../support/runs.js'
import { ended, pushed, readEvent } from '../../llm/support.js'
import { anyMasked, applyMask, type Masked } from './masks.js'

const sse = (data: object): string => `data: ${JSON.stringify(data)}\n\n`

/** The texts of several choices in turn, in deltas of the given sizes. */
function streamOf(texts: readonly string[], sizes: readonly number[]): string {
  const at = texts.map(() => 0)
  const events = [': ping\n\n']
  for (let turn = 0; at.some((done, index) => done < (texts[index]?.length ?? 0)); turn += 1) {
    const index = turn % texts.length
    const from = at[index] ?? 0
    const size = sizes[turn % sizes.length] ?? 1
    const content = texts[index]?.slice(from, from + size) ?? ''
    at[index] = from + size
    events.push(sse({ choices: [{ index, delta: { content } }] }))
  }
  texts.forEach((_, index) =>
    events.push(sse({ choices: [{ index, delta: {}, finish_reason: 'stop' }] })),
  )
  return `${events.join('')}data: [DONE]\n\n`
}

/** The texts of the choices that a client reads. */
function textsIn(stream: string, count: number): readonly string[] {
  const texts = Array.from({ length: count }, () => '')
  for (const [, data = ''] of stream.matchAll(/^data: (\{.*)$/gm)) {
    const { choices } = JSON.parse(data) as {
      choices: { index: number; delta: { content?: string } }[]
    }
    for (const { index, delta } of choices) texts[index] += delta.content ?? ''
  }
  return texts
}

/** Returns what leaves if the bytes arrive in these chunks and windows are answered after that number of them. */
function leaves(stream: string, chunks: readonly number[], mask: Masked['mask']): string {
  const held = createHeldReply({
    shows: new Set(['text']),
    holdBack: 256,
    maxSize: Number.MAX_SAFE_INTEGER,
  })
  const reader = createSseReader(Number.MAX_SAFE_INTEGER)
  const bytes = Buffer.from(stream)
  const open = new Map<HeldChannel, readonly [window: string, others: readonly string[]]>()
  let out = ''
  const ask = (isTime: boolean): void => {
    for (const channel of held.channels()) {
      const due = channel.text.due()
      const isDue = due === 'at-once' || (isTime && due !== 'no')
      const window = isDue && !open.has(channel) ? channel.text.take() : undefined
      if (window !== undefined) open.set(channel, [window, channel.text.others])
    }
  }
  const answer = (): void => {
    for (const [channel, shown] of [...open]) {
      open.delete(channel)
      const [content, ...others] = [shown[0], ...shown[1]].map((text) => applyMask(text, mask))
      for (const slice of channel.answered({ content: content ?? '', others }))
        expect(slice).toBeUndefined()
    }
    atOnce(held.leave((text) => (out += text)))
  }
  for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
    const size = chunks[turn % chunks.length] ?? 1
    add(held, pushed(reader, bytes.subarray(at, at + size)))
    at += size
    ask(size % 5 === 0)
    if (size % 3 === 0) answer()
  }
  add(held, ended(reader))
  held.end()
  do {
    answer()
    ask(false)
  } while (open.size > 0)
  expect([held.isEmpty(), [...held.channels()]]).toEqual([true, []])
  return out
}

function add(held: HeldReply, frames: ReturnType<typeof pushed>): void {
  if (!frames.ok) throw new Error(frames.error)
  for (const frame of frames.value) {
    const event = frame.data?.startsWith('{') ? readEvent(frame.data) : undefined
    if (event?.ok === false) throw new Error(event.error)
    atOnce(held.add(frame, event?.value, new Pace()))
  }
}

const sizes = (max: number) =>
  fc.array(fc.integer({ min: 1, max }), { minLength: 1, maxLength: 12 })

test('every choice has the masked text of its model', () => {
  fc.assert(
    fc.property(
      anyMasked(700),
      fc.array(anyMasked(200), { maxLength: 2 }),
      sizes(40),
      sizes(4000),
      ({ text, mask }, others, deltas, chunks) => {
        const texts = [text, ...others.map((other) => other.text)]
        const left = leaves(streamOf(texts, deltas), chunks, mask)
        expect(textsIn(left, texts.length)).toEqual(texts.map((one) => applyMask(one, mask)))
      },
    ),
    { numRuns: runs(100) },
  )
})

test('without a change every byte stays', () => {
  fc.assert(
    fc.property(anyMasked(300), sizes(40), sizes(4000), ({ text }, deltas, chunks) => {
      const stream = streamOf([text], deltas)
      expect(leaves(stream, chunks, new Map())).toBe(stream)
    }),
    { numRuns: runs(30) },
  )
})

test('a repeated text is the changed one; a text that never appeared is a separate one', () => {
  const event = (type: string, more: object): string =>
    sse({ type, item_id: 'i', output_index: 0, content_index: 0, ...more })
  const stream = [
    event('response.output_text.delta', { delta: 'a sec' }),
    event('response.output_text.delta', { delta: 'ret' }),
    event('response.output_text.done', { text: 'a secret' }),
    event('response.output_text.done', { text: 'another secret' }),
  ].join('')
  const left = leaves(stream, [17], new Map([['secret', '****']]))
  const said = [...left.matchAll(/"(?:delta|text)":"([^"]*)"/g)].map(([, text]) => text)
  expect([said.slice(0, 2).join(''), ...said.slice(2)]).toEqual([
    'a ****',
    'a ****',
    'another ****',
  ])
})

test("a text beside the model's is masked in each event that says another", () => {
  const event = (said: string): string =>
    sse({ candidates: [{ index: 0, content: { parts: [] }, words: said }] })
  const stream = event('a secret') + event('another secret')
  expect(leaves(stream, [4000], new Map([['secret', '****']]))).toBe(
    stream.replaceAll('secret', '****'),
  )
})

test('log probabilities that run ahead of their text do not reveal what was masked', () => {
  const anyLag = fc.integer({ min: 0, max: 60 })
  const anyBefore = fc.stringMatching(/^[a-z ]{0,700}$/)
  fc.assert(
    fc.property(anyLag, anyBefore, sizes(9), sizes(4000), (lag, before, deltas, chunks) => {
      const text = `${before}<SECRET>${before}`
      const left = leaves(laggingStream(text, lag, deltas), chunks, new Map([['<SECRET>', '*']]))
      const tokens = [...left.matchAll(/"token":"([^"]*)"/g)].map(([, token]) => token).join('')
      expect(textsIn(left, 1)).toEqual([`${before}*${before}`])
      expect(left + tokens).not.toMatch(/[SECRT]/)
      // Far from the mask they stay.
      if (before.length > 600) expect(tokens).toContain(before.slice(0, 100))
    }),
    { numRuns: runs(60), examples: [[3, '', [1], [63]]] },
  )
})

/** Builds the stream of a server that holds text back in which a stop sequence could begin. */
function laggingStream(text: string, lag: number, sizesOf: readonly number[]): string {
  const events: string[] = []
  let [at, sent] = [0, 0]
  for (let turn = 0; at < text.length; turn += 1) {
    const token = text.slice(at, at + (sizesOf[turn % sizesOf.length] ?? 1))
    at += token.length
    const upTo = at === text.length ? at : Math.max(sent, at - lag)
    const content = text.slice(sent, upTo)
    sent = upTo
    const logprobs = { content: [{ token, logprob: -0.1, bytes: [...Buffer.from(token)] }] }
    events.push(sse({ choices: [{ index: 0, delta: { content }, logprobs }] }))
  }
  events.push(sse({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }))
  return events.join('')
}

test('the tokens of the whole text go with the last line of Ollama if anything of it was masked', () => {
  const line = (response: string, more: object = {}): string =>
    sse({ model: 'm', response, done: false, ...more })
  const stream = [
    line('a secret, '),
    ...Array.from({ length: 100 }, () => line('many words, ')),
    line('', { done: true, context: [1, 2, 3] }),
  ].join('')
  expect(leaves(stream, [100], new Map([['secret', '****']]))).toBe(
    stream.replace('secret', '****').replace('[1,2,3]', 'null'),
  )
  expect(leaves(stream, [100], new Map())).toBe(stream)
})
