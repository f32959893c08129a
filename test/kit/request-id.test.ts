// Which ids of requests are returned to clients, who may have chosen them.

import { expect, test } from 'vitest'
import { returnedId } from '../../src/kit/request-id.js'

test.each(['5c9f4a1e-8d0b-4a52-9e0c-6f6bd6f3a1c2', 'a', 'req_1.2:3'])('%s is returned', (id) => {
  expect(returnedId(id)).toBe(id)
  expect(returnedId([id])).toBe(id)
})

test.each([
  undefined,
  '',
  'two words',
  'x\r\nset-cookie: a=b',
  '<script>',
  'é',
  'x'.repeat(129),
  [],
  ['one', 'two'],
])('%j is not', (value) => {
  expect(returnedId(value)).toBeUndefined()
})
