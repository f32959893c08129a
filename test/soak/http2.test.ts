// The server's HTTP/2 at full size.

import { test } from 'vitest'
import { fuzzConversations } from '../wire/http2/fuzz.js'
import { fuzzDrains } from '../wire/http2/fuzz-drains.js'

test('200,000 conversations that are almost right throw nothing and leave nothing open', async () => {
  await fuzzConversations(200_000)
})

test('100,000 drains in the middle of a conversation cut off nothing that was under way', async () => {
  await fuzzDrains(100_000)
})
