// Suggestions ("Did you mean"): which word is close enough, and that the result does not depend on how the distance is
// bounded.

import { expect, test } from 'vitest'
import { similarWord } from '../../src/kit/similar.js'
import { createRandom } from '../support/random.js'

test.each([
  ['mpc', ['mcp'], 'mcp'],
  ['chekc', ['check', 'serve'], 'check'],
  ['fake', ['mcp'], undefined],
  ['guardrails-webhook', ['guardrail-webhook', 'webhook'], 'guardrail-webhook'],
  ['MCP-Server', ['mcp-server'], 'mcp-server'],
])('%s among %j may be %s', (word, candidates, near) => {
  expect(similarWord(word, candidates)).toBe(near)
})

test('an upper bound of edits holds for long words', () => {
  expect(similarWord('team-a-search-server', ['team-b-lookup-server'], 3)).toBeUndefined()
  expect(similarWord('team-a-search-server', ['team-b-search-srver'], 3)).toBe(
    'team-b-search-srver',
  )
})

test('a word with as many edits as are allowed is found, one with more is not', () => {
  const random = createRandom(7)
  const letter = () => String.fromCharCode(97 + random(26))
  for (let run = 0; run < 300; run += 1) {
    const word = Array.from({ length: 9 + random(20) }, letter).join('')
    const edits = 1 + random(6)
    const limit = Math.min(3, Math.floor(word.length / 3))
    // Digits are in no word, so that each is an edit.
    const places = new Set<number>()
    while (places.size < edits) places.add(random(word.length))
    const changed = [...word].map((char, at) => (places.has(at) ? '0' : char)).join('')
    expect(similarWord(changed, [word], 3)).toBe(edits <= limit ? word : undefined)
  }
})
