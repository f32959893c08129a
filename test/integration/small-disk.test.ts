// `gatehouse serve --workers` where no folder has room for the counters of the workers, and `gatehouse run` where none has
// room for what Envoy is started with.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { MAIN } from '../../testing/program.js'
import { envoyPath } from '../support/envoy.js'
import { temporaryFolder } from '../support/program.js'

/** Starts it where each file may have one block: the first write stores a part, and the next one fails. */
async function startWithoutRoom(
  command: string,
  served: string,
): Promise<{ readonly folder: string; readonly log: string; readonly code: number | null }> {
  const folder = await temporaryFolder()
  const flags = `--resources ${folder} --admin 127.0.0.1:0`
  const child = spawn(
    'sh',
    ['-c', `ulimit -f 1; exec ${process.execPath} ${MAIN} ${command} ${flags}`],
    {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, TMPDIR: folder },
    },
  )
  const log = text(child.stderr)
  // It would serve otherwise, and not end.
  child.stderr.on('data', (bytes: Buffer) => {
    if (bytes.toString().includes(served)) child.kill()
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { folder, log: await log, code }
}

test('a disk that takes a part of the file: the start ends with the folder and what to do', async () => {
  const { folder, log, code } = await startWithoutRoom(
    'serve --grpc 127.0.0.1:0 --workers 2',
    'Gatehouse listens',
  )
  expect(log).toContain(
    `no file of 65536 bytes can be made in ${folder} for what workers count together: set TMPDIR to a folder with room for it`,
  )
  expect(code).toBe(1)
})

test("a disk that takes a part of Envoy's bootstrap: the same", async () => {
  const { folder, log, code } = await startWithoutRoom(
    `run --envoy ${envoyPath()}`,
    'Envoy is serving',
  )
  expect(log).toContain(
    `gatehouse: what Envoy is started with cannot be written in ${folder}: set TMPDIR to a folder with room for it (`,
  )
  expect(code).toBe(1)
})
