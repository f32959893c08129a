// The second layer of a streamed reply: decides when a window of a text is shown, and applies the answer. One window of
// a text at a time, several texts at once (decision 20).
//
//   a text is | until                                           | then
//   ----------|-------------------------------------------------|--------------------------------------------
//   waiting   | a webhook could free something new              | asked or paused
//   in a word | the word has ended, or 25 ms have passed        | asked or paused
//   paused    | minInterval has passed since the last question  | evaluated again
//   asked     | the webhooks' answer has been applied           | evaluated again, or removed if all is free
//
// A text that has ended, or that has a whole unseen window, is never paused.

import { nextTurn } from '../../kit/turns.js'
import type { PhaseVerdict } from '../webhook/ask-webhooks.js'
import type { AskedEntry } from '../webhook/question.js'
import type { HeldChannel } from './windows/held-channel.js'

/** Milliseconds that a window waits for the end of a word. */
const WORD = 25

/** Shows windows of texts when they are due. */
export interface Windows {
  /** Asks about the windows that are due, and starts timers for the others. */
  look(): void
  isAsking(): boolean
  /** Clears all timers. Questions under way are ended by their own signal. */
  close(): void
}

/** Called with the outcome of questions. */
export interface WindowEvents {
  /** Called when more may leave. */
  answered(): void
  /** Called when the reply must not continue. */
  ended(decision: Exclude<PhaseVerdict, { readonly type: 'pass' }>): void
  /** Called on a bug. */
  failed(error: unknown): void
}

/** The webhooks that windows are shown to. */
export interface WindowWebhooks {
  /** Minimum milliseconds between two questions about one text. */
  readonly minIntervalMs: number
  /** entries: the text, and what is shown with it. */
  ask(entries: readonly AskedEntry[]): Promise<PhaseVerdict>
}

/** Creates the windows of the texts of a reply. */
export const createWindows = (
  texts: { channels(): Iterable<HeldChannel> },
  webhooks: WindowWebhooks,
  events: WindowEvents,
): Windows => new ScheduledWindows(texts, webhooks, events)

interface Schedule {
  pause?: NodeJS.Timeout | undefined
  word?: NodeJS.Timeout | undefined
  /** Whether the wait for the end of the word is over. */
  isLate: boolean
  isAsked: boolean
}

class ScheduledWindows implements Windows {
  readonly #schedules = new Map<HeldChannel, Schedule>()
  #isClosed = false

  constructor(
    private readonly texts: { channels(): Iterable<HeldChannel> },
    private readonly webhooks: WindowWebhooks,
    private readonly events: WindowEvents,
  ) {}

  look(): void {
    if (this.#isClosed) return
    for (const channel of this.texts.channels()) this.#lookAt(channel)
  }

  isAsking(): boolean {
    return [...this.#schedules.values()].some(({ isAsked }) => isAsked)
  }

  close(): void {
    this.#isClosed = true
    for (const schedule of this.#schedules.values()) stopClocks(schedule)
    this.#schedules.clear()
  }

  /** A bug ends the reply: thrown in a timer, it would end the process. */
  #lookAt(channel: HeldChannel): void {
    try {
      this.#follow(channel)
    } catch (error) {
      this.events.failed(error)
    }
  }

  #follow(channel: HeldChannel): void {
    const schedule = this.#schedules.get(channel) ?? { isLate: false, isAsked: false }
    if (this.#isClosed || schedule.isAsked) return
    const due = channel.text.due()
    if (due === 'no') return
    this.#schedules.set(channel, schedule)
    if (due !== 'at-once' && schedule.pause !== undefined) return
    if (due === 'in-word' && !schedule.isLate) this.#waitForWord(channel, schedule)
    else void this.#ask(channel, schedule)
  }

  #waitForWord(channel: HeldChannel, schedule: Schedule): void {
    schedule.word ??= setTimeout(() => {
      schedule.word = undefined
      schedule.isLate = true
      this.#lookAt(channel)
    }, WORD)
  }

  async #ask(channel: HeldChannel, schedule: Schedule): Promise<void> {
    try {
      const content = channel.text.take()
      if (content === undefined) return
      stopClocks(schedule)
      Object.assign(schedule, { isLate: false, isAsked: true })
      schedule.pause = setTimeout(() => {
        schedule.pause = undefined
        this.#lookAt(channel)
      }, this.webhooks.minIntervalMs)
      const { kind, role, isJson = false } = channel.speaker
      const entries = [content, ...channel.text.others].map((text): AskedEntry => ({
        kind,
        role,
        content: text,
        isJson,
        isWritable: true,
      }))
      const decision = await this.webhooks.ask(entries)
      if (this.#isClosed) return
      if (decision.type !== 'pass') return this.events.ended(decision)
      const {
        contents: [answer = content, ...others],
        needed,
      } = decision
      const slices = channel.answered({ content: answer, needed, others })
      while (slices.next().done !== true) {
        await nextTurn()
        if (this.#isClosed) return
      }
      schedule.isAsked = false
      this.#goOn(channel, schedule)
    } catch (error) {
      this.events.failed(error)
    }
  }

  #goOn(channel: HeldChannel, schedule: Schedule): void {
    if (channel.isDone()) {
      stopClocks(schedule)
      this.#schedules.delete(channel)
    }
    this.events.answered()
    this.#lookAt(channel)
  }
}

function stopClocks(schedule: Schedule): void {
  clearTimeout(schedule.pause)
  clearTimeout(schedule.word)
  schedule.pause = undefined
  schedule.word = undefined
}
