// npm run test:mesh: runs test/mesh with third-party control planes, built from their Go modules if missing: Envoy
// Gateway, and istiod with an API server. They run in a separate network namespace, because some of their ports cannot
// be chosen. Arguments are passed to vitest.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { goProgram } from './go-program.mjs'
import { goModule, runInCluster } from './kubernetes.mjs'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'
import { root } from './stale.mjs'

const say = (text) => process.stderr.write(`mesh: ${text}\n`)

const built = (name) =>
  goProgram({ name, module: join(root, 'test/mesh', name), takes: 'five to ten minutes', say })

/** Returns istiod's CRDs, of the version that is built. */
function definitions() {
  const [, version] = /istio\.io\/istio (v\S+)/.exec(
    readFileSync(join(root, 'test/mesh/istiod/go.mod'), 'utf8'),
  )
  return goModule(`istio.io/istio@${version}`, 'manifests/charts/base/files/crd-all.gen.yaml')
}

await runScript(async () => {
  await setup()
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  return runInCluster([vitest, 'run', '--project', 'mesh', ...process.argv.slice(2)], {
    GATEHOUSE_TEST_ENVOY_GATEWAY: built('envoy-gateway'),
    GATEHOUSE_TEST_ISTIOD: built('istiod'),
    GATEHOUSE_TEST_ISTIO_DEFINITIONS: definitions(),
  })
})
