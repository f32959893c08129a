// npm run bench: what a check costs, beside what else one could do, in one run of about two minutes; and what a
// change costs among many.

import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { measure, type Row, type Scenario } from './measure.js'
import type { ChangeRow } from './change-row.js'
import { startParties } from './parties.js'
import { report } from './report.js'
import { newKeys, newTokens } from './tokens.js'

const say = (text: string): void => void process.stderr.write(`bench: ${text}\n`)

/** Enough for seven seconds of a server that verifies each of them. */
const NEW_TOKENS = 30_000

/** In a process of its own, whose memory is counted. */
async function measureChanges(): Promise<readonly ChangeRow[]> {
  const script = join(import.meta.dirname, 'one-change.mjs')
  const { stdout } = await promisify(execFile)(process.execPath, [script])
  return JSON.parse(stdout) as readonly ChangeRow[]
}

async function main(): Promise<void> {
  say('one change among many')
  const changes = await measureChanges()
  const keys = await newKeys()
  say(`signing ${String(NEW_TOKENS)} tokens`)
  const tokens = await newTokens(keys, NEW_TOKENS)
  const one = tokens.pop() ?? ''
  const again = (): string => one
  const parties = await startParties(keys)
  const scenarios: readonly Scenario[] = [
    { name: 'no filter', variant: 'no filter', nextToken: again },
    { name: 'jwt_authn + rbac', variant: 'jwt_authn + rbac', nextToken: again },
    { name: 'no-op ext_authz', variant: 'no-op ext_authz', nextToken: again },
    { name: 'Gatehouse, remembered token', variant: 'Gatehouse', nextToken: again },
    { name: 'Gatehouse, new token', variant: 'Gatehouse', nextToken: () => tokens.pop() },
  ]
  const rows: Row[] = []
  try {
    for (const scenario of scenarios) {
      say(scenario.name)
      rows.push(await measure(parties, scenario))
    }
  } finally {
    await parties.close()
  }
  const [noFilter, , noop] = rows
  if (noFilter === undefined || noop === undefined) throw new Error('a row is missing')
  const text = report({ rows, noFilter, noop, startupMs: parties.startupMs, changes })
  await writeFile(join(import.meta.dirname, '../../docs/performance.md'), text)
  process.stdout.write(text)
}

await main()
