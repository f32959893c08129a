// What audits of guards leave behind: lines of the log, and counted verdicts.

import { expect } from 'vitest'
import { eventually } from '../../testing/eventually.js'
import type { Stack } from './stack.js'

/** Waits until the log has this many lines with this text, and returns them. */
export const linesWith = (
  stack: Pick<Stack, 'log'>,
  text: string,
  count: number,
): Promise<readonly Record<string, unknown>[]> =>
  eventually(() => {
    const found = stack
      .log()
      .split('\n')
      .filter((line) => line.includes(text))
    expect(found, stack.log()).toHaveLength(count)
    return found.map((line) => JSON.parse(line) as Record<string, unknown>)
  })

/** Returns the number of audited verdicts of a Service by "PHASE OUTCOME". */
export async function auditedVerdicts(
  stack: Pick<Stack, 'metrics'>,
  webhook: string,
): Promise<Readonly<Record<string, number>>> {
  const series = new RegExp(
    `^gatehouse_guardrail_verdicts_total\\{webhook="service/default/${webhook}/80",phase="(\\w+)",outcome="([\\w-]+)"(?:,reason="\\w+")?,mode="audit"\\} (\\d+)$`,
    'gm',
  )
  return Object.fromEntries(
    [...(await stack.metrics()).matchAll(series)].map(([, phase, outcome, count]) => [
      `${phase} ${outcome}`,
      Number(count),
    ]),
  )
}
