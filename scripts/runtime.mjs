// Chooses the Node for the scripts: the machine's if it is new enough, otherwise the pinned one, which npm fetches for
// the platform (scripts/runtime). This file and its imports run on Node 18 and newer.

import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { say, SetupError } from './setup-error.mjs'
import { isStale, root } from './stale.mjs'

/** The oldest supported Node. A test keeps it equal to "engines" in package.json. */
export const OLDEST = [22, 19]

/** "pinned": the pinned Node even if the machine's would do. "oldest": the oldest supported one (Linux, x64). */
const CHOICE = process.env['GATEHOUSE_NODE']
const FOLDERS = { pinned: 'scripts/runtime', oldest: 'scripts/runtime/floor' }

/**
 * Runs main, or reruns the whole script with the same arguments on a suitable Node. A SetupError becomes one sentence
 * on stderr and exit code 1.
 */
export async function runScript(main) {
  try {
    const folder = folderOfChoice()
    process.exitCode = folder === undefined ? await main() : await runAgain(await fetchNode(folder))
  } catch (error) {
    if (!(error instanceof SetupError)) throw error
    say(error.message)
    process.exitCode = 1
  }
}

/** Returns the folder of the Node to run; undefined if this process already runs on a suitable one. */
function folderOfChoice() {
  if (CHOICE === 'ready') return undefined
  if (CHOICE !== undefined && CHOICE !== '') {
    if (Object.hasOwn(FOLDERS, CHOICE)) return FOLDERS[CHOICE]
    throw new SetupError(
      `GATEHOUSE_NODE is "${CHOICE}": "pinned", "oldest" or nothing was expected`,
    )
  }
  return isNewEnough(process.versions.node) ? undefined : FOLDERS.pinned
}

function isNewEnough(version) {
  const [major, minor] = version.split('.').map(Number)
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])
}

/** Returns the path of the folder's Node, fetched if missing. npm verifies it against the hash in the lock file. */
function fetchNode(folder) {
  if (
    isStale(join(folder, 'node_modules/.package-lock.json'), [join(folder, 'package-lock.json')])
  ) {
    const reason = CHOICE
      ? `GATEHOUSE_NODE is ${CHOICE}`
      : `Node ${process.versions.node} is too old`
    say(`${reason}: getting a Node for this folder (npm ci, 45 MB, once)`)
    try {
      execFileSync('npm', ['ci', '--no-audit', '--no-fund'], {
        cwd: join(root, folder),
        stdio: ['ignore', 2, 2],
      })
    } catch {
      throw new SetupError(
        `npm could not get Node: see its message above, or install Node ${OLDEST.join('.')} or newer (https://nodejs.org)`,
      )
    }
  }
  const modules = join(root, folder, 'node_modules')
  const programs = existsSync(modules)
    ? readdirSync(modules).map((name) => join(modules, name, 'bin/node'))
    : []
  const program = programs.find((path) => existsSync(path))
  if (program !== undefined) return program
  throw new SetupError(
    `npm has no Node for ${process.platform} ${process.arch}: install Node ${OLDEST.join('.')} or newer (https://nodejs.org)`,
  )
}

/** Reruns this script on the program, which is also put on PATH as "node". Resolves to the exit code. */
function runAgain(program) {
  const env = {
    ...process.env,
    GATEHOUSE_NODE: 'ready',
    PATH: [dirname(program), process.env['PATH']].filter(Boolean).join(delimiter),
  }
  const child = spawn(program, process.argv.slice(1), { stdio: 'inherit', env })
  // Ctrl-C reaches the child directly, because it shares the terminal; this process only waits for it to exit.
  process.on('SIGINT', () => {})
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve(code ?? 1))
  })
}
