// Runs `gatehouse explain` within the test's process.

import { expect } from 'vitest'
import { explainRequest } from '../../src/cli/commands/explain.js'
import type { Explanation } from '../../src/ops/explain/explanation.js'
import { parseCommandLine } from '../../src/ops/settings/settings.js'

/** Returns the output of --format json. args: those after `explain`. */
export async function explain(args: readonly string[]): Promise<Explanation> {
  const line = parseCommandLine(['explain', '--format', 'json', ...args], {})
  if (line.type !== 'settings') throw new Error(JSON.stringify(line))
  let out = ''
  let err = ''
  const code = await explainRequest(line.settings, {
    out: (text) => (out += text),
    err: (text) => (err += text),
    logger: { debug() {}, info() {}, warn() {}, error() {} },
    stop: new AbortController().signal,
    atExit: () => undefined,
  })
  expect({ code, err }).toEqual({ code: 0, err: '' })
  return JSON.parse(out) as Explanation
}
