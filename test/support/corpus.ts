// The values that properties failed for, in test/corpus: a property that fails writes its values there, and tries them first
// in every later run. A file belongs to a test and is committed with the change that mends it.

import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import fc, { type RunDetails } from 'fast-check'
import { expect, onTestFinished } from 'vitest'
import { fromKept, toKept } from './corpus-values.js'

const TESTS = resolve(import.meta.dirname, '..')

/** Values of a property. Their order is that of the parameters. */
export type Values = readonly unknown[]

/** A property: the assertion of a test, counted from 1, and the file for its values. */
export interface CorpusPlace {
  readonly file: string
  readonly test: string
  readonly assertion: number
}

interface Entry {
  readonly test: string
  readonly assertion: number
  readonly values: readonly unknown[]
}

/** The number of entries that a property keeps, the newest ones. */
const MOST_ENTRIES = 20
/** The longest JSON of an entry. A longer one would be no example that anybody reads. */
const MOST_CHARACTERS = 100_000
const LONGEST_SLUG = 80

/** Returns the path of a test's file, below the folder of the corpus: the test's file and name, in letters for every disk. */
export function corpusFile(testFile: string, test: string): string {
  const slug = test
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
  const hash = createHash('sha256').update(test).digest('hex').slice(0, 8)
  const name = slug.length > LONGEST_SLUG ? `${slug.slice(0, LONGEST_SLUG)}-${hash}` : slug || hash
  return join(testFile.replace(/\.test\.ts$/, ''), `${name}.json`)
}

const entriesIn = (file: string): readonly Entry[] =>
  existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as readonly Entry[]) : []

const isOf =
  ({ test, assertion }: CorpusPlace) =>
  (entry: Entry): boolean =>
    entry.test === test && entry.assertion === assertion

/** Returns the values that the property failed for, as many copies as calls: a property may change what it gets. */
export const keptValues = (place: CorpusPlace): Values[] =>
  entriesIn(place.file)
    .filter(isOf(place))
    .map(({ values }) => values.map(fromKept))

/** Keeps the values of a failure. Returns what happened, as a sentence for the reader of the failure. */
export function keep(place: CorpusPlace, values: Values): string {
  const { file, test, assertion } = place
  const kept = toKept(values) as Values | undefined
  if (kept === undefined) return `NOT kept in ${file}: JSON has no such value`
  if (JSON.stringify(kept).length > MOST_CHARACTERS)
    return `NOT kept in ${file}: longer than ${MOST_CHARACTERS} characters`
  try {
    const entries = entriesIn(file)
    const own = entries.filter(isOf(place))
    if (own.some((entry) => isDeepStrictEqual(entry.values, kept)))
      return `already in ${file}: remove it there if the property has other parameters now`
    const rest = entries.filter((entry) => !own.includes(entry))
    const newest = [...own, { test, assertion, values: kept }].slice(-MOST_ENTRIES)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `${JSON.stringify([...rest, ...newest], undefined, 2)}\n`)
    return `kept in ${file}: every run tries it first now (the path below was without it)`
  } catch (error) {
    return `NOT kept in ${file}: ${String(error)}`
  }
}

/** Fails as fast-check does for itself, and keeps the values. */
function reporterFor(place: CorpusPlace): (details: RunDetails<unknown>) => void {
  return function report(details) {
    if (!details.failed) return
    const values = details.counterexample as Values | null
    const what = values === null ? '' : `The failing value is ${keep(place, values)}\n`
    if (what.includes('NOT kept')) process.stderr.write(`${place.test}\n${what}`)
    const message = `${what}${fc.defaultReportMessage(details)}`
    const error = new Error(message, { cause: details.errorInstance })
    // Else the failure would point to this file.
    Error.captureStackTrace(error, report)
    throw error
  }
}

/** The folder in use. */
let folder = join(TESTS, 'corpus')
/** The number of assertions that each running test has begun. */
const begun = new Map<string, number>()

/** The property that the running test asserts next; undefined outside of tests and in concurrent ones. */
function nextPlace(): (CorpusPlace & { readonly key: string }) | undefined {
  const { testPath, currentTestName: test } = expect.getState()
  if (testPath === undefined || test === undefined) return undefined
  const path = relative(TESTS, testPath)
  if (path.startsWith('..')) return undefined
  const key = `${path} ${test}`
  const assertion = (begun.get(key) ?? 0) + 1
  return { key, file: join(folder, corpusFile(path, test)), test, assertion }
}

function begin({ key, assertion }: { readonly key: string; readonly assertion: number }): boolean {
  try {
    // Another try of this test counts from 1 again.
    if (assertion === 1) onTestFinished(() => void begun.delete(key))
  } catch {
    return false
  }
  begun.set(key, assertion)
  return true
}

/** Returns how many values the next property of this test tries before random ones. */
export function countKept(): number {
  const place = nextPlace()
  return place === undefined ? 0 : keptValues(place).length
}

/** Lets the properties of this process use the folder. Returns the folder that they used before. */
export function useCorpus(next: string = folder): string {
  const before = folder
  folder = next
  let reporter: ReturnType<typeof reporterFor> | undefined
  const parameters = {
    // fast-check reads both once for each property, the examples first.
    get examples(): Values[] {
      const place = nextPlace()
      const isKept = place !== undefined && begin(place)
      reporter = isKept ? reporterFor(place) : undefined
      return isKept ? keptValues(place) : []
    },
    get reporter() {
      return reporter
    },
  }
  fc.configureGlobal(parameters)
  return before
}
