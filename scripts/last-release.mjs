// The last release, which the test of upgrades starts from: built once from the history of this repository, and kept in the
// user's cache.

import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { attempt, cacheFolder } from './install.mjs'
import { SetupError } from './setup-error.mjs'
import { root } from './stale.mjs'

/** After a release: the commit that wrote its notes, and its version (test/last-release.test.ts). */
export const LAST_RELEASE = {
  version: '0.2.0',
  commit: 'c4bae2c5ef6e92f04703054a2c55677d97a112c8',
}

/**
 * Returns the folder of a checkout of the last release, with its packages and its dist/main.js.
 * @param say reports progress to the user.
 */
export function lastRelease(say) {
  const { version, commit } = LAST_RELEASE
  const folder = join(cacheFolder(), `release-${commit}`)
  if (existsSync(folder)) return folder
  requireCommit()
  say(`building version ${version} into ${folder} (once, about three minutes)`)
  const draft = `${folder}.${process.pid}`
  mkdirSync(draft, { recursive: true })
  try {
    buildIn(draft)
    renameSync(draft, folder)
  } catch (error) {
    // Another run may have built it meanwhile.
    if (!existsSync(folder)) throw error
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
  return folder
}

function buildIn(folder) {
  const { version, commit } = LAST_RELEASE
  const trouble = `version ${version} could not be built: see the message above; is the npm registry reachable?`
  const archive = join(folder, 'release.tar')
  attempt('git', ['archive', '--output', archive, commit], { cwd: root, trouble })
  attempt('tar', ['-xf', archive, '-C', folder], { trouble })
  rmSync(archive)
  const npm = (...args) =>
    attempt('npm', [...args, '--no-audit', '--no-fund'], { cwd: folder, trouble })
  npm('ci')
  npm('run', 'build')
  // What only the build needs is four fifths of it.
  npm('prune', '--omit=dev')
}

/**
 * Throws a SetupError if the history of this checkout lacks the commit of the last release.
 * @param folder a checkout.
 */
export function requireCommit(folder = root) {
  const { version, commit } = LAST_RELEASE
  const { status } = spawnSync('git', ['cat-file', '-e', `${commit}^{commit}`], {
    cwd: folder,
    stdio: 'ignore',
  })
  if (status === 0) return
  const remedy = isShallow(folder)
    ? 'it is a shallow clone: run "git fetch --unshallow"'
    : 'a full clone of the repository has it'
  throw new SetupError(
    `the history of this checkout lacks the commit of version ${version} (${commit}): ${remedy}`,
  )
}

function isShallow(folder) {
  try {
    const args = ['rev-parse', '--is-shallow-repository']
    const options = { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }
    return execFileSync('git', args, options).trim() === 'true'
  } catch {
    return false
  }
}
