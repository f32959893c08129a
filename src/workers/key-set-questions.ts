// In a worker: requests fetches of key sets from the main process, which makes them for all workers.

import type { FromWorker, RefetchedKeySet, ToWorker } from './messages.js'

/** A message about fetches of key sets. */
export type KeySetMessage = Extract<
  ToWorker,
  { readonly type: 'refetched' } | { readonly type: 'key-set-answers' }
>

/** The interface by which ext_authz requests fresh keys. */
export class KeySetQuestions {
  readonly #post: (message: FromWorker) => void
  readonly #answers = new Map<string, number>()
  readonly #calls = new Map<number, (keySet: RefetchedKeySet) => void>()
  #last = 0

  constructor(post: (message: FromWorker) => void) {
    this.#post = post
  }

  /**
   * Requests a fetch. When it resolves, the tables contain the result: both use the same channel, tables first. Every
   * call is sent, because only the main process knows whether a fetch had begun before.
   */
  readonly refetchKeySet = async (id: string): Promise<RefetchedKeySet> => {
    const call = (this.#last += 1)
    const keySet = await new Promise<RefetchedKeySet>((resolve) => {
      this.#calls.set(call, resolve)
      this.#post({ type: 'refetch', call, id })
    })
    this.#answers.set(id, keySet.answers)
    return keySet
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
}
