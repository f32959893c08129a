// Runs HTTP/2 conversations that are almost valid. test/nightly/http2.test.ts runs many more.

import { test } from 'vitest'
import { fuzzConversations } from './fuzz.js'
import { fuzzDrains } from './fuzz-drains.js'

test('2,000 conversations that are almost right throw nothing and leave nothing open', async () => {
  await fuzzConversations(2_000)
}, 60_000)

test('2,000 drains in the middle of a conversation cut off nothing that was under way', async () => {
  await fuzzDrains(2_000)
}, 60_000)
