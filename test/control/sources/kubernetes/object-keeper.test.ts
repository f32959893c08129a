// What keeps objects in the API server: calls that fail, hang or meet the object of another manager, and what is never written.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Applier, ObjectName } from '../../../../src/control/sources/kubernetes/applier.js'
import { KubernetesError } from '../../../../src/control/sources/kubernetes/client.js'
import {
  type KeeperInput,
  type KeeperState,
  ObjectKeeper,
  type WantedObjects,
} from '../../../../src/control/sources/kubernetes/object-keeper.js'
import type { WantedObject } from '../../../../src/control/sources/kubernetes/wanted-object.js'
import type { JsonObject } from '../../../../src/model/json.js'
import { eventually, fakeClock } from '../../../support/fake-clock.js'

const LABEL = ['example.com/kept-by', 'one'] as const

const keyOf = ({ kind, namespace, name }: ObjectName): string => `${kind}/${namespace}/${name}`

const wanted = (name: string): WantedObject => ({
  key: `Service/shop/${name}`,
  manifest: { kind: 'Service', metadata: { namespace: 'shop', name, labels: {} } },
  owners: [],
})

const stored = (name: string, labels: JsonObject = { [LABEL[0]]: LABEL[1] }): JsonObject => ({
  metadata: { namespace: 'shop', name, uid: name, resourceVersion: '1', labels },
})

/** An API server with some objects, whose calls can be replaced. */
function startKeeper(calls: Partial<Applier> = {}, ...there: readonly JsonObject[]) {
  const objects = new Map(
    there.map((object) => [
      `Service/shop/${(object['metadata'] as { name: string }).name}`,
      object,
    ]),
  )
  const isOwn = (object: JsonObject): boolean => JSON.stringify(object).includes(LABEL[0])
  const own = () => [...objects].filter(([, object]) => isOwn(object))
  const rounds: KeeperState<WantedObjects>[] = []
  const warnings: string[] = []
  const power = { isWriter: true, obstacles: [] as string[] }
  const applier: Applier = {
    read: (object) => Promise.resolve(objects.get(keyOf(object))),
    apply: (object, content) => {
      const now = { ...content, metadata: { ...(content['metadata'] as object), uid: object.name } }
      objects.set(keyOf(object), now)
      return Promise.resolve(now)
    },
    remove: (object) => {
      objects.delete(keyOf(object))
      return Promise.resolve()
    },
    ...calls,
  }
  const keeper = new ObjectKeeper<KeeperInput & WantedObjects, WantedObjects>({
    applier,
    mirror: {
      get: (key) => new Map(own()).get(key),
      ofKind: () => own(),
      obstacles: () => power.obstacles,
      close: () => undefined,
    },
    mirrorsOwnOnly: true,
    kinds: [{ kind: 'Service' }],
    label: LABEL,
    subject: 'the objects',
    *wantedWork(input) {
      yield
      return input
    },
    gatewayOf: () => undefined,
    mayWrite: () => power.isWriter,
    onRound: (state) => rounds.push(state),
    onWarning: (message) => warnings.push(message),
  })
  endings.push(() => keeper.close())
  const want = (names: readonly string[], more: Partial<KeeperInput & WantedObjects> = {}) =>
    keeper.update({
      objects: new Map(names.map((name) => [wanted(name).key, wanted(name)])),
      isWhole: true,
      ...more,
    })
  return { keeper, objects, rounds, warnings, power, want }
}

const endings: (() => Promise<void>)[] = []

beforeEach(fakeClock)

afterEach(async () => {
  for (const end of endings.splice(0)) await end()
})

/** Resolves to the state after the given number of rounds. */
const after = (
  rounds: readonly KeeperState<WantedObjects>[],
  count = 1,
): Promise<KeeperState<WantedObjects>> =>
  eventually(() => {
    const state = rounds[count - 1]
    if (state === undefined) throw new Error('no round has ended')
    return state
  })

test('applies what is wanted and removes its own objects that are not', async () => {
  const { rounds, objects, want } = startKeeper({}, stored('old'), stored('foreign', {}))
  want(['new'])
  expect((await after(rounds)).problems.size).toBe(0)
  expect([...objects.keys()]).toEqual(['Service/shop/foreign', 'Service/shop/new'])
})

test.each([
  ['some resources could not be read', { isWhole: false }],
  ['it is to stay as it is', { untouched: new Set(['Service/shop/old']) }],
])('removes nothing while %s', async (_, more) => {
  const { rounds, objects, want } = startKeeper({}, stored('old'))
  want([], more)
  await after(rounds)
  expect([...objects.keys()]).toEqual(['Service/shop/old'])
})

test("leaves another manager's object alone, although the mirror does not have it", async () => {
  const { rounds, objects, want } = startKeeper({}, stored('taken', {}))
  want(['taken', 'free'])
  const { problems } = await after(rounds)
  expect([...problems]).toEqual([['Service/shop/taken', expect.stringContaining('exists already')]])
  expect(objects.get('Service/shop/taken')).toEqual(stored('taken', {}))
  expect(objects.has('Service/shop/free')).toBe(true)
})

