// The private folder of `run` and `demo`: if it cannot be created, the user is told how to fix it.

import { mkdirSync, readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import {
  createPrivateFolder,
  ENVOY_ADMIN_SOCKET,
  GATEHOUSE_SOCKET,
} from '../../../src/cli/run-envoy/private-folder.js'
import { temporaryFolder } from '../../support/program.js'

afterEach(() => vi.unstubAllEnvs())

/** TMPDIR: a folder whose path has so many bytes. */
async function temporaryPathOf(bytes: number): Promise<string> {
  const parent = await temporaryFolder()
  const path = join(parent, 'x'.repeat(bytes - parent.length - 1))
  mkdirSync(path)
  vi.stubEnv('TMPDIR', path)
  return path
}

test('a path with room for the sockets takes them all', async () => {
  await temporaryPathOf(103 - `/gatehouse-demo-XXXXXX/${ENVOY_ADMIN_SOCKET}`.length)
  const folder = await createPrivateFolder('demo')
  onTestFinished(() => folder.remove())
  for (const name of [ENVOY_ADMIN_SOCKET, GATEHOUSE_SOCKET]) {
    const server = createServer()
    onTestFinished(() => void server.close())
    await new Promise<void>((resolve) => server.listen(join(folder.path, name), resolve))
  }
})

test('a path without it is refused, before anything is written there', async () => {
  const path = await temporaryPathOf(104 - `/gatehouse-demo-XXXXXX/${ENVOY_ADMIN_SOCKET}`.length)
  await expect(createPrivateFolder('demo')).rejects.toThrow(
    `${path} is too long by 1 bytes for the Unix sockets in it: set TMPDIR to a shorter folder`,
  )
  expect(readdirSync(path)).toEqual([])
})

test('a folder that is not there is named, with what to do', async () => {
  vi.stubEnv('TMPDIR', '/nowhere/at/all')
  await expect(createPrivateFolder('run')).rejects.toThrow(
    /^no private folder can be made in \/nowhere\/at\/all: set TMPDIR to a folder that can be written to \(ENOENT/,
  )
})
