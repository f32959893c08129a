// npm run test:mesh: runs test/mesh with a third-party control plane: Envoy Gateway, built from its Go module if
// missing. It runs in a separate network namespace, because its ports cannot be chosen. Arguments are passed to vitest.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { goProgram } from './go-program.mjs'
import { aptInstall, onPath } from './install.mjs'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'
import { root } from './stale.mjs'

const say = (text) => process.stderr.write(`mesh: ${text}\n`)

await runScript(async () => {
  await setup()
  const { findEnvoy } = await import('../dist/envoy/find-envoy.js')
  const env = {
    ...process.env,
    GATEHOUSE_TEST_ENVOY_GATEWAY: goProgram({
      name: 'envoy-gateway',
      module: join(root, 'test/mesh/envoy-gateway'),
      takes: 'five to ten minutes',
      say,
    }),
    GATEHOUSE_TEST_ENVOY:
      process.env['GATEHOUSE_TEST_ENVOY'] ??
      (await findEnvoy({ environment: process.env, onNote: say })),
  }
  if (onPath('ip') === undefined) aptInstall('ip', 'iproute2', say)
  const vitest = join(root, 'node_modules/vitest/vitest.mjs')
  const run = [vitest, 'run', '--project', 'mesh', ...process.argv.slice(2)]
  const namespace = process.getuid?.() === 0 ? ['-n'] : ['-r', '-n']
  const inside = 'ip link set lo up && exec "$@"'
  const command = [...namespace, 'sh', '-ec', inside, 'sh', process.execPath, ...run]
  return spawnSync('unshare', command, { cwd: root, stdio: 'inherit', env }).status ?? 1
})
