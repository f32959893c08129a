// A worker's questions about key sets are few, however long the main process does not answer them.

import { expect, test } from 'vitest'
import { KeySetQuestions, MOST_UNANSWERED } from '../../../src/control/workers/key-set-questions.js'
import type { FromWorker } from '../../../src/control/workers/messages.js'

const FETCHED = { isAnswered: true, isOlder: false, answers: 1 }

test('a main process that hangs is not asked without end about one key set, but about others', async () => {
  const posted: FromWorker[] = []
  const questions = new KeySetQuestions((message) => posted.push(message))
  const asked = Array.from({ length: MOST_UNANSWERED }, () => questions.refetchKeySet('one'))
  expect(await questions.refetchKeySet('one')).toEqual({
    isAnswered: false,
    isOlder: false,
    answers: 0,
  })
  expect(posted).toHaveLength(MOST_UNANSWERED)
  const other = questions.refetchKeySet('two')
  expect(posted).toHaveLength(MOST_UNANSWERED + 1)
  for (let call = 1; call <= posted.length; call += 1)
    questions.receive({ type: 'refetched', call, keySet: FETCHED })
  expect(new Set(await Promise.all([...asked, other]))).toEqual(new Set([FETCHED]))
  const again = questions.refetchKeySet('one')
  questions.receive({ type: 'refetched', call: posted.length, keySet: FETCHED })
  expect(await again).toEqual(FETCHED)
})
