// npm run bench:kubernetes: bundles bench/kubernetes.ts and runs it with a real API server, about five minutes. It writes
// docs/performance-kubernetes.md.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { runInCluster } from './kubernetes.mjs'
import { runScript, setup } from './setup.mjs'
import { root } from './stale.mjs'

await runScript(async () => {
  await setup()
  const { build } = await import('esbuild')
  const outfile = join(root, '.cache/bench/kubernetes.mjs')
  await build({
    entryPoints: [join(root, 'bench/kubernetes.ts')],
    outfile,
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    define: { 'import.meta.dirname': JSON.stringify(join(root, 'test/kubernetes/support')) },
  })
  const code = await runInCluster([outfile])
  if (code !== 0) return code
  const prettier = join(root, 'node_modules/prettier/bin/prettier.cjs')
  const written = ['--write', 'docs/performance-kubernetes.md']
  return spawnSync(process.execPath, [prettier, ...written], { cwd: root, stdio: 'inherit' }).status
})
