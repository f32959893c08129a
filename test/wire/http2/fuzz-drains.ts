// Generates conversations without a mistake of the client during which the server drains the connection.

import fc from 'fast-check'
import { FrameFlag, FrameType } from '../../../src/wire/http2/protocol.js'
import { data, frame, headers, RawPeer, rst, windowUpdate } from './raw-peer.js'

const call = fc.record({
  parts: fc.array(fc.nat(40), { maxLength: 4 }),
  hasUpdate: fc.boolean(),
  ending: fc.constantFrom('end', 'trailers', 'reset'),
})
type Call = typeof call extends fc.Arbitrary<infer T> ? T : never

const conversation = fc.record({
  calls: fc.array(call, { minLength: 1, maxLength: 6 }),
  /** Which of the open calls, or of those and the next one, sends its next frame. */
  turns: fc.array(fc.nat(5), { minLength: 1, maxLength: 40 }),
  drainAt: fc.nat(20),
  /** Frames between the first GOAWAY and the last. */
  grace: fc.nat(10),
  answersPing: fc.boolean(),
})

function framesOf(id: number, { parts, hasUpdate, ending }: Call): Buffer[] {
  const endings = {
    end: data(id, 'z', true),
    trailers: headers(id, { end: true, fields: [['x-a', '1']] }),
    reset: rst(id),
  }
  return [
    headers(id),
    ...parts.map((size) => data(id, 'y'.repeat(size))),
    ...(hasUpdate ? [windowUpdate(id, 10)] : []),
    endings[ending],
  ]
}

/** The calls' frames in the order in which the client sends them; calls begin in the order of their ids. */
function* inTurns(calls: readonly Call[], turns: readonly number[]) {
  const waiting = calls.map((each, at) => ({ id: 2 * at + 1, frames: framesOf(2 * at + 1, each) }))
  const open: typeof waiting = []
  for (let at = 0; open.length + waiting.length > 0; at++) {
    const turn = (turns[at % turns.length] ?? 0) % (open.length + Math.min(1, waiting.length))
    const [next] = turn === open.length ? waiting.splice(0, 1) : [open[turn]]
    if (next === undefined) return
    if (turn === open.length) open.push(next)
    const [bytes] = next.frames.splice(0, 1)
    if (bytes !== undefined) yield { id: next.id, bytes }
    if (next.frames.length === 0) open.splice(open.indexOf(next), 1)
  }
}

const answerTo = ({ parts, ending }: Call): string =>
  parts.map((size) => 'y'.repeat(size)).join('') + (ending === 'end' ? 'z' : '')

/** Throws where a call from before the last GOAWAY has no whole answer, or the connection ends with an error. */
export async function fuzzDrains(count: number): Promise<void> {
  await fc.assert(
    fc.asyncProperty(conversation, async ({ calls, turns, drainAt, grace, answersPing }) => {
      const peer = new RawPeer().greet()
      const begun = new Set<number>()
      let sent = 0
      for (const { id, bytes } of inTurns(calls, turns)) {
        if (sent === drainAt) peer.connection.drain()
        if (sent === drainAt + grace && answersPing)
          peer.write(frame(FrameType.PING, FrameFlag.ACK, 0, Buffer.from('drained?')))
        else if (sent === drainAt + grace) {
          peer.clock += 1_001
          peer.connection.tick()
        }
        if (sent < drainAt + grace) begun.add(id)
        peer.write(bytes)
        sent += 1
      }
      await expectAnswers(peer, calls, begun)
      if (sent > drainAt + grace && peer.ending !== 'closed') throw new Error('it has not ended')
    }),
    { numRuns: count },
  )
}

async function expectAnswers(
  peer: RawPeer,
  calls: readonly Call[],
  begun: ReadonlySet<number>,
): Promise<void> {
  const said = await peer.frames()
  for (const { type, payload } of said)
    if (type === FrameType.GOAWAY && payload.readUInt32BE(4) !== 0)
      throw new Error(`GOAWAY with ${String(payload.readUInt32BE(4))}`)
  for (const [at, each] of calls.entries()) {
    const id = 2 * at + 1
    const own = said.filter(({ streamId }) => streamId === id)
    if (!begun.has(id) && own.length > 0) throw new Error(`an answer to ${String(id)}`)
    if (!begun.has(id) || each.ending === 'reset') continue
    const content = own.filter(({ type }) => type === FrameType.DATA)
    const text = content.map(({ payload }) => payload.toString()).join('')
    if (text !== answerTo(each)) throw new Error(`${String(id)} has ${text}`)
  }
}
