// npm run bench: measures the cost of checks and guardrails compared with the alternatives, and of one change among
// many resources, in about seven minutes. Writes its sections of docs/performance.md. With --short it takes a minute,
// as a smoke test, and prints the sections instead.

import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { ChangeRow } from './change-row.js'
import { measureChecks } from './checks.js'
import { goPrograms } from './go-programs.js'
import { measureGuards } from './guards.js'
import { root } from './processes.js'
import { report } from './report.js'
import { writeSections } from './sections.js'

const say = (text: string): void => void process.stderr.write(`bench: ${text}\n`)

/** Measures changes in a separate process, whose memory is part of the result. */
async function measureChanges(): Promise<readonly ChangeRow[]> {
  const script = join(root, '.cache/bench/one-change.mjs')
  const { stdout } = await promisify(execFile)(process.execPath, [script])
  return JSON.parse(stdout) as readonly ChangeRow[]
}

const ROUNDS = 9
const SHORT_ROUNDS = 2

async function main(): Promise<void> {
  const isShort = process.argv.includes('--short')
  const rounds = isShort ? SHORT_ROUNDS : ROUNDS
  if (goPrograms.noop === undefined)
    say('there is no Go: its no-op server and OPA-Envoy are left out')
  say('one change among many')
  const changes = await measureChanges()
  const checks = await measureChecks(rounds, say)
  const guards = await measureGuards(rounds, say)
  const text = report({ checks, guards, changes, rounds })
  if (!isShort) await writeSections(text)
  process.stdout.write(text)
}

await main()
