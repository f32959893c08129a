// Asks about each text of a streamed reply when it is due: one window of a text at a time, several texts at once (decision 20).

import type { HeldChannel } from '../../llm/windows/held-channel.js'
import type { HeldReply } from '../../llm/windows/held-reply.js'
import type { AskedEntry, Decision } from '../webhook/ask-webhooks.js'

/** Milliseconds that text waits for more before it is shown. */
const LONGEST_WAIT = 300

export interface WindowAsker {
  /** Asks about what is due, and starts the clock for what is not. */
  look(): void
  isAsking(): boolean
  /** Leaves no timer; what is asked already is for its signal to end. */
  close(): void
}

export interface AskerEvents {
  /** Something more may leave. */
  answered(): void
  /** The reply may not go on. */
  ended(decision: Exclude<Decision, { readonly type: 'pass' }>): void
  /** A bug. */
  failed(error: unknown): void
}

interface Asking {
  timer?: NodeJS.Timeout | undefined
  /** The clock has run out; it is asked as soon as it can be. */
  isLate: boolean
  isAsked: boolean
}

export function createWindowAsker(
  reply: Pick<HeldReply, 'channels'>,
  ask: (entry: AskedEntry) => Promise<Decision>,
  events: AskerEvents,
): WindowAsker {
  const states = new Map<HeldChannel, Asking>()
  let isClosed = false

  const stateOf = (channel: HeldChannel): Asking => {
    const state = states.get(channel) ?? { isLate: false, isAsked: false }
    states.set(channel, state)
    return state
  }
  const lookAt = (channel: HeldChannel): void => {
    const state = stateOf(channel)
    if (channel.text.isDue() || state.isLate) void askAbout(channel, state)
    else if (channel.text.isTimed() && state.timer === undefined)
      state.timer = setTimeout(() => {
        state.isLate = true
        void askAbout(channel, state)
      }, LONGEST_WAIT)
  }
  const askAbout = async (channel: HeldChannel, state: Asking): Promise<void> => {
    const content = isClosed ? undefined : channel.text.take()
    if (content === undefined) return
    clearTimeout(state.timer)
    Object.assign(state, { timer: undefined, isLate: false, isAsked: true })
    const { kind, role, isJson } = channel.speaker
    try {
      const decision = await ask({ kind, role, content, isJson: isJson ?? false, isWritable: true })
      state.isAsked = false
      if (isClosed) return
      if (decision.type !== 'pass') return events.ended(decision)
      channel.answered(decision.contents[0] ?? content)
      events.answered()
      if (channel.isDone()) states.delete(channel)
      else if (!isClosed) lookAt(channel)
    } catch (error) {
      events.failed(error)
    }
  }
  return {
    look: () => {
      if (isClosed) return
      for (const channel of reply.channels()) lookAt(channel)
    },
    isAsking: () => [...states.values()].some(({ isAsked }) => isAsked),
    close: () => {
      isClosed = true
      for (const { timer } of states.values()) clearTimeout(timer)
      states.clear()
    },
  }
}
