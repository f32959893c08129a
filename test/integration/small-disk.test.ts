// `gatehouse serve --workers` where no folder has room for the counters of the workers.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/program.js'

const MAIN = resolve(import.meta.dirname, '../../dist/main.js')

test('a disk that takes a part of the file: the start ends with the folder and what to do', async () => {
  const folder = await temporaryFolder()
  const flags = `--resources ${folder} --grpc 127.0.0.1:0 --admin 127.0.0.1:0 --workers 2`
  // Each file may have one block: the first write stores a part, and the next one fails.
  const command = `ulimit -f 1; exec ${process.execPath} ${MAIN} serve ${flags}`
  const child = spawn('sh', ['-c', command], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, TMPDIR: folder },
  })
  const log = text(child.stderr)
  // It would serve otherwise, and not end.
  child.stderr.on('data', (bytes: Buffer) => {
    if (bytes.toString().includes('Gatehouse listens')) child.kill()
  })
  const [code] = (await once(child, 'close')) as [number | null]
  expect(await log).toContain(
    `no file of 65536 bytes can be made in ${folder} for what workers count together: set TMPDIR to a folder with room for it`,
  )
  expect(code).toBe(1)
})
