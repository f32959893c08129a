// What clients of a Gateway lose while something changes in the cluster.

import { expect } from 'vitest'
import { eventually } from '../../support/eventually.js'
import { startTraffic, statusesOf } from '../../support/traffic.js'

/**
 * Sends requests that should be answered 200 over four connections, before, during and after the change. Resolves to the
 * counts of other outcomes, by status or error.
 */
export async function lossDuring(
  url: string,
  change: () => Promise<void>,
): Promise<Record<string, number>> {
  const traffic = startTraffic({ url, connections: 4 })
  const more = async (): Promise<void> => {
    const before = traffic.outcomes.length
    await eventually(() => expect(traffic.outcomes.length).toBeGreaterThan(before + 100))
  }
  try {
    await more()
    await change()
    await more()
  } finally {
    await traffic.stop()
  }
  return statusesOf(traffic.outcomes.filter(({ status }) => status !== 200))
}
