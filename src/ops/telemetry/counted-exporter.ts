// Counts the items that an exporter of the SDK sends or fails to send, and those that do not fit into its queue. The
// SDK reports neither.

/** result: sent to the collector, failed there, or dropped because too many waited. */
export type CountItems = (result: 'sent' | 'failed' | 'dropped', items: number) => void

/** Result of an export; code 0: success. */
interface ExportResult {
  readonly code: number
}

interface Exporter<T> {
  export(items: T[], done: (result: ExportResult) => void): void
  shutdown(): Promise<void>
  forceFlush?(): Promise<void>
}

/** An exporter, and the number of items that wait for it. */
export class CountedExporter<T> {
  readonly #inner: Exporter<T>
  readonly #count: CountItems
  readonly #max: number
  #waiting = 0

  /** max: maximum number of items that may wait. */
  constructor(inner: Exporter<T>, count: CountItems, max: number) {
    this.#inner = inner
    this.#count = count
    this.#max = max
  }

  /** Whether one more item may wait; counts it as waiting or as dropped. */
  admit(): boolean {
    if (this.#waiting >= this.#max) {
      this.#count('dropped', 1)
      return false
    }
    this.#waiting += 1
    return true
  }

  export(items: T[], done: (result: ExportResult) => void): void {
    this.#waiting -= items.length
    this.#inner.export(items, (result) => {
      this.#count(result.code === 0 ? 'sent' : 'failed', items.length)
      done(result)
    })
  }

  shutdown(): Promise<void> {
    return this.#inner.shutdown()
  }

  async forceFlush(): Promise<void> {
    await this.#inner.forceFlush?.()
  }
}
