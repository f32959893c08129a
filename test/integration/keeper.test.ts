// The program that outlives Gatehouse: whatever arrives through its pipe, and however that ends, it ends what it was told
// of.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'

const PROGRAM = resolve(import.meta.dirname, '../../dist/cli/run-envoy/keeper-main.js')

/** A process that leads a group, a folder, and a keeper of both that has not been told of them yet. */
async function begin(told: object = { groups: [], folders: [] }): Promise<{
  readonly keeper: ChildProcess
  readonly ended: Promise<unknown>
  /** Resolves when the keeper has ended; that may be seen before the end of the process it kept. */
  readonly keeperEnded: Promise<unknown>
  readonly folder: string
  readonly kept: string
}> {
  const child = spawn('sleep', ['1000'], { detached: true, stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-keeper-'))
  const keeper = spawn(process.execPath, [PROGRAM, JSON.stringify(told)], {
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  onTestFinished(() => void keeper.kill('SIGKILL'))
  const kept = JSON.stringify({ groups: [child.pid], folders: [folder] })
  return {
    keeper,
    ended: once(child, 'exit'),
    keeperEnded: once(keeper, 'exit'),
    folder,
    kept,
  }
}

test.each([
  ['whole lines', (kept: string) => `{"groups":[],"folders":[]}\n${kept}\n`],
  ['a line of which the end is missing', (kept: string) => `${kept}\n{"groups":[],"fol`],
  ['something else behind it', (kept: string) => `${kept}\n\n[]\nnull\n`],
])('%s', async (_, text) => {
  const { keeper, ended, keeperEnded, folder, kept } = await begin()
  keeper.stdin?.end(text(kept))
  await ended
  await keeperEnded
  expect(keeper.exitCode).toBe(0)
  expect(existsSync(folder)).toBe(false)
})
