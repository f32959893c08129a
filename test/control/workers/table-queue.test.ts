// In a worker, messages that follow a change of the tables are handled when it is in force.

import { expect, test } from 'vitest'
import { KeySetQuestions } from '../../../src/control/workers/key-set-questions.js'
import type { TableChanges } from '../../../src/control/workers/messages.js'
import { TableQueue } from '../../../src/control/workers/table-queue.js'

const NOTHING: TableChanges = {
  authz: { removed: [], added: [] },
  proc: { removed: [], added: [] },
}

/** A queue whose changes take effect when released, and the order of what happened. */
function heldQueue() {
  const events: string[] = []
  const releases: (() => void)[] = []
  const queue = new TableQueue({
    change: async (parts) => {
      await new Promise<void>((resolve) => releases.push(resolve))
      events.push(`${String(parts.length)} parts in force`)
    },
    onTaken: (sequence) => events.push(`taken ${String(sequence)}`),
  })
  return { queue, events, release: () => releases.shift()?.() }
}

test('a check that waited for fresh keys goes on when the tables that were sent before are in force', async () => {
  const { queue, events, release } = heldQueue()
  const questions = new KeySetQuestions(() => undefined)
  const fetched = questions.refetchKeySet('keys').then(() => events.push('the check goes on'))
  queue.take({ type: 'tables', sequence: 1, changes: NOTHING, isLast: false })
  queue.take({ type: 'tables', sequence: 1, changes: NOTHING, isLast: true })
  const keySet = { isAnswered: true, isOlder: false, answers: 1 }
  queue.afterTables(() => questions.receive({ type: 'refetched', call: 1, keySet }))
  await Promise.resolve()
  release()
  await fetched
  expect(events).toEqual(['2 parts in force', 'taken 1', 'the check goes on'])
})

test('changes take effect one after another', async () => {
  const { queue, events, release } = heldQueue()
  for (const sequence of [1, 2])
    queue.take({ type: 'tables', sequence, changes: NOTHING, isLast: true })
  await Promise.resolve()
  release()
  await expect.poll(() => events).toEqual(['1 parts in force', 'taken 1'])
  release()
  await queue.taken()
  expect(events.at(-1)).toBe('taken 2')
})

test('without a change in progress, an action runs at once', () => {
  const { queue, events } = heldQueue()
  queue.afterTables(() => events.push('at once'))
  expect(events).toEqual(['at once'])
})
