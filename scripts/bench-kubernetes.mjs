// npm run bench -- kubernetes: sets up what is missing, bundles bench/kubernetes.ts and runs it with a real API server,
// which takes about five minutes. Writes its section of docs/performance.md.

import { spawnSync } from 'node:child_process'
import { bundleBench, formatPage } from './bench-programs.mjs'
import { cluster } from './kubernetes.mjs'
import { runScript } from './runtime.mjs'
import { setup } from './setup.mjs'
import { root } from './stale.mjs'

await runScript(async () => {
  await setup()
  const [kubernetes] = await bundleBench('kubernetes')
  const { env, within } = await cluster()
  const [program, ...rest] = [...within, process.execPath, kubernetes]
  return spawnSync(program, rest, { cwd: root, stdio: 'inherit', env }).status || formatPage()
})
