// Python packages for tests: a virtual environment for each list of packages, kept in the user's cache.
// `node scripts/python-environment.mjs NAME REQUIREMENTS` prints the path of its Python.

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { attempt, cacheFolder } from './install.mjs'
import { runScript } from './runtime.mjs'
import { root } from './stale.mjs'

/**
 * Returns the path of the environment's Python. The environment appears complete or not at all, even if two runs make it
 * at the same time.
 * @param requirements the path of a requirements.txt.
 * @throws {SetupError}
 */
export function pythonEnvironment(name, requirements, say) {
  const hash = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 12)
  const folder = join(cacheFolder(), `${name}-${hash}`)
  const python = join(folder, 'bin/python')
  if (existsSync(folder)) return python
  say(`getting the packages of ${requirements} by pip into ${folder} (half a minute, once)`)
  mkdirSync(cacheFolder(), { recursive: true })
  const draft = `${folder}.${process.pid}`
  try {
    install(draft, requirements)
    renameSync(draft, folder)
  } catch (error) {
    if (!existsSync(folder)) throw error
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
  return python
}

function install(folder, requirements) {
  attempt('python3', ['-m', 'venv', '--clear', folder], {
    trouble:
      'tests need a virtual environment of Python: install venv (Debian, Ubuntu: apt install python3-venv)',
  })
  const options = ['-q', '--disable-pip-version-check', '--require-hashes', '--no-deps']
  attempt(join(folder, 'bin/python'), ['-m', 'pip', 'install', ...options, '-r', requirements], {
    trouble: `pip could not get the packages of ${requirements}: see its message above; is the package index reachable?`,
  })
}

/** Returns the path of a Python with the official clients in Python, which many tests run. */
export const clientsPython = (say) =>
  pythonEnvironment('python', join(root, 'test/support/python/requirements.txt'), say)

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await runScript(() => {
    const say = (text) => process.stderr.write(`tests: ${text}\n`)
    process.stdout.write(`${pythonEnvironment(process.argv[2], process.argv[3], say)}\n`)
    return 0
  })
}
