// What caches do not keep alive: objects that only a memo has seen, and compiled values that nothing refers to.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { HeldValues } from '../../../src/extauthz/cel/held-values.js'
import { briefMemo, memo, memoWork } from '../../../src/kit/incremental/memo.js'
import { atOnce, type Work } from '../../../src/kit/turns.js'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Collects what nothing refers to. What was read from a WeakRef is kept until the turn ends. */
async function collected(): Promise<void> {
  await nextTurn()
  collect()
  await nextTurn()
}

interface Named {
  readonly name: string
}

const copyOf = ({ name }: Named): Named => ({ name })

function* copyWork(subject: Named): Work<Named> {
  return copyOf(subject)
}

const memos: Readonly<Record<string, (subject: Named) => Named>> = {
  memo: memo(copyOf),
  briefMemo: briefMemo(copyOf),
  memoWork: (
    (work) => (subject: Named) =>
      atOnce(work(subject))
  )(memoWork(copyWork)),
}

test.each(Object.entries(memos))(
  '%s keeps neither objects nor results alive',
  async (_, result) => {
    const kept = { name: 'kept' }
    const own = result(kept)
    const refs = ((subject) => [new WeakRef(subject), new WeakRef(result(subject))])({
      name: 'gone',
    })
    await collected()
    expect(refs.map((ref) => ref.deref())).toEqual([undefined, undefined])
    expect(result(kept)).toBe(own)
  },
)

test('compiled values are found by their text while something refers to them', async () => {
  const values = new HeldValues<Named>()
  const kept = { name: 'kept' }
  values.add('kept', kept)
  values.add('gone', { name: 'gone' })
  await collected()
  expect(values.get('gone')).toBeUndefined()
  expect(values.get('kept')).toBe(kept)
})
