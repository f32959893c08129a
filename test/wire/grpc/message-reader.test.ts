// Reads messages from bytes in pieces of any size, and limits what unfinished messages may hold.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HeldMessages, UNSHARED } from '../../../src/wire/grpc/message-budget.js'
import { MessageReader, prefixOf } from '../../../src/wire/grpc/message-reader.js'
import { GrpcError } from '../../../src/wire/grpc/status.js'

const framed = (message: Uint8Array): Buffer => Buffer.concat([prefixOf(message), message])

test('in any pieces, the messages arrive as sent, and nothing is held at the end', () => {
  fc.assert(
    fc.property(
      fc.array(fc.uint8Array({ maxLength: 600 }), { maxLength: 6 }),
      fc.array(fc.nat(), { maxLength: 6 }),
      (messages, cuts) => {
        const bytes = Buffer.concat(messages.map(framed))
        const held = new HeldMessages(UNSHARED)
        const reader = new MessageReader(held)
        const read: Buffer[] = []
        let from = 0
        for (const to of [
          ...cuts.map((at) => at % (bytes.length + 1)).sort((a, b) => a - b),
          bytes.length,
        ]) {
          reader.push(bytes.subarray(from, to))
          from = to
          for (let next = reader.next(); next !== undefined; next = reader.next()) read.push(next)
        }
        expect(read.map((message) => message.toString('hex'))).toEqual(
          messages.map((message) => Buffer.from(message).toString('hex')),
        )
        reader.clear()
        expect(held.bytes).toBe(0)
      },
    ),
  )
})

test('the unfinished messages of one connection are bounded together, and what ends frees its part', () => {
  const held = new HeldMessages(UNSHARED)
  const part = framed(Buffer.alloc(30_000_000)).subarray(0, 29_000_000)
  const begin = (): MessageReader => {
    const reader = new MessageReader(held)
    reader.push(part)
    return reader
  }
  const [first] = Array.from({ length: 9 }, begin)
  expect(begin).toThrow(GrpcError)
  expect(held.bytes).toBeLessThanOrEqual(256 * 1024 * 1024)
  first?.clear()
  begin()
})

test('two thousand streams may each have the part of a message that its window lets through', () => {
  const held = new HeldMessages(UNSHARED)
  const part = framed(Buffer.alloc(1_000_000)).subarray(0, 65_535)
  for (let count = 0; count < 2_000; count += 1) {
    const reader = new MessageReader(held)
    // In frames of 16 KiB, each of which may need a larger buffer.
    for (let at = 0; at < part.length; at += 16_384) reader.push(part.subarray(at, at + 16_384))
    // None is refused, and each has the whole part.
    expect(reader.length).toBe(65_535)
  }
  expect(held.bytes).toBeGreaterThanOrEqual(2_000 * 65_535)
  expect(held.bytes).toBeLessThanOrEqual(256 * 1024 * 1024)
})

test('what a prefix announces takes no memory before it comes', () => {
  const held = new HeldMessages(UNSHARED)
  new MessageReader(held).push(framed(Buffer.alloc(30_000_000)).subarray(0, 5))
  expect(held.bytes).toBeLessThan(1_000)
})
