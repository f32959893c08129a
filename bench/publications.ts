// Watches the log of a Gatehouse and emits an event whenever a change is published.

import { EventEmitter } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

/** Emits "published" with performance.now() for each publication. */
export function publicationsIn(log: Readable): EventEmitter {
  const publications = new EventEmitter()
  createInterface({ input: log }).on('line', (line) => {
    if (line.includes('configuration published')) publications.emit('published', performance.now())
  })
  return publications
}
