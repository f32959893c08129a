// The pool of reader threads: when they start and stop, and files that are read in parts.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { kindsOf } from '../../../../src/control/schema/kinds/kinds.js'
import { type Part, readDocuments } from '../../../../src/control/sources/files/read-documents.js'
import { startReaderPool } from '../../../../src/control/sources/files/reader-pool.js'
import type {
  ReadQuestion,
  ThreadReader,
} from '../../../../src/control/sources/files/reader-thread.js'

const apiGroup = 'policy.gatehouse.dev'
const kinds = kindsOf(apiGroup)

const service = (name: string) =>
  `apiVersion: v1\nkind: Service\nmetadata: { name: ${name} }\nspec: { ports: [{ port: 80 }] }\n`

function fileOf(text: string) {
  const folder = mkdtempSync(join(tmpdir(), 'reader-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'a.yaml')
  writeFileSync(path, text)
  return { path, size: Buffer.byteLength(text) }
}

const servicesOf = (count: number) =>
  fileOf([...Array(count).keys()].map((index) => service(`s-${String(index)}`)).join('---\n'))

const readHere = (file: ReadQuestion) => readDocuments(file, kinds, new Set(file.known), file.part)

/** Reads in this thread, once it is let. */
class FakeThread implements ThreadReader {
  waiting = 0
  isReady = true
  isClosed = false
  readonly asked: (readonly ReadQuestion[])[] = []
  #go: (() => void)[] = []

  async read(files: readonly ReadQuestion[]) {
    this.waiting += 1
    this.asked.push(files)
    await new Promise<void>((go) => this.#go.push(go))
    this.waiting -= 1
    return files.map(readHere)
  }

  go(): void {
    for (const go of this.#go.splice(0)) go()
  }

  close(): void {
    this.isClosed = true
  }
}

function poolOf({ worthBytes = 1024 * 1024, cores = 3 } = {}) {
  const threads: FakeThread[] = []
  const startThread = (): ThreadReader => {
    const thread = new FakeThread()
    threads.push(thread)
    return thread
  }
  const pool = startReaderPool({ apiGroup, cores, worthBytes, startThread })
  onTestFinished(() => pool.close())
  return { pool, threads, go: () => threads.forEach((thread) => thread.go()) }
}

/** Lets threads read until it has settled. */
async function settled<Value>(promise: Promise<Value>, go: () => void): Promise<Value> {
  let isDone = false
  void promise.then(() => (isDone = true))
  while (!isDone) {
    go()
    await new Promise(setImmediate)
  }
  return promise
}

test('one thread reads what is little', async () => {
  const { pool, threads, go } = poolOf()
  const file = servicesOf(3)
  const reads = [1, 2, 3, 4, 5].map(() => pool.read(file, new Map()))
  expect(threads).toHaveLength(1)
  expect(threads[0]?.waiting).toBe(2)
  for (const read of reads) {
    expect(await settled(read, go)).toMatchObject({ type: 'documents', documents: [{}, {}, {}] })
  }
  expect(threads).toHaveLength(1)
})

test('small files are asked for together, and a large one alone', async () => {
  const { pool, threads, go } = poolOf({ cores: 1 })
  const [small, large] = [servicesOf(1), servicesOf(1_000)]
  const files = [small, small, small, small, small, large, small, small, large]
  const reads = Promise.all(files.map((file) => pool.read(file, new Map())))
  expect(threads[0]?.waiting).toBe(2)
  const expected = files.map((file) => readDocuments(file, kinds, new Map()))
  expect(await settled(reads, go)).toEqual(expected)
  expect(threads[0]?.asked.map(({ length }) => length)).toEqual([1, 1, 3, 1, 2, 1])
})

test('others come while much is to be read, and go when it is', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { pool, threads, go } = poolOf({ worthBytes: 16 * 1024 })
  const file = servicesOf(10)
  const reads = Promise.all([...Array(60).keys()].map(() => pool.read(file, new Map())))
  expect(threads).toHaveLength(3)
  await settled(reads, go)
  expect(threads.map(({ isClosed }) => isClosed)).toEqual([false, false, false])
  vi.advanceTimersByTime(1_000)
  expect(threads.map(({ isClosed }) => isClosed)).toEqual([false, true, true])
  const again = pool.read(file, new Map())
  threads[0]?.go()
  expect(await again).toMatchObject({ type: 'documents' })
})

test('what is read first may use every core, and what comes later leaves one', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const { pool, threads, go } = poolOf({ worthBytes: 16 * 1024 })
  const file = servicesOf(10)
  const readMany = () => Promise.all([...Array(60).keys()].map(() => pool.read(file, new Map())))
  await settled(readMany(), go)
  vi.advanceTimersByTime(1_000)
  await settled(readMany(), go)
  expect(threads.map(({ isClosed }) => isClosed)).toEqual([false, true, true, false])
})

test.each([1, 2, 3, 10, 100, 101])(
  'a large file of %i documents is read in parts, and is what it is as a whole',
  async (count) => {
    const { pool, threads, go } = poolOf({ worthBytes: 32 })
    const file = servicesOf(count)
    const whole = readDocuments(file, kinds, new Map())
    if (whole.type === 'broken') throw new Error(whole.message)
    const known = new Map(whole.documents.slice(0, 2).map(({ hash }) => [hash, undefined]))
    const read = await settled(pool.read(file, known), go)
    expect(read).toEqual(readDocuments(file, kinds, known))
    expect(threads[0]?.asked.flat().some(({ part }) => part !== undefined)).toBe(true)
  },
)

test('a file that changes between its parts is read as a whole', async () => {
  const [before, after] = [servicesOf(20), servicesOf(21)]
  const asked: (Part | undefined)[] = []
  const startThread = (): ThreadReader => ({
    waiting: 0,
    isReady: true,
    close: () => undefined,
    read: (files) => {
      asked.push(...files.map(({ part }) => part))
      return Promise.resolve(
        files.map((file) => readHere({ ...file, ...(file.part?.index === 0 ? before : after) })),
      )
    },
  })
  const pool = startReaderPool({ apiGroup, cores: 2, worthBytes: 64, startThread })
  const read = await pool.read(before, new Map())
  expect(asked).toEqual([{ index: 0, count: 2 }, { index: 1, count: 2 }, undefined])
  expect(read).toEqual(readDocuments(after, kinds, new Map()))
})

test('a file of which a part cannot be read is broken', async () => {
  const broken = { type: 'broken', message: 'cannot be parsed: it ended' } as const
  const startThread = (): ThreadReader => ({
    waiting: 0,
    isReady: true,
    close: () => undefined,
    read: (files) =>
      Promise.resolve(files.map((file) => (file.part?.index === 1 ? broken : readHere(file)))),
  })
  const pool = startReaderPool({ apiGroup, cores: 2, worthBytes: 64, startThread })
  expect(await pool.read(servicesOf(20), new Map())).toEqual(broken)
})

test('what still waits when it is closed is not read', async () => {
  const { pool } = poolOf()
  const file = servicesOf(1)
  const reads = [1, 2, 3, 4].map(() => pool.read(file, new Map()))
  pool.close()
  expect(await reads[3]).toMatchObject({ type: 'broken', unread: true })
  expect(await pool.read(file, new Map())).toMatchObject({ type: 'broken' })
})
