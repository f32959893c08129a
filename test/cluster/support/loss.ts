// What clients of a Gateway notice while something changes in the cluster.

import { expect } from 'vitest'
import { eventually } from '../../../testing/eventually.js'
import { startTraffic, statusesOf, type TrafficOptions } from '../../support/traffic.js'

/**
 * Sends requests that should be answered 200 over four connections, before, during and after the change. Resolves to the
 * counts of other outcomes, by status or error.
 */
export async function lossDuring(
  url: string,
  change: () => Promise<void>,
): Promise<Record<string, number>> {
  const [outcomes = {}] = await outcomesDuring([{ url }], change)
  return Object.fromEntries(Object.entries(outcomes).filter(([outcome]) => outcome !== '200'))
}

/**
 * Sends each kind of request over four connections, before, during and after the change. Resolves to the counts of the
 * outcomes of each kind, by status or error.
 */
export async function outcomesDuring(
  kinds: readonly TrafficOptions[],
  change: () => Promise<void>,
): Promise<readonly Record<string, number>[]> {
  const traffics = kinds.map((kind) => startTraffic({ connections: 4, ...kind }))
  const more = async (): Promise<void> => {
    const before = traffics.map(({ outcomes }) => outcomes.length)
    await eventually(() => {
      for (const [index, { outcomes }] of traffics.entries())
        expect(outcomes.length).toBeGreaterThan((before[index] ?? 0) + 100)
    })
  }
  try {
    await more()
    await change()
    await more()
  } finally {
    await Promise.all(traffics.map((traffic) => traffic.stop()))
  }
  return traffics.map(({ outcomes }) => statusesOf(outcomes))
}
