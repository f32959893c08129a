// Helpers for scripts that need third-party programs: find a program, install it, and run installers.

import { execFileSync, spawnSync } from 'node:child_process'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { SetupError } from './setup-error.mjs'

/** The user's cache folder for programs, also used for Envoy. */
export const cacheFolder = () =>
  join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'gatehouse')

/** Returns the path of a program; undefined if it is not on PATH. */
export function onPath(name) {
  const { status, stdout } = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

/**
 * Installs a package with apt-get if this is possible (as root); otherwise throws a SetupError that asks the user to.
 * @param recommended whether to install recommended packages too.
 */
export function aptInstall(what, name, say, { recommended = false } = {}) {
  const remedy = `${what} is missing, which these tests need: install it (Debian, Ubuntu: apt install ${name})`
  if (process.getuid?.() !== 0 || onPath('apt-get') === undefined) throw new SetupError(remedy)
  say(`installing ${what} (apt-get install ${name})`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const apt = (...args) => attempt('apt-get', ['-q', ...args], { env, trouble: remedy })
  apt('update')
  apt('install', '-y', ...(recommended ? [] : ['--no-install-recommends']), name)
}

/**
 * Runs a program and shows its output.
 * @param trouble message of the SetupError when it fails.
 */
export function attempt(command, args, { trouble, ...options }) {
  try {
    execFileSync(command, args, { stdio: ['ignore', 2, 2], ...options })
  } catch {
    throw new SetupError(trouble)
  }
}
