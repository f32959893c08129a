// The log of a Gatehouse → an event at every line that says that a change is in force.

import { EventEmitter } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

/** Emits "published" with the performance.now() of each. */
export function publicationsIn(log: Readable): EventEmitter {
  const publications = new EventEmitter()
  createInterface({ input: log }).on('line', (line) => {
    if (line.includes('configuration published')) publications.emit('published', performance.now())
  })
  return publications
}
