// Where the Go modules of other parties' control planes are: the versions are those that the tests' programs are built of.

import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { goModule } from './kubernetes.mjs'
import { root } from './stale.mjs'

/** Returns a path within a module, of the version that a test's program is built of. */
function pathIn(module, name, path) {
  const { Require: required } = JSON.parse(
    execFileSync('go', ['mod', 'edit', '-json'], {
      cwd: join(root, 'test/mesh', name),
      encoding: 'utf8',
    }),
  )
  const { Version: version } = required.find((one) => one.Path === module)
  return goModule(`${module}@${version}`, path)
}

/** Returns the variables with the folders of the control planes' CRDs. */
export const meshDefinitions = () => ({
  GATEHOUSE_TEST_ENVOY_GATEWAY_DEFINITIONS: pathIn(
    'github.com/envoyproxy/gateway',
    'envoy-gateway',
    'charts/gateway-crds-helm/templates/generated',
  ),
  GATEHOUSE_TEST_ISTIO_DEFINITIONS: pathIn(
    'istio.io/istio',
    'istiod',
    'manifests/charts/base/files',
  ),
})
