// The last release, which the test of upgrades starts from (scripts/last-release.mjs): its commit is the one that wrote its notes.

import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { LAST_RELEASE, requireCommit } from '../scripts/last-release.mjs'

const ROOT = resolve(import.meta.dirname, '..')
const git = (folder: string, ...args: readonly string[]): string =>
  execFileSync('git', args, { cwd: folder, encoding: 'utf8' })

/** Returns the versions of a changelog, the newest first. */
const versionsIn = (changelog: string): readonly string[] =>
  [...changelog.matchAll(/^## (\d+\.\d+\.\d+)/gm)].map(([, version = '']) => version)

const versionsAt = (commit: string): readonly string[] =>
  versionsIn(git(ROOT, 'show', `${commit}:CHANGELOG.md`))

/** Whether this is a clone with its history: CI of others may have a shallow one, and an archive has none. */
const hasHistory = (): boolean =>
  spawnSync('git', ['cat-file', '-e', `${LAST_RELEASE.commit}^`], { cwd: ROOT }).status === 0

test('is the first commit whose changelog has its version as the newest one, where the history is there', () => {
  const { version, commit } = LAST_RELEASE
  if (!hasHistory()) {
    expect(() => requireCommit()).toThrow('the history of this checkout lacks the commit')
    return
  }
  requireCommit()
  expect(versionsAt(commit)[0]).toBe(version)
  expect(versionsAt(`${commit}^`)).not.toContain(version)
})

test('is the newest version, or the one before while a new one is being released', () => {
  const [newest, before] = versionsIn(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'))
  expect([newest, before]).toContain(LAST_RELEASE.version)
})

test('a history without its commit is refused, with what to do', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-history-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const { version, commit } = LAST_RELEASE
  const lacks = `the history of this checkout lacks the commit of version ${version} (${commit}): `
  const other = join(folder, 'other')
  git(folder, 'init', '--quiet', other)
  expect(() => requireCommit(other)).toThrow(`${lacks}a full clone of the repository has it`)

  const author = ['-c', 'user.name=a', '-c', 'user.email=a@example.com']
  for (const message of ['one', 'two'])
    git(other, ...author, 'commit', '--quiet', '--allow-empty', '--message', message)
  git(folder, 'clone', '--quiet', '--depth=1', `file://${other}`, 'shallow')
  expect(() => requireCommit(join(folder, 'shallow'))).toThrow(
    `${lacks}it is a shallow clone: run "git fetch --unshallow"`,
  )
})
