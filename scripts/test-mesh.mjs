// npm test -- --project mesh: runs test/mesh with third-party control planes, built from their Go modules if missing: Envoy
// Gateway, and istiod with an API server. They run in a separate network namespace, because some of their ports cannot
// be chosen. Arguments are passed to vitest.

import { join } from 'node:path'
import { goProgram } from './go-program.mjs'
import { findHelm } from './helm.mjs'
import { cluster, kubectl } from './kubernetes.mjs'
import { meshDefinitions } from './mesh-modules.mjs'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'
import { root } from './stale.mjs'
import { runVitest } from './vitest.mjs'

const say = (text) => process.stderr.write(`mesh: ${text}\n`)

const built = (name) =>
  goProgram({ name, module: join(root, 'test/mesh', name), takes: 'five to ten minutes', say })

await runScript(async () => {
  await setup()
  const programs = {
    GATEHOUSE_TEST_HELM: findHelm(say),
    GATEHOUSE_TEST_KUBECTL: kubectl(),
    GATEHOUSE_TEST_ENVOY_GATEWAY: built('envoy-gateway'),
    GATEHOUSE_TEST_ISTIOD: built('istiod'),
    ...meshDefinitions(),
  }
  return runVitest(['run', '--project', 'mesh', ...process.argv.slice(2)], await cluster(programs))
})
