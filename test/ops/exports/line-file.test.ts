// The file of the decision log: nothing that happens to it holds up or fails the caller.

import { execFileSync } from 'node:child_process'
import { constants } from 'node:fs'
import { mkdtemp, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  type LineFile,
  type LineFileOptions,
  openLineFile,
} from '../../../src/ops/exports/line-file.js'
import { eventually } from '../../../testing/eventually.js'

let folder: string
let path: string
let file: LineFile | undefined
let counts: Record<'sent' | 'dropped', number>
let problems: string[]

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gatehouse-lines-'))
  path = join(folder, 'decisions.log')
  counts = { sent: 0, dropped: 0 }
  problems = []
})
afterEach(async () => {
  await file?.close()
  await rm(folder, { recursive: true })
})

function start(options: Partial<LineFileOptions> = {}): LineFile {
  file = openLineFile({
    path,
    onLines: (result, lines) => (counts[result] += lines),
    onFailure: (problem) => problems.push(problem),
    pauseMs: 1,
    retryMs: 1,
    ...options,
  })
  return file
}

const content = (name = path): Promise<string> => readFile(name, 'utf8')

const untilSent = (lines: number): Promise<void> =>
  eventually(() => {
    expect(counts.sent).toBe(lines)
  })

test('lines are appended in order, behind what is there', async () => {
  await writeFile(path, 'before\n')
  const lines = start()
  lines.write('one\n')
  lines.write('two\n')
  await untilSent(2)
  expect(await content()).toBe('before\none\ntwo\n')
})

test('after a rename, lines go to a new file of the same name', async () => {
  const lines = start()
  lines.write('one\n')
  await untilSent(1)
  await rename(path, `${path}.1`)
  lines.write('two\n')
  await untilSent(2)
  expect([await content(`${path}.1`), await content()]).toEqual(['one\n', 'two\n'])
})

test('a file that cannot be written is tried again; its lines are neither lost nor repeated', async () => {
  const lines = start()
  lines.write('one\n')
  await untilSent(1)
  await rename(folder, `${folder}-away`)
  lines.write('two\n')
  await eventually(() => {
    expect(problems.join()).toContain('ENOENT')
  })
  await rename(`${folder}-away`, folder)
  await untilSent(2)
  expect(await content()).toBe('one\ntwo\n')
})

test('a disk that is full: lines beyond the limit are dropped and counted', async () => {
  path = '/dev/full'
  const lines = start({ maxWaiting: 10 })
  for (let index = 0; index < 20; index += 1) lines.write('12345\n')
  await eventually(() => {
    expect(problems.join()).toContain('ENOSPC')
  })
  expect(counts).toEqual({ sent: 0, dropped: 19 })
  await lines.close()
  expect(counts).toEqual({ sent: 0, dropped: 20 })
})

test('closing writes what waits, and later lines are dropped', async () => {
  const lines = start({ pauseMs: 60_000 })
  lines.write('one\n')
  await lines.close()
  lines.write('two\n')
  expect(await content()).toBe('one\n')
  expect(counts).toEqual({ sent: 1, dropped: 1 })
})

test('a path that cannot be opened is an error at once', () => {
  expect(() => start({ path: join(folder, 'missing', 'x') })).toThrow(
    /missing\/x cannot be opened for appending: ENOENT/,
  )
})

describe('a named pipe', () => {
  beforeEach(() => void execFileSync('mkfifo', [path]))

  test('that nobody reads cannot be opened', () => {
    expect(() => start()).toThrow(`${path} cannot be opened for appending`)
  })

  test('whose reader takes nothing holds up nothing, and gets whole lines when it reads', async () => {
    const reader = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const lines = start({ maxWaiting: 2_000_000 })
    const line = `${'x'.repeat(999)}\n`
    for (let count = 0; count < 3_000; count += 1) lines.write(line)
    expect(counts.dropped).toBe(1_000)
    await eventually(() => expect(problems.at(-1)).toContain('EAGAIN'))
    // Reads of other files still find a free thread.
    await Promise.all(Array.from({ length: 8 }, () => readFile(import.meta.filename)))
    let received = ''
    await eventually(async () => {
      const { bytesRead, buffer } = await reader.read(Buffer.alloc(1_000_000))
      received += buffer.toString('latin1', 0, bytesRead)
      expect(received.length).toBe(2_000 * line.length)
    })
    expect(received).toBe(line.repeat(2_000))
    await reader.close()
  })

  test('whose reader has left ends with the process', async () => {
    const reader = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const lines = start()
    lines.write('one\n')
    await untilSent(1)
    await reader.close()
    lines.write('two\n')
    await eventually(() => expect(problems.at(-1)).toMatch(/EPIPE|ENXIO/))
    await lines.close()
    expect(counts).toEqual({ sent: 1, dropped: 1 })
  })
})
