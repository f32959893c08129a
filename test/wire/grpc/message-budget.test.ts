// What the unfinished messages of all connections may hold together.

import { connect } from 'node:http2'
import { expect, test } from 'vitest'
import { createHeldBytes } from '../../../src/extproc/session/held-bytes.js'
import { Status } from '../../../src/wire/grpc/status.js'
import { eventually } from '../../../testing/eventually.js'
import { ask, echo, endAfterEach, message, open, outcomeOf, serve, server } from './call-client.js'

endAfterEach()

const MIB = 1024 * 1024

test('one connection finds what another has left, and gets room when the other is gone', async () => {
  let refusals = 0
  const messages = createHeldBytes(3 * MIB, undefined, () => (refusals += 1))
  await serve({ Echo: echo }, { messages })
  // Half of a message, in a buffer of up to twice its size.
  const half = message(Buffer.alloc(2 * MIB)).subarray(0, MIB)
  const other = connect(`http://${server.address}`)
  const head = { ':method': 'POST', ':path': '/a.Service/Echo', 'content-type': 'application/grpc' }
  const held = other.request({ ...head, te: 'trailers' })
  held.on('error', () => {})
  held.write(half)
  await eventually(() => expect(messages.held()).toBeGreaterThanOrEqual(MIB))

  const refused = open('/a.Service/Echo')
  refused.on('error', () => {})
  refused.write(message(Buffer.alloc(4 * MIB)).subarray(0, 3 * MIB))
  expect(await outcomeOf(refused)).toMatchObject({ status: Status.RESOURCE_EXHAUSTED })
  expect(refusals).toBe(1)
  // A message that arrives whole needs none of it.
  expect((await ask('/a.Service/Echo', message('small'))).content).toBe('small')

  other.destroy()
  await eventually(() => expect(messages.held()).toBe(0))
  const whole = Buffer.alloc(MIB, 'x')
  expect((await ask('/a.Service/Echo', message(whole))).content).toHaveLength(MIB)
})
