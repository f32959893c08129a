// Watches that never come about: whoever waits for them is told, and may try again.

import type { Watch } from '@kubernetes/client-node'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { patientWatch } from '../../../src/resources/kubernetes/watch.js'

beforeEach(() => {
  vi.useFakeTimers()
})

afterEach(() => {
  vi.useRealTimers()
})

const start = (answer: Promise<AbortController>) => {
  const ends: unknown[] = []
  let reached = 0
  const inner = { watch: () => answer } as unknown as Watch
  const watch = patientWatch(inner, () => (reached += 1))
  const begun = watch.watch(
    '/api/v1/services',
    {},
    () => undefined,
    (error) => ends.push(error),
  )
  return { begun, ends, reached: () => reached }
}

test('one that is not answered has failed after half a minute, and is given up when the answer comes', async () => {
  let answer: (controller: AbortController) => void = () => undefined
  const { begun, ends, reached } = start(new Promise((resolve) => (answer = resolve)))
  await vi.advanceTimersByTimeAsync(29_000)
  expect(ends).toEqual([])
  await vi.advanceTimersByTimeAsync(2_000)
  expect(ends).toEqual([new Error('no answer in time')])
  await begun
  const late = new AbortController()
  answer(late)
  await vi.advanceTimersByTimeAsync(0)
  expect(late.signal.aborted).toBe(true)
  expect(reached()).toBe(0)
})

test('one that cannot even be asked for has failed, and nothing is thrown', async () => {
  const { begun, ends } = start(Promise.reject(new Error('no credentials')))
  await begun
  expect(ends).toEqual([new Error('no credentials')])
})

test('one that is answered is not given up', async () => {
  const { begun, ends, reached } = start(Promise.resolve(new AbortController()))
  expect((await begun).signal.aborted).toBe(false)
  await vi.advanceTimersByTimeAsync(200_000)
  expect(ends).toEqual([])
  expect(reached()).toBe(1)
})
