import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { parseYaml } from '../../../../src/control/schema/decode/decode.js'
import {
  type DocumentText,
  splitDocuments,
} from '../../../../src/control/schema/decode/yaml-document.js'
import { readUsual } from '../../../../src/control/schema/decode/yaml-events.js'
import { parseNodes } from '../../../../src/control/schema/decode/yaml-nodes.js'
import type { FieldPath } from '../../../../src/control/schema/kinds/field-path.js'
import { runs } from '../../../support/runs.js'

const ROOT = join(import.meta.dirname, '../../../..')
/** The YAML and JSON files below a folder of the repository. */
const filesBelow = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.(?:yaml|json)$/.test(name))
    .map((name) => join(ROOT, folder, name))
const piece = (text: string, line = 1): DocumentText => ({ text, line })

/** Every path of a value that leads to a list. */
function listsOf(value: unknown, path: FieldPath = []): readonly FieldPath[] {
  if (typeof value !== 'object' || value === null) return []
  const inner = Object.entries(value).flatMap(([key, each]) =>
    listsOf(each, [...path, Array.isArray(value) ? Number(key) : key]),
  )
  return Array.isArray(value) ? [path, ...inner] : inner
}

/** What is known of a document by its nodes; undefined if they have a fault. */
function byNodes(document: DocumentText) {
  const parsed = parseNodes(document)
  if (!parsed.ok) return undefined
  const { value, positionOf, entryLines } = parsed.value
  const lines = listsOf(value).map((path) => [path, entryLines(path)] as const)
  return { value, start: positionOf([], 'value'), lines }
}

/** What is known of it by its events; undefined if they are left to nodes. */
function byEvents(document: DocumentText) {
  const usual = readUsual(document)
  if (usual === undefined) return undefined
  const { value, start, entryLines } = usual
  const lines = listsOf(value).map((path) => [path, entryLines(path)] as const)
  return { value, start, lines }
}

/** Expects that events say the same as nodes, where both can be read. */
function expectSame(document: DocumentText): void {
  const [events, nodes] = [byEvents(document), byNodes(document)]
  if (events === undefined || nodes === undefined) return
  // A list with an empty entry is left to nodes.
  const known = nodes.lines.map(([path, lines], index) =>
    events.lines[index]?.[1] === undefined ? [path, undefined] : [path, lines],
  )
  expect(events).toStrictEqual({ ...nodes, lines: known })
}

describe('a usual document is read by its events as by its nodes', () => {
  const files = ['config', 'deploy', 'test/golden'].flatMap(filesBelow)

  it('every document of the examples and goldens', () => {
    expect(files.length).toBeGreaterThan(100)
    for (const file of files) splitDocuments(readFileSync(file, 'utf8')).forEach(expectSame)
  })

  it('of any value, in any style', () => {
    const key = fc.oneof(fc.string({ maxLength: 6 }), fc.stringMatching(/^[a-zA-Z][\w./-]{0,9}$/))
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { depthSize: 'small' },
        fc.string({ unit: 'grapheme', maxLength: 30 }),
        fc.stringMatching(/^[a-z ]{0,20}\n[a-z \n]{0,30}$/),
        fc.jsonValue({ maxDepth: 0 }),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(key, tie('value'), { maxKeys: 4 }),
      ),
    }))
    const style = fc.record({
      indent: fc.integer({ min: 1, max: 4 }),
      indentSeq: fc.boolean(),
      lineWidth: fc.constantFrom(0, 20, 80),
      collectionStyle: fc.constantFrom('any', 'block', 'flow'),
      defaultStringType: fc.constantFrom(
        'PLAIN',
        'QUOTE_DOUBLE',
        'QUOTE_SINGLE',
        'BLOCK_LITERAL',
        'BLOCK_FOLDED',
      ),
      defaultKeyType: fc.constantFrom('PLAIN', 'QUOTE_DOUBLE', 'QUOTE_SINGLE'),
    })
    const before = fc.constantFrom('', '# a comment\n', '---\n', '--- # a comment\n\n')
    let usual = 0
    fc.assert(
      fc.property(value, style, before, (each, options, head) => {
        const document = piece(head + stringify({ kind: each, spec: each }, options), 7)
        usual += readUsual(document) === undefined ? 0 : 1
        expectSame(document)
      }),
      { numRuns: runs(2000) },
    )
    expect(usual).toBeGreaterThan(runs(2000) / 4)
  })

  it('any plain scalar', () => {
    const scalar = fc.oneof(
      fc.string({ unit: fc.constantFrom(...'0179+-._eExobnulNaifINF:~TtRrSsYy,#@'), maxLength: 8 }),
      fc.double().map(String),
      fc.bigInt().map(String),
    )
    const written = fc.tuple(scalar, fc.constantFrom('a: ', 'a:\n- ', 'a: [', '? ', 'a: b\n'))
    fc.assert(
      fc.property(written, ([text, head]) => {
        expectSame(piece(`${head}${text}${head.endsWith('[') ? ']' : ''}\n`))
      }),
      { numRuns: runs(4000) },
    )
  })

  it('any text', () => {
    const syntax = fc.constantFrom(
      '-',
      ': ',
      ':',
      ' ',
      '  ',
      '\n',
      '\r\n',
      '\r',
      '\t',
      '{',
      '}',
      '[',
      ']',
      ',',
      '? ',
      '#',
      '"',
      "'",
      '|',
      '>',
      '|-\n',
      '>+\n',
      '|2\n',
      '- ',
      '\\n',
      '...\n',
      '\uFEFF',
      '%',
      '1',
      'k',
      'k: ',
      'k: v\n',
      '  k: v\n',
      '- v\n',
      ' # c\n',
      '&a ',
      '*a',
      '!!str ',
      '<<: ',
    )
    fc.assert(
      fc.property(fc.array(syntax, { maxLength: 25 }), (parts) => {
        expectSame(piece(parts.join('')))
        expectSame(piece(`kind: ${parts.join('')}`))
      }),
      { numRuns: runs(5000) },
    )
  })
})

