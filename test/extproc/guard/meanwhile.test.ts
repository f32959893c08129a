// What is done while webhooks are asked: it fails the exchange if it throws, but only once the question has ended.

import { expect, test } from 'vitest'
import { meanwhile } from '../../../src/extproc/guard/meanwhile.js'

function failing(): void {
  throw new Error('of the act')
}

test('the result is that of the work', async () => {
  const log: string[] = []
  const work = meanwhile(Promise.resolve('answer'), () => log.push('act'))
  log.push('waiting')
  expect(await work).toBe('answer')
  expect(log).toEqual(['act', 'waiting'])
})

test('an error is thrown after the work has ended', async () => {
  let isEnded = false
  const work = Promise.resolve().then(() => void (isEnded = true))
  await expect(meanwhile(work, failing)).rejects.toThrow('of the act')
  expect(isEnded).toBe(true)
})

test('an error of the work is thrown rather than that of the act, and none is unhandled', async () => {
  const work = Promise.reject(new Error('of the work'))
  await expect(meanwhile(work, failing)).rejects.toThrow('of the work')
})
