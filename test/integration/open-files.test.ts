// `gatehouse serve` during and after a shortage of file descriptors.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { renameSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import { MAIN } from '../../testing/program.js'
import { temporaryFolder } from '../support/program.js'

const service = (name: string) =>
  `apiVersion: v1\nkind: Service\nmetadata: { name: ${name} }\nspec: { ports: [{ port: 80 }] }\n`

/** Where it listens, and what it logged. */
async function serve(folder: string) {
  const flags = `--resources ${folder} --grpc 127.0.0.1:0 --admin 127.0.0.1:0`
  const command = `ulimit -n 400; exec ${process.execPath} ${MAIN} serve ${flags}`
  const child = spawn('sh', ['-c', command], { stdio: ['ignore', 'ignore', 'pipe'] })
  onTestFinished(async () => {
    const ended = once(child, 'close')
    child.kill()
    await ended
  })
  const lines: string[] = []
  const reader = createInterface({ input: child.stderr })
  reader.on('line', (line: string) => lines.push(line))
  const [first] = (await once(reader, 'line')) as [string]
  return { ...(JSON.parse(first) as { admin: string; grpc: string }), log: () => lines.join('\n') }
}

/** Connects until there is no descriptor left to take another connection with. */
async function exhaust(address: string): Promise<readonly Socket[]> {
  const [host = '', port] = address.split(':')
  const sockets = Array.from({ length: 450 }, () => connect({ host, port: Number(port) }))
  await new Promise<void>((refused) => {
    for (const socket of sockets) socket.on('error', () => undefined).once('close', () => refused())
  })
  return sockets
}

test('a change that could not be read for want of descriptors is read when there are some again', async () => {
  const folder = await temporaryFolder()
  writeFileSync(join(folder, 'a.yaml'), service('one'))
  const { admin, grpc, log } = await serve(folder)
  const status = async () => JSON.stringify(await (await fetch(`http://${admin}/status`)).json())
  await eventually(async () => expect(await status()).toContain('"one"'))
  const flood = await exhaust(grpc)
  // By a rename: a single event.
  writeFileSync(join(folder, 'new'), service('two'))
  renameSync(join(folder, 'new'), join(folder, 'a.yaml'))
  await eventually(() => expect(log()).toContain('cannot be read: EMFILE'))
  for (const socket of flood) socket.destroy()
  await eventually(async () => {
    const now = await status()
    expect(now).toContain('"two"')
    expect(now).not.toContain('EMFILE')
  })
})
