// Garbage left by a load is collected once, when no work is in progress.

import { describe, expect, test } from 'vitest'
import { IdleCollection, type IdleSigns } from '../../../src/ops/memory/idle-collection.js'

const MB = 1024 ** 2
const IDLE: IdleSigns = { held: 0, heap: 30 * MB, reserved: 40 * MB, external: 5 * MB, busy: 0 }

/** takes: how many seconds a collection takes. */
function collection(takes = 0) {
  let signs = IDLE
  const collected: number[] = []
  const favored: [second: number, favors: boolean][] = []
  let second = 0
  let end: { readonly at: number; readonly done: () => void } | undefined
  const idle = new IdleCollection(() => signs, {
    collect: () => {
      collected.push(second)
      return new Promise((done) => {
        end = { at: second + takes, done }
      })
    },
    favorMemory: (favors) => favored.push([second, favors]),
  })
  const endIfDue = () => {
    if (end === undefined || end.at > second) return
    signs = { ...signs, heap: IDLE.heap, external: IDLE.external }
    end.done()
    end = undefined
  }
  return {
    collected,
    favored,
    /** A look each second. */
    pass: async (seconds: number, now: Partial<IdleSigns> = {}) => {
      signs = { ...signs, ...now }
      for (let i = 0; i < seconds; i++) {
        second += 1
        idle.look()
        endIfDue()
        await Promise.resolve()
      }
    },
  }
}

describe('an idle process', () => {
  test('collects nothing where no load was', async () => {
    const { pass, collected } = collection()
    await pass(3600)
    expect(collected).toEqual([])
  })

  test('collects once, three seconds after the load', async () => {
    const { pass, collected } = collection()
    await pass(10)
    await pass(5, { busy: 0.9, held: 200 * MB, external: 300 * MB })
    await pass(60, { busy: 0, held: 0 })
    expect(collected).toEqual([18])
  })

  test('does so after each load', async () => {
    const { pass, collected } = collection()
    await pass(10)
    for (let load = 0; load < 3; load++) {
      await pass(5, { busy: 0.9, external: 300 * MB })
      await pass(15, { busy: 0 })
    }
    expect(collected).toHaveLength(3)
  })

  test('begins no other collection before one has ended', async () => {
    const { pass, collected } = collection(30)
    await pass(10)
    await pass(5, { busy: 0.9, external: 300 * MB })
    await pass(20, { busy: 0 })
    expect(collected).toHaveLength(1)
    await pass(20)
    await pass(5, { busy: 0.9, external: 300 * MB })
    await pass(20, { busy: 0 })
    expect(collected).toHaveLength(2)
  })

  test('does not collect again what is in use', async () => {
    const all = { ...IDLE, external: 80 * MB }
    let times = 0
    const idle = new IdleCollection(() => (times === 0 ? IDLE : all), {
      collect: () => {
        times += 1
        return Promise.resolve()
      },
      favorMemory: () => {},
    })
    idle.look()
    times = 1
    for (let i = 0; i < 60; i++) {
      idle.look()
      await Promise.resolve()
    }
    expect(times).toBe(2)
  })
})

describe('nothing is collected', () => {
  test('while bodies are held, however little there is to do', async () => {
    const { pass, collected } = collection()
    await pass(10)
    await pass(600, { held: 1, external: 300 * MB })
    expect(collected).toEqual([])
  })

  test('while there is work', async () => {
    const { pass, collected } = collection()
    await pass(10)
    await pass(1, { busy: 0.9, external: 300 * MB })
    for (let i = 0; i < 100; i++) {
      await pass(2, { busy: 0 })
      await pass(1, { busy: 0.1 })
    }
    expect(collected).toEqual([])
  })

  test('where the heap is so large that a collection would take long', async () => {
    const { pass, collected } = collection()
    await pass(10)
    await pass(60, { heap: 500 * MB })
    expect(collected).toEqual([])
  })
})

describe('V8 keeps compiled code rather than giving back memory', () => {
  test('from the start, and after a load that took little', async () => {
    const { pass, favored } = collection()
    await pass(10)
    await pass(5, { busy: 0.9, reserved: 100 * MB })
    await pass(60, { busy: 0, reserved: 40 * MB })
    expect(favored).toEqual([[1, false]])
  })

  test('but for half a minute after a load that took much', async () => {
    const { pass, favored } = collection()
    await pass(10)
    await pass(5, { busy: 0.9, reserved: 200 * MB })
    await pass(60, { busy: 0, reserved: 40 * MB })
    expect(favored).toEqual([
      [1, false],
      [16, true],
      [45, false],
    ])
  })
})
