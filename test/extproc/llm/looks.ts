// Counts how many JSON values a piece of work examines between two yields.

import type { JsonNode } from '../../../src/kit/json/json-node.js'
import type { Work } from '../../../src/kit/turns.js'

/** Each value of JSON is looked at once or a few times. */
export class Looks {
  #now = 0
  readonly slices: number[] = []

  /** Counts whoever asks what a value is. */
  watch(node: JsonNode): void {
    const inner: JsonNode[] =
      node.type === 'object'
        ? [...node.members.values()]
        : node.type === 'array'
          ? [...node.items]
          : []
    inner.forEach((value) => this.watch(value))
    const { type } = node
    Object.defineProperty(node, 'type', {
      get: () => {
        this.#now += 1
        return type
      },
    })
  }

  /** Something else that counts. */
  look(): void {
    this.#now += 1
  }

  run<T>(work: Work<T>): T {
    for (;;) {
      this.#now = 0
      const step = work.next()
      this.slices.push(this.#now)
      if (step.done === true) return step.value
    }
  }
}
