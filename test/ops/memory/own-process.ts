// Runs a program in a process of its own, as V8's flags are those of a process.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/**
 * Returns what an ES module prints, with the young generation of the image.
 * @param flags more flags for Node.
 */
export async function printedBy(module: string, ...flags: readonly string[]): Promise<string> {
  const args = ['--max-semi-space-size=16', ...flags, '--input-type=module', '-e', module]
  const { stdout } = await promisify(execFile)(process.execPath, args)
  return stdout
}
