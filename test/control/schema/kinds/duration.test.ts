// What is meant by values that are no durations.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DURATION, durationMeant } from '../../../../src/control/schema/kinds/fields.js'

test.each([
  [5, '5s'],
  ['5', '5s'],
  [5000, '5s'],
  [2500, '2500ms'],
  [0.5, '500ms'],
  [60, '1m'],
  ['5 seconds', '5s'],
  ['5S', '5s'],
  ['10 Min', '10m'],
  ['1.5h', '90m'],
  ['1d', '24h'],
  ['250 msec', '250ms'],
  [0, undefined],
  [-1, undefined],
  ['', undefined],
  ['5us', undefined],
  ['minute', undefined],
  ['1e3', undefined],
  [NaN, undefined],
])('%j is meant as %s', (value, meant) => {
  expect(durationMeant(value)).toBe(meant)
})

test('a small number has the unit of its field', () => {
  expect([durationMeant(50, 'ms'), durationMeant('2 s', 'ms')]).toEqual(['50ms', '2s'])
})

test('whatever is meant is a duration', () => {
  const written = fc
    .tuple(fc.double({ min: 0 }), fc.constantFrom('', ' ', 's', ' ms', 'h', 'day', 'x'))
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(fc.oneof(fc.double(), fc.nat(), fc.string(), written), (value) => {
      const meant = durationMeant(value)
      if (meant !== undefined) expect(meant).toMatch(DURATION)
    }),
  )
})
