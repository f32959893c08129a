// Answers that have to be unpacked while the threads of the process are busy: a call ends at its deadline all the same.

import { execFileSync } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { plainPools } from '../../extproc/support/guards.js'
import { at, closeAfterEach, closing, failureOf, serve } from './support/servers.js'

closeAfterEach()

/** Keeps every thread of the pool, which unpacks, busy for as long as the function runs. */
async function withBusyThreads(body: () => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-pipe-'))
  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  const threads = Number(process.env['UV_THREADPOOL_SIZE'] ?? 4)
  // Opening a pipe for reading waits for its writer.
  const readers = Array.from({ length: threads }, () => open(pipe, 'r'))
  try {
    await body()
  } finally {
    const writer = openSync(pipe, constants.O_RDWR)
    for (const reader of await Promise.all(readers)) await reader.close()
    closeSync(writer)
    rmSync(folder, { recursive: true })
  }
}

const servePacked = (): Promise<number> =>
  serve((_request, response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('{}')),
  )

test('a call ends at its deadline, and when its caller gives up', async () => {
  const port = await servePacked()
  await withBusyThreads(async () => {
    expect(await failureOf(at(port), { timeoutMs: 200 })).toMatchObject({ type: 'timeout' })
    const signal = AbortSignal.timeout(200)
    expect(await failureOf(at(port), { signal })).toEqual({ type: 'aborted' })
  })
})

test('a webhook’s call ends at its deadline, and when its caller gives up', async () => {
  const port = await servePacked()
  const pools = plainPools()
  closing.push(() => pools.close())
  const call = {
    backend: 'guard',
    target: at(port),
    maxConnections: 1,
    keepAliveSeconds: 300,
    phase: 'request',
    method: 'POST',
    path: '/',
    headers: { host: 'guard.example' },
    body: Buffer.from('prompt'),
    maxBytes: 1_000,
  } as const
  await withBusyThreads(async () => {
    const { signal } = new AbortController()
    const late = await pools.call({ ...call, signal, timeoutMs: 200 })
    expect(late).toEqual({ ok: false, error: { type: 'timeout', timeoutMs: 200 } })
    const given = await pools.call({ ...call, signal: AbortSignal.timeout(200) })
    expect(given).toEqual({ ok: false, error: { type: 'aborted' } })
  })
})
