// Bundles the sources of bench/ into programs in .cache/bench, runs them, and formats the page that they write.

import { spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { root } from './stale.mjs'

/** Bundles the named files of bench/. Resolves to the paths of their programs. */
export async function bundleBench(...names) {
  const { build } = await import('esbuild')
  const outdir = join(root, '.cache/bench')
  await build({
    entryPoints: names.map((name) => join(root, `bench/${name}.ts`)),
    outdir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    packages: 'external',
    platform: 'node',
    format: 'esm',
    plugins: [keepPlaces],
  })
  return names.map((name) => join(outdir, `${name}.mjs`))
}

/** Replaces import.meta.dirname by the source's own folder, so that bundled code still finds its neighbouring files. */
const keepPlaces = {
  name: 'keep-places',
  setup: ({ onLoad }) => {
    onLoad({ filter: /\.ts$/ }, async ({ path }) => {
      const text = await readFile(path, 'utf8')
      const place = JSON.stringify(dirname(path))
      return { contents: text.replaceAll('import.meta.dirname', place), loader: 'ts' }
    })
  },
}

/** Runs this Node with the arguments and returns its exit code. */
export const run = (...args) =>
  spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1

export const formatPage = () =>
  run(join(root, 'node_modules/prettier/bin/prettier.cjs'), '--write', 'docs/performance.md')
