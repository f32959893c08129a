// Processes that files of a worker share: they end with the worker, or at the latest when all tests have run.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inject } from 'vitest'
import type { TestProject } from 'vitest/node'
import { eventually } from '../../testing/eventually.js'

/** Ends a process and removes its folder when all tests have run, if it is still there. */
export const endWithTheTests = (id: number, folder: string): Promise<void> =>
  writeFile(join(inject('sharedProcesses'), String(id)), folder)

/** Lets the tests of a project share processes. Returns what ends those that are left, for its teardown. */
export function provideSharedProcesses(project: TestProject): () => Promise<void> {
  const shared = mkdtempSync(join(tmpdir(), 'gatehouse-shared-'))
  project.provide('sharedProcesses', shared)
  return async () => {
    const processes = readdirSync(shared)
    await Promise.all(processes.map((id) => end(Number(id))))
    for (const id of processes)
      rmSync(readFileSync(join(shared, id), 'utf8'), { recursive: true, force: true })
    rmSync(shared, { recursive: true })
  }
}

/** Ends a process that is still there: a worker that was killed could not. */
async function end(id: number): Promise<void> {
  if (!hasSignalled(id, 'SIGTERM')) return
  await eventually(() => {
    if (hasSignalled(id, 0)) throw new Error(`process ${String(id)} is still there`)
  })
}

function hasSignalled(id: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(id, signal)
  } catch {
    return false
  }
}
