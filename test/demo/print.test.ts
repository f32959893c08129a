// The demo's lines, with and without a terminal.

import { expect, test } from 'vitest'
import { createPrint } from '../../src/demo/print.js'

function printed(colour: boolean): string {
  let text = ''
  const print = createPrint((part) => (text += part), colour)
  print.step('One')
  print.answer(401, 'no')
  print.step('Two')
  print.detail('name', 'value')
  return text
}

test('counts the steps and lines up the details', () => {
  expect(printed(false)).toBe('\n1. One\n   401 no\n\n2. Two\n   name                     value\n')
})

test('colours on a terminal', () => {
  expect(printed(true)).toContain('\u001b[33m401\u001b[0m no')
})
