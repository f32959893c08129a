// What scripts that need programs of others share: whether one is there, and how it is had.

import { execFileSync, spawnSync } from 'node:child_process'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { SetupError } from './setup-error.mjs'

/** Where this user's copies are kept, as Envoy's is. */
export const cacheFolder = () =>
  join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'gatehouse')

/** The path of a program; undefined: there is none. */
export function onPath(name) {
  const { status, stdout } = spawnSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' })
  return status === 0 ? stdout.trim() : undefined
}

/** On Debian and its like, as root; otherwise the person has to. recommended: whether what the package recommends comes too. */
export function aptInstall(what, name, say, { recommended = false } = {}) {
  const remedy = `${what} is missing, which these tests need: install it (Debian, Ubuntu: apt install ${name})`
  if (process.getuid?.() !== 0 || onPath('apt-get') === undefined) throw new SetupError(remedy)
  say(`installing ${what} (apt-get install ${name})`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const apt = (...args) => attempt('apt-get', ['-q', ...args], { env, trouble: remedy })
  apt('update')
  apt('install', '-y', ...(recommended ? [] : ['--no-install-recommends']), name)
}

/** Shows what the program says; trouble is the one sentence when it fails. */
export function attempt(command, args, { trouble, ...options }) {
  try {
    execFileSync(command, args, { stdio: ['ignore', 2, 2], ...options })
  } catch {
    throw new SetupError(trouble)
  }
}
