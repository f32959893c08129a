// The demo's lines, with and without a terminal.

import { expect, test } from 'vitest'
import { createPrint } from '../../../src/cli/demo/print.js'

function printed(colour: boolean): string {
  let text = ''
  const print = createPrint((part) => (text += part), colour)
  print.step('One')
  print.request('POST', 'http://x/', { a: 1 })
  print.answer(401, 'no')
  print.step('Two')
  print.detail('name', 'value')
  print.received(0.25, 'soon')
  print.received(12, `${'four '.repeat(17)}${'long'.repeat(21)} end`)
  print.json({ text: 'a', list: ['b', 'c'] })
  return text
}

test('counts the steps, shows requests and answers, a member of a document a line, long texts in lines', () => {
  expect(printed(false)).toBe(`
1. One
   → POST http://x/
     {"a":1}
   ← 401 no

2. Two
     name                 value
      0.3  soon
     12.0  ${'four '.repeat(13).trim()}
           four four four four
           ${'long'.repeat(21)}
           end
     {
       "text": "a",
       "list": ["b","c"]
     }
`)
})

test('colours on a terminal', () => {
  expect(printed(true)).toContain('\u001b[33m401\u001b[0m no')
})
