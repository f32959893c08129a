// Bundles the parts of @kubernetes/client-node that Gatehouse uses, with the packages that they need, into one file of
// dist, and their licenses into another. Loaded from the package, they are 800 modules: half a second and 40 MB.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './stale.mjs'

const MODULE = 'resources/kubernetes/client-library'
/** Gatehouse's own dependencies, which are loaded anyway. */
const SHARED = ['undici', 'js-yaml']
/** For the packages in CommonJS among them, which ask for Node's own modules. */
const REQUIRE = `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);`

/** Replaces the compiled module in dist. Rejects after esbuild has printed its errors. */
export async function bundleClientLibrary() {
  const { build } = await import('esbuild')
  const { metafile } = await build({
    entryPoints: [join(root, `src/${MODULE}.ts`)],
    outfile: join(root, `dist/${MODULE}.js`),
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node22',
    external: SHARED,
    banner: { js: REQUIRE },
    metafile: true,
    absWorkingDir: root,
  })
  writeFileSync(join(root, `dist/${MODULE}.LICENSES.txt`), licensesOf(Object.keys(metafile.inputs)))
}

/** Returns the licenses of the packages that the files belong to. */
function licensesOf(files) {
  const folders = files.map((file) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1])
  const packages = [...new Set(folders.filter((folder) => folder !== undefined))].sort()
  return packages.map(licenseOf).join('\n')
}

function licenseOf(folder) {
  const { name, version, license } = JSON.parse(
    readFileSync(join(root, folder, 'package.json'), 'utf8'),
  )
  const file = readdirSync(join(root, folder)).find((name) => /^licen[cs]e/i.test(name))
  const text = file === undefined ? '' : readFileSync(join(root, folder, file), 'utf8')
  return `${name} ${version}, ${license}\n\n${text}`
}
