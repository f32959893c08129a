// Addresses that do not answer: nobody's silence delays the probes of others. By a clock of the test.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { ProbeResult } from '../../../../src/addons/mesh/controller/probe.js'
import type { ProbeTarget } from '../../../../src/addons/mesh/controller/probe-targets.js'
import { Prober } from '../../../../src/addons/mesh/controller/prober.js'

/** As long as a probe waits for its answer. */
const TIMEOUT_MS = 3_000

beforeEach(() => void vi.useFakeTimers())

afterEach(() => vi.useRealTimers())

const targetsAt = (address: string, count: number, name = address): readonly ProbeTarget[] =>
  Array.from({ length: count }, (_, index) => ({
    id: `${name} ${String(index)}`,
    gateway: { namespace: name, name: 'gw' },
    place: `${name}/gw ${address} 80`,
    address,
    port: 80,
    isTls: false,
    host: 'shop.example',
    path: `/${String(index)}`,
    method: 'GET',
    headers: {},
    keys: {},
  }))

const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

interface Probed {
  readonly prober: Prober
  /** Times of the probes of each target, in milliseconds since the beginning. */
  readonly begun: Map<string, number[]>
  most: number
}

/** Starts a prober, whose probes have the results of a function; undefined: none within the timeout. */
function probing(resultOf: (target: ProbeTarget) => ProbeResult | undefined): Probed {
  const start = performance.now()
  let running = 0
  const begun = new Map<string, number[]>()
  const prober = new Prober({
    now: () => performance.now(),
    wait: pause,
    onWarning: () => undefined,
    onChange: () => undefined,
    probe: async (target) => {
      begun.set(target.id, [...(begun.get(target.id) ?? []), performance.now() - start])
      const result = resultOf(target)
      probed.most = Math.max(probed.most, ++running)
      await pause(result === undefined ? TIMEOUT_MS : 20)
      running -= 1
      return result ?? { type: 'silent', problem: 'no answer', isMute: true }
    },
  })
  const probed: Probed = { prober, begun, most: 0 }
  return probed
}

const answeredAt =
  (address: string) =>
  (target: ProbeTarget): ProbeResult | undefined =>
    target.address === address ? { type: 'proven' } : undefined

async function end({ prober }: Probed): Promise<void> {
  const closed = prober.close()
  await vi.advanceTimersByTimeAsync(TIMEOUT_MS)
  await closed
}

test.each([24, 64, 320])(
  '%i silent targets of others do not delay those that answer',
  async (silent) => {
    const probed = probing(answeredAt('192.0.2.1'))
    const healthy = targetsAt('192.0.2.1', 5)
    probed.prober.setTargets([...healthy, ...targetsAt('192.0.2.2', silent)])
    await vi.advanceTimersByTimeAsync(4_000)
    expect(healthy.map((each) => probed.prober.problemOf(each))).toEqual(
      healthy.map(() => undefined),
    )
    // As often as without the others: at least each ten seconds.
    await vi.advanceTimersByTimeAsync(120_000)
    for (const { id } of healthy) {
      const times = probed.begun.get(id) ?? []
      const gaps = times.slice(1).map((time, index) => time - (times[index] ?? 0))
      expect(Math.max(...gaps)).toBeLessThan(10_000)
    }
    await end(probed)
  },
)

test('silent targets do not delay others at the same address', async () => {
  const probed = probing(({ path }) =>
    Number(path.slice(1)) % 2 === 0 ? { type: 'proven' } : undefined,
  )
  const all = targetsAt('192.0.2.1', 80)
  probed.prober.setTargets(all)
  await vi.advanceTimersByTimeAsync(60_000)
  const before = new Map([...probed.begun].map(([id, times]) => [id, times.length]))
  await vi.advanceTimersByTimeAsync(60_000)
  for (const { id, path } of all)
    if (Number(path.slice(1)) % 2 === 0)
      expect((probed.begun.get(id)?.length ?? 0) - (before.get(id) ?? 0)).toBeGreaterThanOrEqual(10)
  await end(probed)
})

test('a silent address gets one probe at a time, ever more seldom', async () => {
  const probed = probing(() => undefined)
  probed.prober.setTargets(targetsAt('192.0.2.2', 320))
  await vi.advanceTimersByTimeAsync(30_000)
  const before = [...probed.begun.values()].flat().length
  probed.most = 0
  await vi.advanceTimersByTimeAsync(60_000)
  expect([...probed.begun.values()].flat().length - before).toBeLessThanOrEqual(5)
  await end(probed)
})

test('an address that answers again is noticed within a minute', async () => {
  let isSilent = true
  const probed = probing(() => (isSilent ? undefined : { type: 'proven' }))
  const all = targetsAt('192.0.2.2', 100)
  probed.prober.setTargets(all)
  await vi.advanceTimersByTimeAsync(600_000)
  isSilent = false
  await vi.advanceTimersByTimeAsync(30_000)
  expect(all.filter((each) => probed.prober.problemOf(each) !== undefined)).toEqual([])
  await end(probed)
})

test('routes stay enforced while their address is silent for half a minute', async () => {
  let isSilent = false
  const probed = probing(() => (isSilent ? undefined : { type: 'proven' }))
  const all = targetsAt('192.0.2.2', 100)
  probed.prober.setTargets(all)
  await vi.advanceTimersByTimeAsync(20_000)
  isSilent = true
  await vi.advanceTimersByTimeAsync(30_000)
  isSilent = false
  for (let passed = 0; passed < 60; passed++) {
    await vi.advanceTimersByTimeAsync(1_000)
    expect(all.filter((each) => probed.prober.problemOf(each) !== undefined)).toEqual([])
  }
  await end(probed)
})
