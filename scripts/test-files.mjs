// Which test files run: at each change those that test/core-and-nightly.json lists as core, and in the night the others.
//
// GATEHOUSE_TEST_FILES: "core" (the default), "nightly" or "all".
// GATEHOUSE_TEST_WHOLE: paths, separated by commas, below which nightly files run too.

import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { SetupError } from './setup-error.mjs'
import { root } from './stale.mjs'

const { files, changes, oldest } = JSON.parse(
  readFileSync(join(root, 'test/core-and-nightly.json'), 'utf8'),
)

/**
 * What runs on the oldest Node at each change: what touches the runtime, and the whole program a few times. In the night
 * all unit tests do.
 */
export const onOldest = oldest

const CHOICES = ['core', 'nightly', 'all']

/**
 * Returns the paths of the files of a folder of test/ that do not run.
 * @param named parts of paths that the user names: files with one of them run whatever the list says.
 */
export function filesLeftOut(folder, named = []) {
  const choice = process.env['GATEHOUSE_TEST_FILES'] ?? 'core'
  if (!CHOICES.includes(choice))
    throw new SetupError(`GATEHOUSE_TEST_FILES is "${choice}": expected ${CHOICES.join(', ')}`)
  if (choice === 'all') return []
  const other = choice === 'core' ? 'nightly' : 'core'
  const whole = (process.env['GATEHOUSE_TEST_WHOLE'] ?? '').split(',').filter((path) => path !== '')
  return files[folder][other]
    .map((name) => `test/${folder}/${name}.test.ts`)
    .filter((path) => !named.some((part) => path.includes(part)))
    .filter((path) => choice === 'nightly' || !whole.some((start) => path.startsWith(start)))
}

/** Returns the arguments that are no flags, and no values of flags. */
export const namedIn = (args) =>
  args.filter((arg, index) => {
    const before = args[index - 1] ?? ''
    return !arg.startsWith('-') && (!before.startsWith('-') || before.includes('='))
  })

/**
 * Returns a test for whether vitest will run a file of a folder of test/, given as its path.
 * @param named parts of paths that the user names; empty: all files.
 */
export function runsOf(folder, named) {
  const leftOut = filesLeftOut(folder, named)
  const isNamed = (path) => named.length === 0 || named.some((part) => path.includes(part))
  return (path) => isNamed(path) && !leftOut.includes(path)
}

/**
 * Returns the paths of which a change runs all, for GATEHOUSE_TEST_WHOLE. The change is what has been committed since
 * GATEHOUSE_CHANGED_SINCE (a commit; default: since a day, as the night has run everything on what is older), and what is
 * not committed yet.
 */
export function wholeForChange() {
  const changed = changedFiles()
  const isChanged = (start) =>
    changed === undefined || changed.some((path) => path.startsWith(start))
  return changes.filter(({ below }) => below.some(isChanged)).flatMap(({ runs }) => runs)
}

/** Returns the paths that the change has touched; undefined if that cannot be said. */
function changedFiles() {
  try {
    const base = process.env['GATEHOUSE_CHANGED_SINCE'] ?? commitOfYesterday()
    return base === '' ? undefined : git('diff', '--name-only', base).split('\n')
  } catch {
    // No checkout of git, or one without that commit: the first push of a branch has none.
    return undefined
  }
}

function commitOfYesterday() {
  const day = 24 * 60 * 60
  const before = Number(git('log', '-1', '--format=%ct')) - day
  return git('rev-list', '-1', `--before=${String(before)}`, 'HEAD')
}

const git = (...args) =>
  execFileSync('git', args, {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  }).trim()
