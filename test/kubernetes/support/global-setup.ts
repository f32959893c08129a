// Runs once before these tests: provides the Envoy that scripts/test-kubernetes.mjs found, because the tests have no
// network to download one. Ends the API servers that they shared when they have run.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { eventually } from '../../../testing/eventually.js'

import '../../support/envoy.js'

export function setup(project: TestProject): () => Promise<void> {
  project.provide('envoyPath', process.env['GATEHOUSE_TEST_ENVOY'] ?? 'envoy')
  const shared = mkdtempSync(join(tmpdir(), 'gatehouse-shared-'))
  project.provide('sharedProcesses', shared)
  return async () => {
    const processes = readdirSync(shared)
    await Promise.all(processes.map((id) => endOne(Number(id))))
    for (const id of processes)
      rmSync(readFileSync(join(shared, id), 'utf8'), { recursive: true, force: true })
    rmSync(shared, { recursive: true })
  }
}

/** Ends a process that is still there: a worker that was killed could not. */
async function endOne(id: number): Promise<void> {
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
