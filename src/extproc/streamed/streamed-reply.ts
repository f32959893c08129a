// The bytes of a streamed reply → what may leave of it, as it comes (decision 20): its events, their texts, what the
// webhooks say of them, and the end of it all when one says no.

import type { Attributes } from '../../cel/attributes.js'
import type { Frame, FrameReader } from '../../llm/framing/frame.js'
import type { LlmApi } from '../../llm/text/api.js'
import { createHeldReply } from '../../llm/windows/held-reply.js'
import type { Result } from '../../result.js'
import { UNREADABLE_ENCODING } from '../encodings/decode-reply.js'
import type { Decoder } from '../encodings/decoder.js'
import { askWebhooks, type AskedEntry, type GuardDeps } from '../webhook/ask-webhooks.js'
import type { Guard } from '../webhook/compiled-guard.js'
import { createEventIntake } from './event-intake.js'
import {
  refusalOf,
  unavailableStream,
  unreadableStream,
  type StreamRefusal,
} from './stream-refusal.js'
import { createWindowAsker } from './window-asker.js'

export interface StreamedReply {
  /** Resolves when it takes more. */
  push(bytes: Uint8Array): Promise<void>
  /** Nothing more comes. Resolves when all that may leave has left. */
  end(): Promise<void>
}

export interface ReplyOutput {
  send(text: string): void
  /** Nothing is sent after it. api: undefined when no event told. */
  refuse(refusal: StreamRefusal, api: LlmApi | undefined): void
}

export interface StreamContext {
  readonly guard: Guard
  readonly attributes: Attributes
  /** Of its Content-Encoding. */
  readonly decoder: Decoder
  readonly reader: FrameReader
  /** Ends everything. */
  readonly signal: AbortSignal
}

/** Unseen characters with which nothing more is read while webhooks are being asked. */
const MOST_UNSEEN = 4096

export function createStreamedReply(
  { guard, attributes, decoder, reader, signal }: StreamContext,
  output: ReplyOutput,
  deps: GuardDeps,
): StreamedReply {
  const { route, response: webhooks } = guard
  const isOpen = webhooks.every(({ webhook }) => webhook.failureMode === 'FailOpen')
  const inspectsToolCalls = webhooks.some(({ webhook }) => webhook.inspectToolCalls)
  const held = createHeldReply(inspectsToolCalls, deps.maxBodyBytes)
  const intake = createEventIntake(held, isOpen)
  let isStopped = false
  let wake = (): void => {}
  const progress = (): Promise<void> => new Promise((resolve) => (wake = resolve))

  const flush = (): void => {
    const text = isStopped ? '' : held.ready()
    if (text !== '') output.send(text)
  }
  const stop = (): void => {
    isStopped = true
    asker.close()
    decoder.close()
    wake()
  }
  const refuse = (refusal: StreamRefusal): void => {
    if (isStopped) return
    flush()
    stop()
    output.refuse(refusal, intake.api)
  }
  const ask = (entry: AskedEntry) =>
    askWebhooks({ route, phase: 'response', webhooks, entries: [entry], attributes, signal }, deps)
  const asker = createWindowAsker(held, ask, {
    answered: () => {
      flush()
      wake()
    },
    ended: (decision) => (decision.type === 'aborted' ? stop() : refuse(refusalOf(decision))),
    failed: (error) => {
      const kind = error instanceof Error ? error.name : typeof error
      deps.logger.error({ route, error: kind }, 'a window of a reply could not be shown')
      refuse(unavailableStream('it failed within'))
    },
  })
  signal.addEventListener('abort', stop, { once: true })

  const take = (frames: Result<readonly Frame[], string>): void => {
    const taken = frames.ok ? intake.take(frames.value) : frames
    if (!taken.ok) return refuse(unreadableStream(taken.error))
    asker.look()
    flush()
  }
  const read = async (decoded: Promise<Uint8Array | undefined>): Promise<void> => {
    const bytes = await decoded
    if (isStopped) return
    if (bytes === undefined) refuse(unreadableStream(UNREADABLE_ENCODING))
    else take(reader.push(bytes))
  }
  return {
    push: async (bytes) => {
      if (!isStopped) await read(decoder.push(bytes))
      while (!isStopped && asker.isAsking() && held.unseen() > MOST_UNSEEN) await progress()
    },
    end: async () => {
      if (!isStopped) await read(decoder.end())
      if (!isStopped) take(reader.end())
      held.end()
      take({ ok: true, value: [] })
      while (!isStopped && !held.isEmpty()) await progress()
      asker.close()
    },
  }
}
