// Installs a third-party Python program into a virtual environment that is kept.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { attempt } from './install.mjs'

/**
 * Returns the environment's folder. Recreates the environment when the file `requirements` has changed.
 * @throws {SetupError}
 */
export function installPythonProgram({ title, size, folder, requirements, say }) {
  const wanted = readFileSync(requirements, 'utf8')
  const mark = join(folder, 'requirements.installed')
  if (existsSync(mark) && readFileSync(mark, 'utf8') === wanted) return folder
  say(`getting ${title} by pip into ${folder} (${size}, one to two minutes, once)`)
  attempt('python3', ['-m', 'venv', '--clear', folder], {
    trouble: `${title} needs a virtual environment of Python: install venv (Debian, Ubuntu: apt install python3-venv)`,
  })
  // The file has all packages. With dependencies, pip 23.2 takes the newest version of a package that another one requires
  // with an extra, and refuses it as it has no hash.
  const options = ['--disable-pip-version-check', '--require-hashes', '--no-deps']
  const pip = ['-m', 'pip', 'install', ...options, '-r', requirements]
  attempt(join(folder, 'bin/python'), pip, {
    trouble: `pip could not get ${title}: see its message above; is the package index reachable?`,
  })
  writeFileSync(mark, wanted)
  return folder
}
