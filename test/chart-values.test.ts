// The table of values in the chart's README matches values.yaml. `npm test -- --goldens` rewrites it.

import { readFileSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { format } from 'prettier'
import { expect, test } from 'vitest'
import { isMap, isScalar, type Pair, parseDocument, type YAMLMap } from 'yaml'

const CHART = resolve(import.meta.dirname, '../deploy/helm/gatehouse')
const PAGE = resolve(CHART, 'README.md')
const SECTION = /<!-- values -->[\s\S]*<!-- \/values -->/

interface Value {
  readonly path: string
  readonly preset: string
  readonly meaning: string
}

const read = (file: string): string => readFileSync(resolve(CHART, file), 'utf8')

/** The sentences of a comment, without the examples that are indented in it. */
const sentences = (comment = ''): string =>
  comment
    .split('\n')
    .filter((line) => !/^ {2,}/.test(line))
    .map((line) => line.trim())
    .join(' ')

const keyOf = ({ key }: Pair): string => (isScalar(key) ? String(key.value) : '')

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
}

interface Place {
  readonly prefix: string
  readonly schema: Schema | undefined
  /** The comment of the first member: the parser gives it to the map. */
  readonly first: string | null | undefined
}

/** A map of which the schema names no member (resources, labels) is one value. */
function valuesOf(map: YAMLMap, { prefix, schema, first }: Place): readonly Value[] {
  return map.items.flatMap((pair, index): readonly Value[] => {
    const own = isScalar(pair.key) ? pair.key.commentBefore : undefined
    const meaning = sentences((index === 0 ? first : own) ?? own ?? undefined)
    const path = `${prefix}${keyOf(pair)}`
    const below = schema?.properties?.[keyOf(pair)]
    if (isMap(pair.value) && below?.properties !== undefined) {
      const head = meaning === '' ? [] : [{ path, preset: '', meaning }]
      const place = { prefix: `${path}.`, schema: below, first: pair.value.commentBefore }
      return [...head, ...valuesOf(pair.value, place)]
    }
    const value: unknown = isScalar(pair.value)
      ? pair.value.value
      : (pair.value as YAMLMap).toJSON()
    return [{ path, preset: JSON.stringify(value), meaning }]
  })
}

const schema = JSON.parse(read('values.schema.json')) as Schema

function chartValues(): readonly Value[] {
  const document = parseDocument(read('values.yaml'))
  const place = { prefix: '', schema, first: document.commentBefore }
  return valuesOf(document.contents as YAMLMap, place)
}

const cell = (text: string): string => text.replace(/\|/g, '\\|')

function valuesTable(): string {
  const rows = chartValues().map(
    ({ path, preset, meaning }) =>
      `| \`${path}\` | ${preset === '' ? '' : `\`${cell(preset)}\``} | ${cell(meaning)} |`,
  )
  return ['| value | default | meaning |', '|---|---|---|', ...rows].join('\n')
}

test('the table of values is fresh', async () => {
  const page = readFileSync(PAGE, 'utf8')
  const section = `<!-- values -->\n\n${valuesTable()}\n\n<!-- /values -->`
  const fresh = await format(
    page.replace(SECTION, () => section),
    { parser: 'markdown', semi: false, singleQuote: true, printWidth: 100 },
  )
  if (process.env.UPDATE_GOLDEN === '1') writeFileSync(PAGE, fresh)
  else expect(page).toBe(fresh)
})

test('every value has a description', () => {
  const silent = chartValues().filter(({ meaning }) => meaning === '')
  expect(silent.map(({ path }) => path)).toEqual([])
})

test('the schema knows every value', () => {
  const unknown = chartValues().filter(
    ({ path }) =>
      path.split('.').reduce<Schema | undefined>((at, key) => at?.properties?.[key], schema) ===
      undefined,
  )
  expect(unknown.map(({ path }) => path)).toEqual([])
})
