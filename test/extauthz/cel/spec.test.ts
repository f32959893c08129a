// Runs the conformance tests of the CEL specification, except those about protobuf messages. Those that fail are the ones
// that known-failures.yaml names, each of them and no others.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Value } from '@bufbuild/cel-spec/cel/expr/value_pb.js'
import {
  getConformanceSuite,
  type IncrementalTestSuite,
} from '@bufbuild/cel-spec/testdata/tests.js'
import type { Environment } from '@marcbachmann/cel-js'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { checkTypes } from '../../../src/extauthz/cel/compile.js'
import { ruleEnvironment } from '../../../src/extauthz/cel/environment.js'
import { plan } from '../../../src/extauthz/cel/plan.js'
import { walk } from '../../../src/extauthz/cel/walk.js'

/** Section → group → names of its tests that fail, in the order of the specification. */
const KNOWN = parse(
  readFileSync(join(import.meta.dirname, 'known-failures.yaml'), 'utf8'),
) as Record<string, Record<string, string>>

/** The tests name their own variables. */
const environment: Environment = ruleEnvironment.clone({ unlistedVariablesAreDyn: true })

type Spec = IncrementalTestSuite['tests'][number]['original']

/** Groups of a section, each with those of its tests that are not about messages. */
const groupsOf = (section: IncrementalTestSuite): readonly (readonly [string, readonly Spec[]])[] =>
  section.suites.map(({ name, tests }) => [
    name,
    tests.map(({ original }) => original).filter((spec) => !isAboutMessages(spec)),
  ])

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
    const { ast } = environment.parse(spec.expr)
    checkTypes(spec.expr, ast, environment)
    const names = new Set(bindings.keys())
    walk(ast, ({ op, args }) => {
      if (op === 'id' && !environment.hasVariable(args)) names.add(args)
    })
    const evaluate = plan(ast, { variables: [...names] })
    return { value: evaluate([...names].map((name) => bindings.get(name))) }
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

const sections = getConformanceSuite().suites
const judged = sections.filter((section) => groupsOf(section).some(([, specs]) => specs.length > 0))

/** The list has no blanks in names. */
const asListed = ({ name }: Spec): string => name.replaceAll(' ', '_')

test.each(judged)('$name: what fails is what is known to fail', (section) => {
  const failing = groupsOf(section).map(
    ([group, specs]) => [group, specs.filter((spec) => !passes(spec)).map(asListed)] as const,
  )
  const known = Object.entries(KNOWN[section.name] ?? {})
  expect(Object.fromEntries(failing.filter(([, names]) => names.length > 0))).toEqual(
    Object.fromEntries(known.map(([group, names]) => [group, names.split(/\s+/)])),
  )
})

test('every section runs, but those whose tests are all about messages', () => {
  const others = sections.filter((section) => !judged.includes(section))
  expect(others.map(({ name }) => name)).toEqual([
    'dynamic',
    'proto2',
    'proto2_ext',
    'proto3',
    'unknowns',
    'wrappers',
  ])
  // Tests stand in groups, so that none is left out.
  for (const { suites, tests } of sections)
    expect([tests, suites.flatMap((group) => group.suites)]).toEqual([[], []])
})

test('what is known to fail is in the specification', () => {
  const names = judged.map(({ name }) => name)
  expect(names).toEqual(expect.arrayContaining(Object.keys(KNOWN)))
})
