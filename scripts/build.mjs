// Builds dist/main.js: generates the wire types from proto/ if they are stale, then bundles the programs, and compiles the
// script of the status page and the sample webhook. Types are checked by `npm run typecheck`.

import { execFileSync } from 'node:child_process'
import { chmodSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundlePrograms } from './bundle.mjs'
import { runScript } from './runtime.mjs'
import { isStale, root } from './stale.mjs'

const GENERATED = 'src/grpc/generated'

const run = (name, ...args) =>
  execFileSync(join(root, 'node_modules/.bin', name), args, { cwd: root, stdio: 'inherit' })

/** Rejects when a step fails, after the tool has printed its error. */
export async function build() {
  if (isStale(GENERATED, ['proto', 'buf.gen.yaml', 'buf.yaml'])) {
    run('buf', 'generate')
    utimesSync(join(root, GENERATED), new Date(), new Date())
  }
  await bundlePrograms()
  run('tsc', '-p', 'src/status-client/tsconfig.json')
  run('tsc', '-p', 'config/guardrail-webhook/tsconfig.json')
  chmodSync(join(root, 'dist/main.js'), 0o755)
  utimesSync(join(root, 'dist/main.js'), new Date(), new Date())
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
