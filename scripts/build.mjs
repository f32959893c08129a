// Builds dist/main.js: generates the wire types from proto/ if they are stale, then compiles TypeScript, the script of
// the status page and the sample webhook, and bundles the client of Kubernetes.

import { execFileSync } from 'node:child_process'
import { chmodSync, utimesSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { bundleClientLibrary } from './client-library.mjs'
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
  run('tsc', '-p', 'tsconfig.build.json')
  run('tsc', '-p', 'src/status-client/tsconfig.json')
  run('tsc', '-p', 'config/guardrail-webhook/tsconfig.json')
  await bundleClientLibrary()
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
