// npm run bench: sets up what is missing, bundles bench/ and runs it. It writes docs/performance.md.

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { runScript, setup } from './setup.mjs'
import { root } from './stale.mjs'

await runScript(async () => {
  await setup()
  const { build } = await import('esbuild')
  const outdir = join(root, '.cache/bench')
  await build({
    entryPoints: ['main', 'noop-server', 'noop-processor', 'llm-server', 'one-change'].map((name) =>
      join(root, `bench/${name}.ts`),
    ),
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
  })
  const options = { cwd: root, stdio: 'inherit' }
  const bench = spawnSync(process.execPath, [join(outdir, 'main.mjs')], options)
  if (bench.status !== 0) return 1
  const prettier = join(root, 'node_modules/prettier/bin/prettier.cjs')
  spawnSync(process.execPath, [prettier, '--write', 'docs/performance.md'], options)
  return 0
})
