// Builds dist/main.js: generates the wire types from proto/ if they are stale, then bundles the programs, and compiles the
// script of the status page and the sample webhook. Types are checked by `npm run check`.

import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, renameSync, rmSync, utimesSync } from 'node:fs'
import { basename, delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundlePrograms } from './bundle.mjs'
import { runScript } from './runtime.mjs'
import { isStale, root } from './stale.mjs'

const GENERATED = 'src/wire/grpc/generated'

const PROGRAMS = join(root, 'node_modules/.bin')

/** Runs a program of the packages, which finds its plugins beside it. */
function run(name, ...args) {
  const env = { ...process.env, PATH: `${PROGRAMS}${delimiter}${process.env['PATH'] ?? ''}` }
  execFileSync(join(PROGRAMS, name), args, { cwd: root, stdio: 'inherit', env })
}

/** Takes the place of dist once it is whole, as programs may be started meanwhile. */
const DRAFT = '.cache/dist'
const BEFORE = '.cache/dist-before'

/** Rejects when a step fails, after the tool has printed its error. What was built before stays then. */
export async function build() {
  if (isStale(GENERATED, ['proto', 'buf.gen.yaml', 'buf.yaml'])) {
    run('buf', 'generate')
    utimesSync(join(root, GENERATED), new Date(), new Date())
  }
  remove(DRAFT)
  await bundlePrograms(join(root, DRAFT))
  compile('src/ops/status-client')
  compile('config/guardrail-webhook')
  chmodSync(join(root, DRAFT, 'main.js'), 0o755)
  utimesSync(join(root, DRAFT, 'main.js'), new Date(), new Date())
  replaceDist()
}

const remove = (path) => rmSync(join(root, path), { recursive: true, force: true })

const compile = (folder) =>
  run('tsc', '-p', join(folder, 'tsconfig.json'), '--outDir', join(DRAFT, basename(folder)))

function replaceDist() {
  const dist = join(root, 'dist')
  remove(BEFORE)
  if (existsSync(dist)) renameSync(dist, join(root, BEFORE))
  renameSync(join(root, DRAFT), dist)
  remove(BEFORE)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await runScript(async () => {
    try {
      await build()
      return 0
    } catch {
      return 1
    }
  })
}
