// Thousands of probes, hosts and paths beside a mesh are looked at in slices, between which others get their turn.

import { expect, onTestFinished, test } from 'vitest'
import {
  createOpenPaths,
  type OpenListener,
  type OtherRoute,
} from '../../../../src/addons/mesh/controller/open-paths.js'
import type { ProbeTarget } from '../../../../src/addons/mesh/controller/probe-targets.js'
import { Prober } from '../../../../src/addons/mesh/controller/prober.js'
import { type Work } from '../../../../src/kit/turns.js'
import type { MeshRoute } from '../../../../src/model/mesh-route.js'

const many = <Entry>(count: number, entryOf: (index: number) => Entry): Entry[] =>
  Array.from({ length: count }, (_, index) => entryOf(index))

/** Runs work to its end, and returns its result and the largest amount between two yields. */
function largestStep<T>(work: Work<T>, amount: () => number) {
  let [largest, before, steps] = [0, amount(), 0]
  for (;;) {
    const step = work.next()
    largest = Math.max(largest, amount() - before)
    before = amount()
    steps += 1
    if (step.done === true) return { result: step.value, largest, steps }
  }
}

const own = (values: readonly { readonly type: string; readonly value: string }[]): MeshRoute => ({
  namespace: 'default',
  name: 'app',
  source: 'kubernetes',
  policies: [],
  parents: [],
  hostnames: [],
  rules: [
    {
      matches: values.map((path) => ({ path, headers: [] }) as { headers: [] }),
      filters: [],
      backendRefs: [],
      timeouts: {},
    },
  ],
  gateways: [{ namespace: 'default', name: 'eg' }],
  isGuarded: false,
  isEndless: false,
  problems: [],
  sealing: { labels: {}, problems: [] },
})

/** Paths that count how often they are looked at. */
function counted(paths: readonly OtherRoute['paths'][number][]) {
  const count = { looks: 0 }
  return {
    count,
    paths: paths.map(({ path, ...rest }) => ({
      ...rest,
      get path() {
        count.looks += 1
        return path
      },
    })),
  }
}

const other = (paths: OtherRoute['paths'], hostnames: readonly string[] = []): OtherRoute => ({
  namespace: 'default',
  name: 'other',
  parents: [{ name: 'eg' }],
  hostnames,
  paths,
})

const openPaths = (others: readonly OtherRoute[], listeners: readonly OpenListener[] = []) =>
  createOpenPaths(others, {
    order: ['prefix', 'pattern', 'exact'],
    listenersOf: () => listeners,
    createdOf: () => 5,
  })

test('of the patterns of open routes, one is compiled in each step', () => {
  const patterns = many(200, (index) => ({
    path: `/app[a-z]{${String(index + 1)}}x`,
    isNarrower: false,
    type: 'pattern' as const,
  }))
  const { result, steps } = largestStep(
    openPaths([other(patterns)]).below(own([{ type: 'PathPrefix', value: '/app' }])),
    () => 0,
  )
  expect(result).toBeUndefined()
  expect(steps).toBeGreaterThan(200)
})

test('hosts and listeners of open routes are combined in slices', () => {
  const listeners = many(64, (index) => ({ name: `l${String(index)}`, port: index + 1 }))
  const hostnames = many(16, (index) => `h${String(index)}.example`)
  const { count, paths } = counted(
    many(64, (index) => ({ path: `/open/${String(index)}`, type: 'exact', isNarrower: false })),
  )
  const others = many(20, () => other(paths, hostnames))
  const { result, largest, steps } = largestStep(
    openPaths(others, listeners).below(own([{ type: 'PathPrefix', value: '/app' }])),
    () => count.looks,
  )
  expect(result).toBeUndefined()
  expect(steps).toBeGreaterThan(20 * 64 * 16)
  expect(largest).toBeLessThan(5_000)
})

test.each([1, 40_000])('40,000 probes of %i places are set in slices', (places) => {
  const count = { looks: 0 }
  const targets = many(40_000, (index): ProbeTarget => ({
    get id() {
      count.looks += 1
      return `target-${String(index)}`
    },
    gateway: { namespace: 'default', name: 'eg' },
    place: `place-${String(index % places)}`,
    address: '192.0.2.1',
    port: 80,
    isTls: false,
    host: 'a.example',
    path: '/',
    method: 'GET',
    headers: {},
    keys: {},
  }))
  const prober = new Prober({
    probe: () => new Promise(() => undefined),
    onChange: () => undefined,
    onWarning: () => undefined,
    now: () => 0,
    wait: () => Promise.resolve(),
  })
  onTestFinished(() => prober.close())
  const { largest } = largestStep(prober.setTargetsWork(targets), () => count.looks)
  expect(largest).toBeLessThan(4_096)
})

test('targets that are set while others are being set count', () => {
  const prober = new Prober({
    probe: () => new Promise(() => undefined),
    onChange: () => undefined,
    onWarning: () => undefined,
    now: () => 0,
    wait: () => Promise.resolve(),
  })
  onTestFinished(() => prober.close())
  const targets = many(5_000, (index) => ({ id: `t${String(index)}`, place: 'p' }) as ProbeTarget)
  const first = prober.setTargetsWork(targets)
  first.next()
  prober.setTargets([])
  expect(first.next().done).toBe(true)
})
