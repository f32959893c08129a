// Entry point of the reader thread: reads and decodes the requested files one after the other.

import { parentPort, workerData } from 'node:worker_threads'
import { kindsOf } from '../../schema/kinds/kinds.js'
import { readDocuments } from './read-documents.js'
import type { ReadAnswer, ReadQuestion } from './reader-thread.js'

// The YAML library looks up a variable for each token. In Node's own object, that is a quarter of the time of parsing.
process.env = {}
const kinds = kindsOf(workerData as string)
const answer = (text: ReadAnswer): void => parentPort?.postMessage(text)

parentPort?.on('message', (files: readonly ReadQuestion[]) => {
  answer(files.map((file) => readDocuments(file, kinds, new Set(file.known), file.part)))
})
answer('loaded')
