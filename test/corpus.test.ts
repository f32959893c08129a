// Properties keep the values that they fail for, and try them first (support/corpus.ts).

import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { corpusFile, keep, keptValues, useCorpus } from './support/corpus.js'
import { runs } from './support/runs.js'

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-corpus-'))
let before: string
beforeAll(() => void (before = useCorpus(folder)))
afterAll(() => {
  useCorpus(before)
  rmSync(folder, { recursive: true })
})

const SELF = 'corpus.test.ts'
/** The values that a test tried, of each time that vitest ran it. */
const tries = new Map<string, unknown[][]>()
function tried(test: string): unknown[][] {
  const known = tries.get(test) ?? []
  tries.set(test, known)
  return known
}

function thrownBy(run: () => void): Error {
  try {
    run()
  } catch (error) {
    if (error instanceof Error) return error
  }
  throw new Error('nothing was thrown')
}

describe('a property that fails', () => {
  test('keeps its value, and tries it first when the test runs again', { repeats: 1 }, () => {
    const own: unknown[] = []
    const all = tried('sync')
    all.push(own)
    const short = fc.property(fc.string(), fc.nat(), (text, count) => {
      own.push([text, count])
      expect(text.length).toBeLessThan(3)
    })
    const message = all.length === 1 ? /^The failing value is kept in / : /is already in /
    expect(() => fc.assert(short, { numRuns: runs(1000) })).toThrow(message)
    if (all.length === 1) return
    // The smallest value that fails was found, and is the first of the second run.
    expect(own[0]).toEqual([expect.stringMatching(/^.{3}$/su), 0])
  })

  test('keeps its value if it is asynchronous', { repeats: 1 }, async () => {
    const own: unknown[] = []
    const all = tried('async')
    all.push(own)
    const small = fc.asyncProperty(fc.uint8Array(), async (bytes) => {
      own.push(bytes)
      await Promise.resolve()
      expect(bytes.length).toBeLessThan(2)
    })
    const message = all.length === 1 ? /^The failing value is kept in / : /is already in /
    await expect(fc.assert(small, { numRuns: runs(1000) })).rejects.toThrow(message)
    if (all.length === 2) expect(own[0]).toEqual(new Uint8Array(2))
  })

  test('fails as it does without a corpus: the values, the seed, and the cause', () => {
    const cause = new Error('the cause')
    const fails = fc.property(fc.constant('a value'), () => {
      throw cause
    })
    const error = thrownBy(() => fc.assert(fails, { numRuns: runs(5) }))
    expect(error.message).toMatch(/Property failed.*seed: .*Counterexample: \["a value"\]/s)
    expect(error.cause).toBe(cause)
    expect(error.stack).not.toContain('support/corpus.ts')
    expect(error.stack).toContain(SELF)
  })

  test('has a file of its own in a test with two', { repeats: 1 }, () => {
    const first = fc.property(fc.boolean(), (value) => typeof value === 'boolean')
    const second = fc.property(fc.string(), (value) => typeof value !== 'string')
    fc.assert(first, { numRuns: runs(5) })
    expect(() => fc.assert(second, { numRuns: runs(5) })).toThrow()
    const name = 'a property that fails > has a file of its own in a test with two'
    const file = join(folder, corpusFile(SELF, name))
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual([
      { test: name, assertion: 2, values: [''] },
    ])
  })

  test('says so on stderr, and fails, if its value cannot be kept', () => {
    const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    const fails = fc.property(fc.constant(new Map()), () => false)
    const assert = (): void => fc.assert(fails, { numRuns: runs(5) })
    expect(assert).toThrow(/NOT kept .*: JSON has no such value/)
    expect(stderr.mock.calls.join('\n')).toMatch(/^a property that fails > says so .*NOT kept/s)
    stderr.mockRestore()
  })
})

