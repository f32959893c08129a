// Garbage left by a load is collected once, when no work is in progress.

import { describe, expect, test } from 'vitest'
import { IdleCollection, type IdleSigns } from '../../../src/app/memory/idle-collection.js'

const MB = 1024 ** 2
const IDLE: IdleSigns = { held: 0, heap: 30 * MB, external: 5 * MB, busy: 0 }

function collection() {
  let signs = IDLE
  const collected: number[] = []
  let second = 0
  const idle = new IdleCollection(
    () => signs,
    () => {
      collected.push(second)
      signs = { ...signs, heap: IDLE.heap, external: IDLE.external }
    },
  )
  return {
    collected,
    /** A look each second. */
    pass: (seconds: number, now: Partial<IdleSigns> = {}) => {
      signs = { ...signs, ...now }
      for (let i = 0; i < seconds; i++) {
        second += 1
        idle.look()
      }
    },
  }
}

describe('an idle process', () => {
  test('collects nothing where no load was', () => {
    const { pass, collected } = collection()
    pass(3600)
    expect(collected).toEqual([])
  })

  test('collects once, three seconds after the load', () => {
    const { pass, collected } = collection()
    pass(10)
    pass(5, { busy: 0.9, held: 200 * MB, external: 300 * MB })
    pass(60, { busy: 0, held: 0 })
    expect(collected).toEqual([18])
  })

  test('does so after each load', () => {
    const { pass, collected } = collection()
    pass(10)
    for (let load = 0; load < 3; load++) {
      pass(5, { busy: 0.9, external: 300 * MB })
      pass(15, { busy: 0 })
    }
    expect(collected).toHaveLength(3)
  })

  test('does not collect again what is in use', () => {
    const all = { ...IDLE, external: 80 * MB }
    let times = 0
    const idle = new IdleCollection(
      () => (times === 0 ? IDLE : all),
      () => (times += 1),
    )
    idle.look()
    times = 1
    for (let i = 0; i < 60; i++) idle.look()
    expect(times).toBe(2)
  })
})

describe('nothing is collected', () => {
  test('while bodies are held, however little there is to do', () => {
    const { pass, collected } = collection()
    pass(10)
    pass(600, { held: 1, external: 300 * MB })
    expect(collected).toEqual([])
  })

  test('while there is work', () => {
    const { pass, collected } = collection()
    pass(10)
    pass(1, { busy: 0.9, external: 300 * MB })
    for (let i = 0; i < 100; i++) {
      pass(2, { busy: 0 })
      pass(1, { busy: 0.1 })
    }
    expect(collected).toEqual([])
  })

  test('where the heap is so large that a collection would take long', () => {
    const { pass, collected } = collection()
    pass(10)
    pass(60, { heap: 500 * MB })
    expect(collected).toEqual([])
  })
})