test.each([
  ['read', 403],
  ['apply', 409],
  ['apply', undefined],
] as const)(
  'a failing %s (%s) is reported, does not keep the others, and is tried again',
  async (call, status) => {
    let fails = true
    const refuse = (object: ObjectName) =>
      fails && object.name === 'bad'
        ? Promise.reject(new KubernetesError('no answer in time', status))
        : Promise.resolve<JsonObject | undefined>(undefined)
    const answers: Record<string, (object: ObjectName) => Promise<JsonObject>> = {}
    const applied = new Map<string, number>()
    answers['apply'] = async (object) => {
      if (call === 'apply') await refuse(object)
      applied.set(object.name, (applied.get(object.name) ?? 0) + 1)
      return stored(object.name)
    }
    const { rounds, warnings, want } = startKeeper({
      apply: answers['apply'],
      ...(call === 'read' && { read: refuse }),
    })
    want(['bad', 'good'])
    const { problems } = await after(rounds)
    expect([...problems.keys()]).toEqual(['Service/shop/bad'])
    expect(warnings).toEqual(['Service shop/bad cannot be applied: no answer in time'])
    expect(applied.get('good')).toBe(1)
    fails = false
    await eventually(() => expect(rounds.at(-1)?.problems.size).toBe(0))
    expect(applied.get('bad')).toBeGreaterThan(0)
  },
)

test('removals that fail are logged, do not keep the others, and are tried again', async () => {
  const removed: string[] = []
  let fails = true
  const remove = ({ name }: ObjectName) => {
    if (fails && name.startsWith('bad')) return Promise.reject(new KubernetesError('HTTP 403: no'))
    removed.push(name)
    return Promise.resolve()
  }
  const bad = ['bad-1', 'bad-2', 'bad-3', 'bad-4', 'bad-5']
  const { rounds, warnings, want } = startKeeper(
    { remove },
    ...[...bad, 'old'].map((name) => stored(name)),
  )
  want(['new'])
  expect((await after(rounds)).problems.size).toBe(0)
  expect(removed).toEqual(['old'])
  expect(warnings).toEqual(
    bad.map((name) => `Service shop/${name} cannot be removed: HTTP 403: no`),
  )
  fails = false
  await eventually(() => expect(removed).toEqual(expect.arrayContaining(bad)))
})

test('calls again no sooner than a busy API server asks', async () => {
  const applied: string[] = []
  const { rounds, warnings, want } = startKeeper({
    apply: ({ name }) => {
      applied.push(name)
      return applied.length === 1
        ? Promise.reject(new KubernetesError('HTTP 429: too many requests', 429, 20_000))
        : Promise.resolve(stored(name))
    },
  })
  want(['new'])
  await vi.advanceTimersByTimeAsync(19_000)
  expect(applied).toEqual(['new'])
  expect(warnings).toEqual(['Service shop/new cannot be applied: HTTP 429: too many requests'])
  await vi.advanceTimersByTimeAsync(2_000)
  expect(applied).toEqual(['new', 'new'])
  expect(rounds.at(-1)?.problems.size).toBe(0)
})

test('applies nothing while kinds cannot be read, and says which', async () => {
  const { rounds, objects, power, want } = startKeeper()
  power.obstacles = ['Service cannot be read: HTTP 403']
  want(['new'])
  expect([...(await after(rounds)).problems.values()]).toEqual(power.obstacles)
  expect(objects.size).toBe(0)
})

test('writes nothing without the Lease, also if it loses it during a call', async () => {
  const applied: string[] = []
  const { rounds, power, keeper, want } = startKeeper({
    apply: (object) => {
      applied.push(object.name)
      power.isWriter = false
      return Promise.resolve(stored(object.name))
    },
  })
  power.isWriter = false
  want(['a', 'b', 'c', 'd', 'e', 'f'])
  power.isWriter = true
  keeper.look()
  await after(rounds)
  // Four calls are under way at once; no further one begins.
  expect(applied.length).toBeLessThanOrEqual(4)
})

test('a call that hangs does not keep others from being applied; closing waits for it', async () => {
  const applied: string[] = []
  let answer: (object: JsonObject) => void = () => undefined
  const { keeper, want } = startKeeper({
    apply: (object) => {
      if (object.name === 'slow') return new Promise((resolve) => (answer = resolve))
      applied.push(object.name)
      return Promise.resolve(stored(object.name))
    },
  })
  want(['slow', 'a', 'b', 'c', 'd', 'e'])
  await eventually(() => expect(applied).toEqual(['a', 'b', 'c', 'd', 'e']))
  let isClosed = false
  const closed = keeper.close().then(() => (isClosed = true))
  await Promise.resolve()
  expect(isClosed).toBe(false)
  answer(stored('slow'))
  await closed
})