test('a property that holds tries what is kept beside its random values', () => {
  const name = 'a property that holds tries what is kept beside its random values'
  const place = { file: join(folder, corpusFile(SELF, name)), test: name, assertion: 1 }
  for (const value of [-1, -2]) keep(place, [value])
  const own: number[] = []
  fc.assert(
    fc.property(fc.nat(), (value) => void own.push(value)),
    { numRuns: runs(5) },
  )
  const random = runs(5)
  expect(own.slice(0, 2)).toEqual([-1, -2])
  expect(own).toHaveLength(2 + random)
  expect(own.slice(2).every((value) => value >= 0)).toBe(true)
})

describe('a file', () => {
  const placeOf = (name: string): Parameters<typeof keep>[0] => ({
    file: join(folder, `${name}.json`),
    test: name,
    assertion: 1,
  })

  test.each<[string, unknown]>([
    ['a lone surrogate', '\ud800'],
    ['what is undefined', { a: undefined, b: [undefined] }],
    ['a large number', 2n ** 63n],
    ['numbers that JSON lacks', [-0, Number.NaN, Infinity, -Infinity]],
    ['bytes', { own: new Uint8Array([0, 255]), node: Buffer.from('text') }],
    ['a member named as the prototype', JSON.parse('{"__proto__": 1}')],
    ['a name that begins with $', { $undefined: true, other: 1 }],
  ])('has %s', (name, value) => {
    expect(keep(placeOf(name), [value, 1])).toContain('kept in')
    expect(keptValues(placeOf(name))).toStrictEqual([[value, 1]])
  })

  test('has a plain object for one without a prototype', () => {
    const place = placeOf('no prototype')
    keep(place, [Object.assign(Object.create(null) as object, { a: 1 })])
    expect(keptValues(place)).toStrictEqual([[{ a: 1 }]])
  })

  test.each<[string, unknown]>([
    ['a function', () => true],
    ['a date', new Date(0)],
    ['an object that looks like an undefined value', { $undefined: true }],
    ['more than anybody reads', 'x'.repeat(100_001)],
  ])('lacks %s, which is said', (name, value) => {
    expect(keep(placeOf(name), [value])).toContain('NOT kept')
    expect(existsSync(placeOf(name).file)).toBe(false)
  })

  test('keeps the newest of many, each once, and those of other properties', () => {
    const place = placeOf('many')
    const other = { ...place, assertion: 2 }
    keep(other, ['other'])
    for (let value = 0; value < 30; value++) {
      keep(place, [value])
      expect(keep(place, [value])).toContain('already')
    }
    expect(keptValues(place)).toEqual(Array.from({ length: 20 }, (_, index) => [index + 10]))
    expect(keptValues(other)).toEqual([['other']])
  })

  test('that cannot be written leaves the failure as it is', () => {
    const place = placeOf('no folder')
    writeFileSync(join(folder, 'a-file'), '')
    expect(keep({ ...place, file: join(folder, 'a-file/x.json') }, [1])).toContain('NOT kept')
  })

  test('has the names of the test', () => {
    expect(corpusFile('http2/fuzz.test.ts', 'HPACK > reads any bytes: [0, 255]')).toBe(
      'http2/fuzz/hpack-reads-any-bytes-0-255.json',
    )
    const [one, other] = ['a', 'b'].map((end) => corpusFile('x.test.ts', 'long '.repeat(30) + end))
    expect(one).not.toBe(other)
    expect(one?.length).toBeLessThan(110)
    expect(corpusFile('x.test.ts', '→')).toMatch(/^x\/[0-9a-f]{8}\.json$/)
  })
})

test('every file of test/corpus belongs to a test file', () => {
  const files = globSync('corpus/**/*.json', { cwd: import.meta.dirname })
  const left = files.filter((file) => {
    const folderOfTest = file.replace(/^corpus\/(.*)\/[^/]*$/, '$1')
    return !existsSync(join(import.meta.dirname, `${folderOfTest}.test.ts`))
  })
  expect(left).toEqual([])
})