describe('a document is left to nodes', () => {
  it.each([
    ['with an anchor', 'a: &x { b: c }\nd: e\n'],
    ['with an alias', 'a: &x b\nc: *x\n'],
    ['with a tag', 'a: !!str 1\n'],
    ['with a merge key', 'a: { <<: { b: c } }\n'],
    ['with a key that is a number', '1.10: a\n'],
    ['with a key that is null', 'null: a\n'],
    ['with a key that is a list', '? [a]\n: b\n'],
    ['with another behind it', 'a: b\n...\nc: d\n'],
    ['without a value', '---\n'],
    ['that is a list', '- a: b\n'],
    ['with a key twice', 'a: b\na: c\n'],
    ['that cannot be read', 'a: [\n'],
    ['of more than a million characters', `a: ${'b'.repeat(1024 * 1024)}\n`],
    [
      'with too many keys in a map',
      Array.from({ length: 10_001 }, (_, i) => `k${i}: v\n`).join(''),
    ],
  ])('%s', (_, text) => {
    expect(readUsual(piece(text))).toBeUndefined()
  })

  it('none of the examples, of what is installed, of what `kubectl get -o yaml` and -o json print', () => {
    const texts = ['config', 'deploy']
      .flatMap(filesBelow)
      .filter((name) => !/\/(?:templates\/|envoy\.yaml)/.test(name))
      .flatMap((name) => splitDocuments(readFileSync(name, 'utf8')).map(({ text }) => text))
    const printed = JSON.stringify({ apiVersion: 'v1', items: [{ kind: 'Service' }] }, null, 4)
    const unusual = [...texts, printed].filter((text) => readUsual(piece(text)) === undefined)
    expect(unusual).toEqual([])
  })
})

describe('positions of a usual document', () => {
  const text = `# first
spec:
  rules:
    - a
    - "b"
    - |
      c
    - { d: e }
`
  const parsed = parseYaml(piece(text, 10))
  if (!parsed.ok) throw new Error('no YAML')
  const { positionOf, entryLines } = parsed.value

  it('are those of the file', () => {
    expect(readUsual(piece(text))).toBeDefined()
    expect(positionOf([], 'value')).toEqual({ line: 11, column: 1 })
    expect(positionOf(['spec', 'rules', 1], 'value')).toEqual({ line: 14, column: 7 })
    expect(positionOf(['spec', 'rules'], 'key')).toEqual({ line: 12, column: 3 })
    expect(entryLines(['spec', 'rules'])).toEqual([13, 14, 15, 17])
    expect(entryLines(['spec'])).toEqual([])
    expect(entryLines(['spec', 'other', 3])).toEqual([])
  })
})
