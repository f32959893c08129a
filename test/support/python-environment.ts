// Python packages for a test: a virtual environment below .cache, recreated when its list of packages changes.

import { execFileSync, type StdioOptions } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

const CACHE = resolve(import.meta.dirname, '../../.cache')

/**
 * Returns the path of the environment's Python.
 * @param requirements the path of a requirements.txt.
 */
export function pythonEnvironment(name: string, requirements: string): string {
  const folder = join(CACHE, name)
  const python = join(folder, 'bin/python')
  const wanted = readFileSync(requirements, 'utf8')
  const mark = join(folder, 'requirements.installed')
  if (existsSync(mark) && readFileSync(mark, 'utf8') === wanted) return python
  const options = { stdio: ['ignore', 'ignore', 'inherit'] as StdioOptions }
  execFileSync('python3', ['-m', 'venv', '--clear', folder], options)
  const pip = ['-m', 'pip', 'install', '-q', '--require-hashes', '--no-deps', '-r', requirements]
  execFileSync(python, pip, options)
  writeFileSync(mark, wanted)
  return python
}
