// Asks all workers the same question, and keeps the last answer of each.

import type { ToWorker } from './messages.js'

/** What a question needs from a worker's slot. */
export interface AskedPlace {
  readonly number: number
  readonly isReady: boolean
  post(message: ToWorker): void
}

/** Longest wait for an answer, or for its next part; after that, a worker's previous answer is used. */
const ANSWER_MS = 1_000
/** Longest wait for all parts of an answer, in milliseconds. */
const WHOLE_ANSWER_MS = 5_000

interface WaitingCall {
  readonly worker: number
  readonly end: () => void
  /** Begins the wait for the next part. */
  readonly goOn: () => void
}

/** A question to all workers. */
export class WorkerQuestion<Answer> {
  readonly #places: readonly AskedPlace[]
  readonly #question: (call: number) => ToWorker
  readonly #waiting = new Map<number, WaitingCall>()
  #calls = 0
  /** Latest answers by worker. */
  readonly answers = new Map<number, Answer>()

  constructor(places: readonly AskedPlace[], question: (call: number) => ToWorker) {
    this.#places = places
    this.#question = question
  }

  /** Returns the answers once all ready workers have answered, or have had the time to. */
  async ask(): Promise<readonly Answer[]> {
    const ready = this.#places.filter(({ isReady }) => isReady)
    await Promise.all(ready.map((place) => this.#askOne(place)))
    return [...this.answers.values()]
  }

  receive(worker: number, call: number, answer: Answer): void {
    this.answers.set(worker, answer)
    // An earlier call has its answer, too: a worker that is asked too much never answers it.
    for (const [asked, waiting] of this.#waiting)
      if (waiting.worker === worker && asked <= call) waiting.end()
  }

  /** Called when a part of an answer has come. */
  heard(call: number): void {
    this.#waiting.get(call)?.goOn()
  }

  #askOne(place: AskedPlace): Promise<void> {
    const call = (this.#calls += 1)
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        clearTimeout(last)
        this.#waiting.delete(call)
        resolve()
      }
      const timer = setTimeout(end, ANSWER_MS)
      const last = setTimeout(end, WHOLE_ANSWER_MS)
      this.#waiting.set(call, { worker: place.number, end, goOn: () => void timer.refresh() })
      place.post(this.#question(call))
    })
  }
}
