// Creates a shell script in its own folder as a substitute for a program.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Returns the path of the script, which is removed when the test has finished. */
export async function program(script: string): Promise<string> {
  const folder = await temporaryFolder()
  const path = join(folder, 'program')
  await writeFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  return path
}

export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-test-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}
