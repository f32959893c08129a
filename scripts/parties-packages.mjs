// Installs the packages of test/parties: clients and servers of other parties that run on Node.

import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { attempt } from './install.mjs'
import { runScript } from './runtime.mjs'
import { isStale, root } from './stale.mjs'

const say = (text) => process.stderr.write(`parties: ${text}\n`)

/** @throws {SetupError} */
export function installPartiesPackages() {
  if (!isStale('test/parties/node_modules/.package-lock.json', ['test/parties/package-lock.json']))
    return
  say('installing the packages of test/parties (npm ci), about a minute')
  attempt('npm', ['ci', '--no-audit', '--no-fund'], {
    cwd: join(root, 'test/parties'),
    trouble: 'npm ci in test/parties failed: see its message above; is the npm registry reachable?',
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await runScript(() => {
    installPartiesPackages()
    return 0
  })
}
