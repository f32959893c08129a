// Python packages for a test: a virtual environment in the user's cache, made if it is missing.

import { execFileSync, type StdioOptions } from 'node:child_process'
import { resolve } from 'node:path'

const SCRIPT = resolve(import.meta.dirname, '../../scripts/python-environment.mjs')

/**
 * Returns the path of the environment's Python.
 * @param requirements the path of a requirements.txt.
 */
export function pythonEnvironment(name: string, requirements: string): string {
  const stdio: StdioOptions = ['ignore', 'pipe', 'inherit']
  const args = [SCRIPT, name, requirements]
  return execFileSync(process.execPath, args, { encoding: 'utf8', stdio }).trim()
}
