// Bundles src into the programs of dist: the main program and those of its threads and child processes, and the parts that
// they share or load when needed. A module for each file, they took 1.7 times as long to load. The packages of
// BUNDLED, and those that they need, are bundled too, and their licenses are put into dist/LICENSES.txt.

import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { root } from './stale.mjs'

/** Of src, without their extension. */
const PROGRAMS = [
  'main',
  'worker-main',
  'cli/run-envoy/keeper-main',
  'kit/http/connect/tls-main',
  'control/sources/files/reader-main',
]
/** What scripts and tests load beside them. */
const MODULES = [
  'cli/demo/demo-parties',
  'cli/demo/identity-provider',
  'cli/demo/llm-server',
  'cli/run-envoy/find-envoy',
]
/** Its package loads 800 modules, of which Gatehouse needs a few: half a second and 40 MB. */
const BUNDLED = ['@kubernetes/client-node']
/** For the packages in CommonJS among them, which ask for Node's own modules. */
const REQUIRE = `import { createRequire as requireBeside } from 'node:module'; const require = requireBeside(import.meta.url);`

/** Writes what belongs in dist into a folder. Rejects after esbuild has printed its errors. */
export async function bundlePrograms(folder) {
  const { build } = await import('esbuild')
  const { metafile, outputFiles } = await build({
    entryPoints: [...PROGRAMS, ...MODULES].map((name) => join(root, `src/${name}.ts`)),
    outbase: join(root, 'src'),
    outdir: join(root, 'dist'),
    chunkNames: 'kit/[name]-[hash]',
    bundle: true,
    splitting: true,
    platform: 'node',
    format: 'esm',
    target: 'node22',
    external: externalPackages(),
    banner: { js: REQUIRE },
    sourcemap: true,
    metafile: true,
    absWorkingDir: root,
    // The paths in source maps are those of dist.
    write: false,
  })
  requireInFolder(metafile, 'src/kit/own-files.ts')
  for (const { path, contents } of outputFiles) {
    const place = join(folder, relative(join(root, 'dist'), path))
    mkdirSync(dirname(place), { recursive: true })
    writeFileSync(place, contents)
  }
  writeFileSync(join(folder, 'LICENSES.txt'), licensesOf(Object.keys(metafile.inputs)))
}

/** Throws unless the module, which finds files by its own place, is in the same folder of dist as of src. */
function requireInFolder({ outputs }, module) {
  const folder = dirname(module).replace('src/', 'dist/')
  const homes = Object.keys(outputs).filter((file) => module in outputs[file].inputs)
  const wrong = homes.filter((file) => dirname(file) !== folder)
  if (wrong.length > 0) throw new Error(`${module} must not be bundled into ${wrong.join(', ')}`)
}

function externalPackages() {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  return Object.keys(dependencies).filter((name) => !BUNDLED.includes(name))
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
