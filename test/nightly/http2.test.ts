// The server's HTTP/2 at full size.

import { test } from 'vitest'
import { fuzzConversations } from '../http2/fuzz.js'

test('200,000 conversations that are almost right throw nothing and leave nothing open', async () => {
  await fuzzConversations(200_000)
})
