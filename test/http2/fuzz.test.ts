// Runs HTTP/2 conversations that are almost valid. test/nightly/http2.test.ts runs many more.

import { test } from 'vitest'
import { fuzzConversations } from './fuzz.js'

test('2,000 conversations that are almost right throw nothing and leave nothing open', async () => {
  await fuzzConversations(2_000)
}, 60_000)
