// What becomes of a worker's questions when it is replaced.

import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import type { RefetchedKeySet } from '../../../src/control/workers/messages.js'
import { WorkerPool } from '../../../src/control/workers/worker-pool.js'
import type { Settings } from '../../../src/ops/settings/settings.js'
import { eventually } from '../../../testing/eventually.js'
import { recordingLogger } from '../../wire/grpc/recording-logger.js'

/** Each process asks its first question as soon as it is ready, and writes down the answers. */
const program = (answers: string): string => `
import { appendFileSync } from 'node:fs'
process.on('disconnect', () => process.exit())
process.on('message', ({ type, keySet }) => {
  if (type === 'refetched') appendFileSync(${JSON.stringify(answers)}, keySet.answers + '\\n')
  if (type !== 'start') return
  process.send({ type: 'ready' })
  process.send({ type: 'refetch', call: 1, id: 'keys' })
})
`

test('an answer for a worker that was replaced does not reach the new one', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-pool-'))
  const answers = join(folder, 'answers')
  const file = join(folder, 'program.mjs')
  appendFileSync(answers, '')
  writeFileSync(file, program(answers))
  const asked: ((keySet: RefetchedKeySet) => void)[] = []
  const pool = new WorkerPool({
    settings: { workers: 1 } as Settings,
    heldBytes: 0,
    services: [],
    onRestart: () => undefined,
    logger: recordingLogger().logger,
    refetchKeySet: () => new Promise((resolve) => asked.push(resolve)),
    program: pathToFileURL(file),
  })
  onTestFinished(async () => {
    await pool.close()
    rmSync(folder, { recursive: true })
  })
  await pool.start([])
  await eventually(() => expect(asked).toHaveLength(1))
  process.kill(pool.pids()[0] ?? 0, 'SIGKILL')
  await eventually(() => expect(asked).toHaveLength(2))
  const answer = { isAnswered: true, isOlder: false }
  for (const [index, resolve] of asked.entries()) resolve({ ...answer, answers: index + 1 })
  await eventually(() => expect(readFileSync(answers, 'utf8')).toContain('2\n'))
  expect(readFileSync(answers, 'utf8')).toBe('2\n')
})
