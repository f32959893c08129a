// How many workers --workers asks for.

import { expect, test } from 'vitest'
import { readWorkersFor } from '../../../src/ops/settings/values.js'

test.each([
  [1, 1],
  [2, 1],
  [4, 3],
  [64, 63],
])('auto, with %i processors: %i', (processors, workers) => {
  const read = readWorkersFor(() => processors)
  expect(read('auto')).toEqual({ ok: true, value: workers })
  expect(read(' AUTO ')).toEqual({ ok: true, value: workers })
})

test('a number, whatever the processors are', () => {
  const read = readWorkersFor(() => 4)
  expect(read('16')).toEqual({ ok: true, value: 16 })
  for (const text of ['0', '129', 'all'])
    expect(read(text)).toEqual({ ok: false, error: expect.stringContaining('or auto') as string })
})
