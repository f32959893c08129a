// Runs the conformance tests of the CEL specification, except those about protobuf messages, and asserts how many pass
// in each section. The failures are about ranges of timestamps and corner cases of uint and map literals, which rules
// in practice do not contain.

import type { Value } from '@bufbuild/cel-spec/cel/expr/value_pb.js'
import {
  getConformanceSuite,
  type IncrementalTestSuite,
} from '@bufbuild/cel-spec/testdata/tests.js'
import type { Environment } from '@marcbachmann/cel-js'
import { describe, expect, test } from 'vitest'
import { ruleEnvironment, syntaxEnvironment } from '../../src/cel/environment.js'
import { renameCalls } from '../../src/cel/renames.js'

/** Section → at least so many of its tests pass. */
const FLOOR: Readonly<Record<string, number>> = {
  basic: 41,
  bindings_ext: 5,
  comparisons: 309,
  conversions: 99,
  encoders_ext: 4,
  fields: 46,
  fp_math: 30,
  integer_math: 62,
  lists: 34,
  logic: 25,
  macros: 42,
  parse: 168,
  plumbing: 5,
  string: 51,
  timestamps: 53,
}

/** The tests name their own variables. */
const environment: Environment = ruleEnvironment.clone({ unlistedVariablesAreDyn: true })

type Spec = IncrementalTestSuite['tests'][number]['original']

const testsOf = (suite: IncrementalTestSuite): readonly Spec[] => [
  ...suite.tests.map(({ original }) => original),
  ...suite.suites.flatMap(testsOf),
]

const isAboutMessages = (spec: Spec): boolean =>
  spec.container !== '' ||
  /TestAllTypes|google\.protobuf/.test(spec.expr) ||
  JSON.stringify(spec, (_, value: unknown) => (typeof value === 'bigint' ? 0 : value)).includes(
    '"objectValue"',
  )

function toNative(value: Value | undefined): unknown {
  const kind = value?.kind
  switch (kind?.case) {
    case 'listValue':
      return kind.value.values.map(toNative)
    case 'mapValue':
      return new Map(
        kind.value.entries.map(({ key, value: item }) => [toNative(key), toNative(item)]),
      )
    case 'nullValue':
      return null
    default:
      return kind?.value
  }
}

/** Maps and plain objects alike, int and uint alike: the library tells them apart, JavaScript need not. */
function comparable(value: unknown): unknown {
  if (typeof value === 'bigint') return `int ${value}`
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString('hex')}`
  if (Array.isArray(value)) return value.map(comparable)
  if (typeof value.valueOf() === 'bigint') return `int ${value.valueOf() as unknown as bigint}`
  const entries = value instanceof Map ? [...value] : Object.entries(value)
  return entries.map(([key, item]) => [String(key), comparable(item)]).sort()
}

function evaluate(spec: Spec): { readonly value: unknown } | 'error' {
  try {
    const bindings = new Map(
      Object.entries(spec.bindings).map(([name, bound]) => [
        name,
        bound.kind.case === 'value' ? toNative(bound.kind.value) : undefined,
      ]),
    )
    const source = renameCalls(spec.expr, syntaxEnvironment.parse(spec.expr).ast)
    return { value: environment.parse(source)(Object.fromEntries(bindings)) as unknown }
  } catch {
    return 'error'
  }
}

function passes(spec: Spec): boolean {
  const outcome = evaluate(spec)
  const { resultMatcher: expected } = spec
  if (expected.case === 'evalError' || expected.case === 'anyEvalErrors') return outcome === 'error'
  if (outcome === 'error') return false
  if (expected.case === undefined) return outcome.value === true
  if (expected.case !== 'value') return false
  if (expected.value.kind.case === 'typeValue')
    return (outcome.value as { name?: string }).name === expected.value.kind.value
  return (
    Object.is(outcome.value, toNative(expected.value)) ||
    JSON.stringify(comparable(outcome.value)) ===
      JSON.stringify(comparable(toNative(expected.value)))
  )
}

describe('sections of the specification', () => {
  const suites = new Map(getConformanceSuite().suites.map((suite) => [suite.name, suite]))
  test.each(Object.entries(FLOOR))('%s: at least %i pass', (section, floor) => {
    const suite = suites.get(section)
    if (suite === undefined) throw new Error(`no section ${section}`)
    const passed = testsOf(suite)
      .filter((spec) => !isAboutMessages(spec))
      .filter(passes)
    expect(passed.length).toBeGreaterThanOrEqual(floor)
  })
})
