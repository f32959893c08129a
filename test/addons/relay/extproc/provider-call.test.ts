// Calls of a token endpoint: the relays of one namespace share what they may ask there, and take nothing from others.

import { expect, test } from 'vitest'
import { createRelayDeps } from '../../../../src/addons/relay/extproc/relay-deps.js'
import { createCallProvider } from '../../../../src/addons/relay/extproc/relay-replies.js'
import { createSlots } from '../../../../src/extproc/session/slots.js'
import type { CallRemote } from '../../../../src/kit/http/http-call.js'
import { ok } from '../../../../src/kit/result.js'
import { relayOf } from '../oauth/support.js'

const ANSWER = ok({ status: 200, headers: {}, body: new Uint8Array() })
const { signal } = new AbortController()

/** Returns a function that asks for a token as a policy's relay, and says whether it was allowed to. */
function asking(callRemote: CallRemote) {
  const deps = createRelayDeps({ callRemote, slots: createSlots(2), now: () => 0 })
  return async (policy: string): Promise<boolean> =>
    (await createCallProvider(relayOf({ policy }), deps)({}, signal)).ok
}

test('a flood at one namespace leaves another its rate', async () => {
  const ask = asking(() => Promise.resolve(ANSWER))
  for (let count = 0; count < 200; count += 1) expect(await ask('flooded/mcp')).toBe(true)
  expect([await ask('flooded/mcp'), await ask('flooded/other')]).toEqual([false, false])
  expect(await ask('quiet/mcp')).toBe(true)
})

test('calls of one namespace that hang leave another its slots', async () => {
  const ends: (() => void)[] = []
  const ask = asking(() => new Promise((resolve) => ends.push(() => resolve(ANSWER))))
  const hanging = [ask('flooded/mcp'), ask('flooded/other')]
  expect(await ask('flooded/mcp')).toBe(false)
  const quiet = ask('quiet/mcp')
  expect(ends).toHaveLength(3)
  for (const end of ends) end()
  expect(await Promise.all([...hanging, quiet])).toEqual([true, true, true])
})
