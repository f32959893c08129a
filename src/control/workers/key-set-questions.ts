// In a worker: requests fetches of key sets from the main process, which makes them for all workers.

import type { FromWorker, RefetchedKeySet, ToWorker } from './messages.js'

/** A message about fetches of key sets. */
export type KeySetMessage = Extract<
  ToWorker,
  { readonly type: 'refetched' } | { readonly type: 'key-set-answers' }
>

/**
 * Most questions about one key set without an answer. A flood of checks, each of which waits for a second, asks more only if
 * the main process hangs, and would fill the memory with questions.
 */
export const MOST_UNANSWERED = 8_192

/** The interface by which ext_authz requests fresh keys. */
export class KeySetQuestions {
  readonly #post: (message: FromWorker) => void
  readonly #answers = new Map<string, number>()
  readonly #calls = new Map<number, (keySet: RefetchedKeySet) => void>()
  /** Number of questions without an answer, by key set. */
  readonly #unanswered = new Map<string, number>()
  #last = 0

  constructor(post: (message: FromWorker) => void) {
    this.#post = post
  }

  /**
   * Requests a fetch. When it resolves, the tables contain the result: both use the same channel, tables first. Every
   * call is sent, because only the main process knows whether a fetch had begun before.
   */
  readonly refetchKeySet = async (id: string): Promise<RefetchedKeySet> => {
    if ((this.#unanswered.get(id) ?? 0) >= MOST_UNANSWERED)
      return { isAnswered: false, isOlder: false, answers: this.keySetAnswers(id) }
    this.#count(id, 1)
    try {
      const keySet = await this.#ask(id)
      this.#answers.set(id, keySet.answers)
      return keySet
    } finally {
      this.#count(id, -1)
    }
  }

  readonly keySetAnswers = (id: string): number => this.#answers.get(id) ?? 0

  receive(message: KeySetMessage): void {
    if (message.type === 'key-set-answers') {
      this.#answers.set(message.id, message.answers)
      return
    }
    const { call, keySet } = message
    this.#calls.get(call)?.(keySet)
    this.#calls.delete(call)
  }

  #ask(id: string): Promise<RefetchedKeySet> {
    const call = (this.#last += 1)
    return new Promise((resolve) => {
      this.#calls.set(call, resolve)
      this.#post({ type: 'refetch', call, id })
    })
  }

  #count(id: string, change: 1 | -1): void {
    const unanswered = (this.#unanswered.get(id) ?? 0) + change
    if (unanswered === 0) this.#unanswered.delete(id)
    else this.#unanswered.set(id, unanswered)
  }
}
