// Watches that cannot be established, or whose end does not come.

import type { Watch } from '@kubernetes/client-node'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { patientWatch } from '../../../../src/control/sources/kubernetes/reflector.js'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

function start(answer: Promise<AbortController>) {
  const ends: unknown[] = []
  const news: string[] = []
  const inner = { watch: () => answer } as unknown as Watch
  const watch = patientWatch(inner, {
    reached: () => news.push('reached'),
    silent: () => news.push('silent'),
  })
  const begun = watch.watch(
    '/api/v1/services',
    {},
    () => undefined,
    (error) => ends.push(error),
  )
  return { begun, ends, news }
}

test('one that is not answered is over after 8 s, and is given up when the answer comes', async () => {
  let answer: (controller: AbortController) => void = () => undefined
  const { begun, ends, news } = start(new Promise((resolve) => (answer = resolve)))
  await vi.advanceTimersByTimeAsync(7_900)
  expect(ends).toEqual([])
  await vi.advanceTimersByTimeAsync(200)
  expect(ends).toEqual([expect.objectContaining({ name: 'TimeoutError' })])
  await begun
  const late = new AbortController()
  answer(late)
  await vi.advanceTimersByTimeAsync(0)
  expect(late.signal.aborted).toBe(true)
  expect(news).toEqual(['silent'])
})

test('an API server that answers no watch is given more time for each, up to half a minute', async () => {
  const answers = [false, false, false, false, true, false]
  const inner = {
    watch: () =>
      answers.shift() === true ? Promise.resolve(new AbortController()) : new Promise(() => {}),
  } as unknown as Watch
  const { watch } = patientWatch(inner, { reached: vi.fn(), silent: vi.fn() })
  const ended: number[] = []
  const begin = (): void => {
    const began = Date.now()
    const again = (): void => {
      ended.push((Date.now() - began) / 1000)
      begin()
    }
    void watch('/', {}, vi.fn(), again).then((controller) =>
      controller.signal.addEventListener('abort', again),
    )
  }
  begin()
  await vi.advanceTimersByTimeAsync(110_000)
  const seconds = ended.map(Math.round)
  expect(seconds.slice(0, 4)).toEqual([8, 16, 30, 30])
  expect(seconds[4]).toBeLessThan(10)
  expect(seconds[5]).toBe(8)
})

test('one that was answered late is given up within 10 s of the answer', async () => {
  let answer: (controller: AbortController) => void = () => undefined
  const { news } = start(new Promise((resolve) => (answer = resolve)))
  await vi.advanceTimersByTimeAsync(7_500)
  const controller = new AbortController()
  answer(controller)
  await vi.advanceTimersByTimeAsync(4_900)
  expect(news).toEqual(['reached'])
  await vi.advanceTimersByTimeAsync(5_100)
  expect(controller.signal.aborted).toBe(true)
  expect(news).toEqual(['reached', 'silent'])
})

test('one that cannot even be asked for has failed, and nothing is thrown', async () => {
  const { begun, ends } = start(Promise.reject(new Error('no credentials')))
  await begun
  expect(ends).toEqual([new Error('no credentials')])
})

test('one whose end does not come is given up within 10 s, as its connection may be dead', async () => {
  const { begun, ends, news } = start(Promise.resolve(new AbortController()))
  expect((await begun).signal.aborted).toBe(false)
  await vi.advanceTimersByTimeAsync(4_900)
  expect((await begun).signal.aborted).toBe(false)
  await vi.advanceTimersByTimeAsync(5_100)
  expect((await begun).signal.aborted).toBe(true)
  expect(ends).toEqual([])
  expect(news).toEqual(['reached', 'silent'])
})

test('the API server is asked to end it well before', async () => {
  const asked: unknown[] = []
  const inner = {
    watch: (_: string, query: unknown) => {
      asked.push(query)
      return Promise.resolve(new AbortController())
    },
  } as unknown as Watch
  for (let count = 0; count < 20; count += 1)
    await patientWatch(inner, { reached: vi.fn(), silent: vi.fn() }).watch(
      '/',
      {},
      vi.fn(),
      vi.fn(),
    )
  for (const query of asked)
    expect(query).toMatchObject({
      allowWatchBookmarks: true,
      timeoutSeconds: expect.toSatisfy((value: number) => value >= 5 && value <= 7) as number,
    })
})
