// Connects a streamed reply to Envoy's messages: reads body and trailers as they arrive, sends what may leave, and can
// end the reply early with an error.

import { sendText, sendTrailers } from '../session/guard-messages.js'
import type { BodyPart } from '../session/process-message.js'
import { type ProcessorStream, UnexpectedMessage } from '../session/processor.js'
import type { GuardDeps } from '../webhook/guard-deps.js'
import { startPhaseSpan } from '../webhook/phase-span.js'
import { logRefusal } from '../webhook/refusal-log.js'
import type { Framing } from './framing.js'
import { createStreamedReply, type StreamContext } from './streamed-reply.js'

/** The response phase of a streamed reply. */
export interface StreamedPhase {
  /** Resolves when more may be pushed. */
  body(message: BodyPart): Promise<void>
  trailers(): Promise<void>
  /** Whether nothing more of the reply is owed. */
  isDone(): boolean
}

/** How the reply is read, and who is asked. */
export interface PhaseContext extends Pick<
  StreamContext,
  'guard' | 'attributes' | 'decoder' | 'isOneChoice'
> {
  readonly framing: Framing
}

/** To be called after the headers have been answered. */
export function createStreamedPhase(
  { framing, ...context }: PhaseContext,
  stream: ProcessorStream,
  deps: GuardDeps,
): StreamedPhase {
  /** refused: later parts are dropped. */
  let state: 'open' | 'done' | 'refused' = 'open'
  let hasTrailers = false
  let hasSent = false
  const span = startPhaseSpan(deps, context.guard.route, 'response')
  stream.signal.addEventListener('abort', () => span.end('aborted'))

  const send = (text: string, isLast: boolean, refusal?: string): void => {
    hasSent = true
    sendText(stream.send, 'response', text, isLast, refusal)
  }
  const reply = createStreamedReply(
    { ...context, reader: framing.reader, signal: stream.signal },
    {
      send: (text) => send(text, false),
      refuse: ({ error, ...why }, api) => {
        state = 'refused'
        span.end('refused')
        const { status, code } = error
        logRefusal(deps, { ...context, phase: 'response' }, { status, reason: code, ...why })
        send(framing.errorEnd(error, api, hasSent), !hasTrailers, code)
        if (hasTrailers) sendTrailers(stream.send, 'response')
      },
    },
    span.deps,
  )
  const isOpen = (part: string): boolean => {
    if (state === 'done') throw new UnexpectedMessage(`response ${part} when done`)
    return state === 'open'
  }
  const finish = async (): Promise<void> => {
    await reply.end()
    if (state === 'refused' || stream.signal.aborted) return
    state = 'done'
    span.end('passed')
    if (hasTrailers) sendTrailers(stream.send, 'response')
    else send('', true)
  }
  return {
    body: async ({ body, endOfStream }) => {
      if (!isOpen('body')) return
      await reply.push(body)
      if (endOfStream) await finish()
    },
    trailers: async () => {
      if (!isOpen('trailers')) return
      hasTrailers = true
      await finish()
    },
    isDone: () => state !== 'open',
  }
}
