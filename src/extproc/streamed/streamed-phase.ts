// A streamed reply in Envoy's messages: body and trailers as they come, what may leave as it may, and an early end
// with an error.

import type { HttpBody } from '../../grpc/generated/envoy/service/ext_proc/v3/external_processor_pb.js'
import { bodyMessages, trailersMessage } from '../stream/guard-messages.js'
import { type ProcessorStream, UnexpectedMessage } from '../stream/processor.js'
import type { GuardDeps } from '../webhook/ask-webhooks.js'
import type { Framing } from './framing.js'
import { createStreamedReply, type StreamContext } from './streamed-reply.js'

export interface StreamedPhase {
  /** Resolves when more may come. */
  body(message: HttpBody): Promise<void>
  trailers(): Promise<void>
  /** Nothing of the reply is owed any more. */
  isDone(): boolean
}

export interface PhaseContext extends Pick<StreamContext, 'guard' | 'attributes' | 'decoder'> {
  readonly framing: Framing
}

/** The headers have been answered. */
export function createStreamedPhase(
  { framing, ...context }: PhaseContext,
  stream: ProcessorStream,
  deps: GuardDeps,
): StreamedPhase {
  /** refused: what still comes is dropped. */
  let state: 'open' | 'done' | 'refused' = 'open'
  let hasTrailers = false
  let hasSent = false

  const send = (text: string, isLast: boolean): void => {
    hasSent = true
    for (const message of bodyMessages('response', Buffer.from(text), isLast)) stream.send(message)
  }
  const reply = createStreamedReply(
    { ...context, reader: framing.reader, signal: stream.signal },
    {
      send: (text) => send(text, false),
      refuse: ({ error, problem }, api) => {
        state = 'refused'
        deps.logRefusal(context.guard.route, 'response', { reply: error, problem })
        send(framing.errorEnd(error, api, hasSent), !hasTrailers)
        if (hasTrailers) stream.send(trailersMessage('response'))
      },
    },
    deps,
  )
  const isOpen = (part: string): boolean => {
    if (state === 'done') throw new UnexpectedMessage(`response ${part} when done`)
    return state === 'open'
  }
  const finish = async (): Promise<void> => {
    await reply.end()
    if (state === 'refused' || stream.signal.aborted) return
    state = 'done'
    if (hasTrailers) stream.send(trailersMessage('response'))
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
