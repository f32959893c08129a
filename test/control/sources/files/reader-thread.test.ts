// The thread that reads files, and what happens to a file that crashes it.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { kindsOf } from '../../../../src/control/schema/kinds/kinds.js'
import { readerInPlace } from '../../../../src/control/sources/files/read-documents.js'
import {
  ReaderThread,
  type ReaderThreadOptions,
  type ReadQuestion,
} from '../../../../src/control/sources/files/reader-thread.js'

const BUILT = resolve(import.meta.dirname, '../../../../dist/control/sources/files/reader-main.js')
const apiGroup = 'policy.gatehouse.dev'

const service = (name: string, more = '') =>
  `apiVersion: v1\nkind: Service\nmetadata: { name: ${name} }\nspec: { ports: [{ port: 80 }] }\n${more}`

function reader(options: Partial<ReaderThreadOptions> = {}) {
  const started = new ReaderThread({ apiGroup, program: pathToFileURL(BUILT), ...options })
  onTestFinished(() => started.close())
  return started
}

function fileOf(text: string): ReadQuestion {
  const folder = mkdtempSync(join(tmpdir(), 'reader-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'a.yaml')
  writeFileSync(path, text)
  return { path, size: Buffer.byteLength(text), known: [] }
}

/** Reads a file alone. */
async function readBy(thread: ReaderThread, file: ReadQuestion) {
  const [read] = await thread.read([file])
  if (read === undefined) throw new Error('there is no answer')
  return read
}

/** More than a small thread can hold, or can read in a moment. */
const large = () => fileOf(Array.from({ length: 300_000 }, (_, i) => `- { a: ${i} }\n`).join(''))

test('it reads what this thread would read', async () => {
  const file = fileOf(`${service('a')}---\nkind: [\n---\n${service('b')}`)
  const expected = await readerInPlace(kindsOf(apiGroup)).read(file, new Map())
  expect(expected.type === 'documents' && expected.documents).toHaveLength(3)
  expect(await readBy(reader(), file)).toEqual(expected)
})

test('what is known is not decoded again', async () => {
  const file = fileOf(`${service('a')}---\n${service('b')}`)
  const read = await readBy(reader(), file)
  const [a, b] = read.type === 'documents' ? read.documents : []
  const again = await readBy(reader(), { ...file, known: [a?.hash ?? ''] })
  expect(again).toEqual({ type: 'documents', documents: [{ hash: a?.hash, line: 1 }, b] })
})

test.each<[string, Partial<ReaderThreadOptions>, RegExp]>([
  ['takes too much memory', { heapMb: 24 }, /^cannot be parsed: it takes too much memory$/],
  ['takes too long', { timeoutMs: 700 }, /^cannot be parsed: it takes longer than 0\.7 s$/],
])(
  'a file that %s is a problem of its own, and the others are read',
  async (_, options, message) => {
    const thread = reader(options)
    const [bad, good] = [large(), fileOf(service('a'))]
    // What is asked for at once with it, before and after it, and what waits behind it.
    const reads = await Promise.all([thread.read([good, bad, good]), thread.read([good, good])])
    const broken = { type: 'broken', message: expect.stringMatching(message) as string }
    const decoded = expect.objectContaining({ problems: [] }) as unknown
    const fine = expect.objectContaining({
      documents: [expect.objectContaining({ line: 1, decoded })],
    }) as unknown
    expect(reads).toEqual([
      [fine, broken, fine],
      [fine, fine],
    ])
  },
)

test('a thread that crashes is a problem of the file that it was reading', async () => {
  const crash = `import { parentPort } from 'node:worker_threads'
    parentPort.on('message', () => { throw new Error('boom') })`
  const program = new URL(`data:text/javascript,${encodeURIComponent(crash)}`)
  const thread = reader({ program })
  const file = fileOf(service('a'))
  const broken = { type: 'broken', message: 'cannot be parsed: boom' }
  const reads = [thread.read([file]), thread.read([file, file])]
  expect(await Promise.all(reads)).toEqual([[broken], [broken, broken]])
})

test('what still waits when it is closed is not read', async () => {
  const thread = reader()
  const waiting = thread.read([large(), fileOf('')])
  thread.close()
  const closed = { type: 'broken', message: 'is not read any more', unread: true }
  expect(await waiting).toEqual([closed, closed])
  expect(await thread.read([fileOf('')])).toEqual([closed])
})
