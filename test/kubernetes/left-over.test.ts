// An API server that fails to start leaves nothing behind.

import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { startApiServer } from '../../testing/api-server.js'

afterEach(() => {
  vi.unstubAllEnvs()
})

/** The command lines that name it. */
async function processesOf(folder: string): Promise<readonly string[]> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const lines = ids.map((id) => readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => ''))
  return (await Promise.all(lines)).filter((line) => line.includes(folder))
}

test('its etcd ends, and its files go', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-test-'))
  vi.stubEnv('TMPDIR', folder)
  // No program to start.
  vi.stubEnv('GATEHOUSE_TEST_APISERVER', '')
  await expect(startApiServer()).rejects.toThrow('cannot be empty')
  expect(await processesOf(folder)).toEqual([])
  expect(await readdir(folder)).toEqual([])
  await rm(folder, { recursive: true, force: true })
})
