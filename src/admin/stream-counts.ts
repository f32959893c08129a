// Counts open ext_proc streams in a plain map, which is read at every scrape.

import { Gauge, type Registry } from 'prom-client'

/** Gauge of open ext_proc streams by type. */
export class StreamCounts {
  /** Numbers by type; a type stays, at 0, when its last stream has ended. */
  readonly #open = new Map<string, number>()

  constructor(registers: Registry[]) {
    const open = this.#open
    new Gauge({
      name: 'gatehouse_open_streams',
      help: 'Open ext_proc streams, one for each request in progress, by what they are for.',
      labelNames: ['type'] as const,
      registers,
      collect() {
        for (const [type, count] of open) this.set({ type }, count)
      },
    })
  }

  opened(type: string): void {
    this.#open.set(type, (this.#open.get(type) ?? 0) + 1)
  }

  closed(type: string): void {
    this.#open.set(type, (this.#open.get(type) ?? 0) - 1)
  }
}
