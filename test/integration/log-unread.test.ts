// `gatehouse serve` after the reader of its log has stopped.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { freePort } from '../../testing/ports.js'
import { MAIN } from '../../testing/program.js'
import { temporaryFolder } from '../support/program.js'

test.each([
  ['the reader of its log is gone', 'pipe' as const],
  ['the disk of its log is full', openSync('/dev/full', 'w')],
])('%s: it serves on, and SIGTERM ends it as always', async (_, stderr) => {
  const folder = await temporaryFolder()
  const admin = `127.0.0.1:${String(await freePort())}`
  const flags = ['--resources', folder, '--grpc', '127.0.0.1:0', '--admin', admin]
  const child = spawn(process.execPath, [MAIN, 'serve', ...flags], {
    stdio: ['ignore', 'ignore', stderr],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  child.stderr?.destroy()
  const get = (path: string) => fetch(`http://${admin}${path}`)
  const isReady = async () => expect((await get('/readyz')).status).toBe(200)
  await eventually(isReady)
  writeFileSync(join(folder, 'a.yaml'), 'broken: [')
  await eventually(async () => expect(await (await get('/status')).text()).toContain('a.yaml'))
  await isReady()
  const ended = once(child, 'close')
  child.kill()
  expect(await ended).toEqual([0, null])
})
