// Runs `gatehouse translate --for …` as a user would.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { MAIN } from '../../../testing/program.js'

/** Resolves with the output. Rejects if the exit code is not 0. */
export async function translateFor(mesh: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [
    MAIN,
    'translate',
    '--for',
    mesh,
    ...args,
  ])
  return stdout
}
