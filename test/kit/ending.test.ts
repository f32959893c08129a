import { expect, test } from 'vitest'
import { abortSignalOf, OwnEnding } from '../../src/kit/ending.js'

test('calls each listener once, in order, and none that was removed or added too late', () => {
  const ending = new OwnEnding()
  const told: string[] = []
  const out = () => told.push('out')
  ending.addEventListener('abort', () => told.push('first'))
  ending.addEventListener('abort', out)
  ending.addEventListener('abort', () => told.push('second'))
  ending.removeEventListener('abort', out)
  ending.removeEventListener('abort', out)
  expect(ending.aborted).toBe(false)
  ending.abort()
  ending.abort()
  ending.addEventListener('abort', () => told.push('late'))
  expect([ending.aborted, told]).toEqual([true, ['first', 'second']])
})

test('a listener that removes others does not keep them from being called', () => {
  const ending = new OwnEnding()
  const told: string[] = []
  const second = () => told.push('second')
  ending.addEventListener('abort', () => ending.removeEventListener('abort', second))
  ending.addEventListener('abort', second)
  ending.abort()
  expect(told).toEqual(['second'])
})

test('as an AbortSignal it aborts with it, also where it has ended already', () => {
  const ending = new OwnEnding()
  const signal = abortSignalOf(ending)
  expect(signal.aborted).toBe(false)
  ending.abort()
  expect([signal.aborted, abortSignalOf(ending).aborted]).toEqual([true, true])
})

test('a listener that throws keeps no other from being called', () => {
  const ending = new OwnEnding()
  const called: string[] = []
  ending.addEventListener('abort', () => {
    throw new Error('a bug')
  })
  ending.addEventListener('abort', () => called.push('second'))
  expect(() => ending.abort()).toThrow('a bug')
  expect([ending.aborted, called]).toEqual([true, ['second']])
})
