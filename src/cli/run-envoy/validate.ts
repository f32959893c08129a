// Asks a real Envoy whether it accepts a configuration (`--mode validate`), which starts nothing.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { err, ok, type Result } from '../../kit/result.js'
import type { JsonObject } from '../../model/json.js'
import { runCommand } from './run-command.js'

const VALIDATE_TIMEOUT_MS = 60_000

/** config: envoy.config.bootstrap.v3.Bootstrap. error: Envoy's message. */
export async function validateConfig(
  envoyPath: string,
  config: JsonObject,
): Promise<Result<void, string>> {
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-validate-'))
  try {
    const file = join(folder, 'envoy.json')
    await writeFile(file, JSON.stringify(config), { mode: 0o600 })
    const args = ['--mode', 'validate', '--log-level', 'error', '--log-format', '%v', '-c', file]
    const { code, stderr, stdout } = await runCommand(envoyPath, args, VALIDATE_TIMEOUT_MS)
    return code === 0 ? ok(undefined) : err((stderr + stdout).trim())
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
