// Where the Envoy binary is searched, and what is reported about an unsuitable one.

import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findEnvoy } from '../../../src/cli/run-envoy/find-envoy.js'
import { cacheFolder, installedEnvoy } from '../../../src/cli/run-envoy/install-envoy.js'
import { program, temporaryFolder } from '../../support/program.js'

const envoy = (version: string) =>
  program(`echo "envoy  version: 9e55/${version}/Clean/RELEASE/BoringSSL"`)

test('--envoy goes before ENVOY_PATH', async () => {
  const [explicit, other] = await Promise.all([envoy('1.40.0'), envoy('1.40.0')])
  expect(await findEnvoy({ explicit, environment: { ENVOY_PATH: other } })).toBe(explicit)
  expect(await findEnvoy({ environment: { ENVOY_PATH: other } })).toBe(other)
})

test('an old one is taken with a warning', async () => {
  const notes: string[] = []
  const explicit = await envoy('1.38.1')
  await findEnvoy({ explicit, onNote: (note) => notes.push(note) })
  expect(notes.join()).toMatch(/1\.38\.1 works, but has vulnerabilities/)
})

test.each([
  ['too old', `echo "envoy  version: 9e55/1.36.0/Clean"`, /1\.36\.0 is too old/],
  ['no Envoy', 'echo hello', /is not an Envoy/],
  ['broken', 'exit 3', /is not an Envoy/],
])('one that is %s is refused', async (_, script, message) => {
  const failure = findEnvoy({ explicit: await program(script) })
  await expect(failure).rejects.toThrow(message)
  await expect(failure).rejects.toMatchObject({ name: 'EnvoyNotFound' })
})

test('one that is not there is refused', async () => {
  await expect(findEnvoy({ explicit: '/nonexistent/envoy' })).rejects.toThrow(/cannot be run/)
})

test('the installed one is found in the cache folder of the user', async () => {
  const folder = cacheFolder(await temporaryFolder())
  expect(await installedEnvoy(folder)).toBeUndefined()
  await mkdir(folder, { recursive: true })
  await symlink(await envoy('1.40.0'), join(folder, 'envoy'))
  expect(await installedEnvoy(folder)).toBe(join(folder, 'envoy'))
})
