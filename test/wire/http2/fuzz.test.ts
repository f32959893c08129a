// Runs HTTP/2 conversations that are almost valid. test/soak/http2.test.ts runs many more.

import { test } from 'vitest'
import { runs } from '../../support/runs.js'
import { fuzzConversations } from './fuzz.js'
import { fuzzDrains } from './fuzz-drains.js'

test('conversations that are almost right throw nothing and leave nothing open', async () => {
  await fuzzConversations(runs(10_000))
}, 60_000)

test('drains in the middle of a conversation cut off nothing that was under way', async () => {
  await fuzzDrains(runs(10_000))
}, 60_000)
