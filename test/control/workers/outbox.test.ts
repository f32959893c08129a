// What leaves for a worker in a turn of the event loop: one part of a change of its tables, and everything in order.

import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import type { ToWorker } from '../../../src/control/workers/messages.js'
import { tableMessages, type Tables } from '../../../src/control/workers/table-changes.js'
import { Outbox } from '../../../src/control/workers/worker-place.js'
import { nextTurn } from '../../../src/kit/turns.js'

const forget = (vanishedBy: number): ToWorker => ({ type: 'forget', vanishedBy, routes: [] })

function* forgets(from: number, to: number): Generator<ToWorker> {
  for (let index = from; index < to; index += 1) yield forget(index)
}

/** An outbox, and what it has sent. */
function recorded() {
  const sent: ToWorker[] = []
  return { sent, outbox: new Outbox((message) => void sent.push(message)) }
}

const numbersOf = (sent: readonly ToWorker[]): readonly (number | string)[] =>
  sent.map((message) => (message.type === 'forget' ? message.vanishedBy : message.type))

const tablesOf = (count: number): Tables => ({
  authz: [],
  proc: Array.from({ length: count }, (_, index) => ({
    key: `route-${String(index)}`,
    ...({ type: 'guard', request: [], response: [] } as never as object),
  })) as unknown as Tables['proc'],
})

test('a change of thousands of entries leaves one part a turn', async () => {
  const { sent, outbox } = recorded()
  outbox.postInTurns(tableMessages(1, { authz: [], proc: [] }, tablesOf(6_400)))
  for (let turn = 1; turn <= 100; turn += 1) {
    expect(sent).toHaveLength(turn)
    await nextTurn()
  }
  expect(sent).toHaveLength(100)
  expect(sent.map((message) => message.type === 'tables' && message.isLast)).toEqual([
    ...Array<boolean>(99).fill(false),
    true,
  ])
})

test('workers share the parts of a change', () => {
  const messages = tableMessages(1, { authz: [], proc: [] }, tablesOf(100))
  const taken = (): readonly unknown[] =>
    [...messages].map((message) => message.type === 'tables' && message.changes)
  const [first, second] = [taken(), taken()]
  expect(first).toHaveLength(2)
  for (const [index, changes] of first.entries()) expect(second[index]).toBe(changes)
})

test('what is posted meanwhile leaves behind it, in order', async () => {
  const { sent, outbox } = recorded()
  outbox.post(forget(-1))
  outbox.postInTurns(forgets(0, 3))
  outbox.post({ type: 'ping' })
  outbox.postInTurns(forgets(3, 5))
  outbox.post(forget(5))
  expect(numbersOf(sent)).toEqual([-1, 0])
  for (let turn = 0; turn < 8; turn += 1) await nextTurn()
  expect(numbersOf(sent)).toEqual([-1, 0, 1, 2, 'ping', 3, 4, 5])
  outbox.post(forget(6))
  expect(sent.at(-1)).toEqual(forget(6))
})

test('a closed one sends nothing more, and closes the sockets that wait', async () => {
  const { sent, outbox } = recorded()
  const [waiting, late] = [new Socket(), new Socket()]
  outbox.postInTurns(forgets(0, 3))
  outbox.post({ type: 'socket', listener: 0 }, waiting)
  outbox.close()
  outbox.post({ type: 'socket', listener: 0 }, late)
  outbox.postInTurns(forgets(3, 5))
  await nextTurn()
  expect(numbersOf(sent)).toEqual([0])
  expect([waiting.destroyed, late.destroyed]).toEqual([true, true])
})
