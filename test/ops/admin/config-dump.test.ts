// /config_dump of a large configuration: it is streamed as it is produced, without blocking other work.

import { afterEach, expect, test } from 'vitest'
import type { LazyJson } from '../../../src/model/json.js'
import { type AdminServer, startAdminServer } from '../../../src/ops/admin/admin-server.js'
import { eventually } from '../../../testing/eventually.js'
import { recordingLogger } from '../../wire/grpc/recording-logger.js'

let server: AdminServer | undefined

afterEach(async () => {
  await server?.close()
})

/** part: made when its turn comes. */
async function start(count: number, part: (index: number) => LazyJson, ready?: () => void) {
  const { logger, lines } = recordingLogger()
  const source = {
    explain: () => Promise.resolve({ ok: false as const, error: 'not here' }),
    status: () => {
      throw new Error('nobody asks')
    },
    page: () => Promise.reject(new Error('nobody asks')),
    readiness: () => {
      ready?.()
      return { ready: true, reasons: [] }
    },
    configDump: () => ({ parts: [...Array(count).keys()].map((index) => () => part(index)) }),
    metrics: () => Promise.reject(new Error('nobody asks')),
  }
  const address = { type: 'tcp', host: '127.0.0.1', port: 0 } as const
  server = await startAdminServer({ address, source, logger, pages: 'all' })
  return { base: `http://${server.address}`, lines }
}

const large = (index: number): LazyJson => ({ index, text: 'x'.repeat(10_000) })

test('it comes whole, and others are answered meanwhile', async () => {
  let made = 0
  let whenReady = 0
  const { base } = await start(
    5_000,
    (index) => {
      made += 1
      return large(index)
    },
    () => (whenReady = made),
  )
  const answer = await fetch(`${base}/config_dump`)
  expect((await fetch(`${base}/readyz`)).status).toBe(200)
  const { parts } = (await answer.json()) as { parts: readonly unknown[] }
  expect([parts.length, made]).toEqual([5_000, 5_000])
  expect(whenReady).toBeLessThan(5_000)
})

test('it breaks off when a part cannot be made, and what is asked next is answered', async () => {
  const { base, lines } = await start(200, (index) => {
    if (index === 150) throw new Error('a fault')
    return large(index)
  })
  const answer = await fetch(`${base}/config_dump`)
  await expect(answer.text()).rejects.toThrow()
  expect((await fetch(`${base}/healthz`)).status).toBe(200)
  expect(JSON.stringify(lines)).toContain('an admin answer was not sent')
})

test('it ends when its reader leaves', async () => {
  let made = 0
  const { base, lines } = await start(100_000, (index) => {
    made += 1
    return large(index)
  })
  const leaving = new AbortController()
  await fetch(`${base}/config_dump`, { signal: leaving.signal })
  leaving.abort()
  await eventually(() => {
    expect(JSON.stringify(lines)).toContain('an admin answer was not sent')
  })
  expect(made).toBeLessThan(100_000)
})
