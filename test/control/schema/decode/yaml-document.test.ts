import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stringify } from 'yaml'
import { splitDocuments } from '../../../../src/control/schema/decode/yaml-document.js'
import { kindsOf } from '../../../../src/control/schema/kinds/kinds.js'
import { decodeFile } from '../../../../src/control/sources/files/file-record.js'
import { runs } from '../../../support/runs.js'

const KINDS = kindsOf('policy.gatehouse.dev')
const decode = (bytes: Uint8Array | string) =>
  decodeFile(typeof bytes === 'string' ? Buffer.from(bytes) : bytes, 'f.yaml', KINDS)
const problemsOf = (bytes: Uint8Array | string) =>
  decode(bytes).problems.map(({ source, message }) => `${source} ${message}`)

const SERVICE = 'apiVersion: v1\nkind: Service\nmetadata: { name: x }\nspec: {}\n'
const CONFIG_MAP = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: x }\n'

describe('documents of a file', () => {
  it.each([
    ['one without a marker', 'a: 1\n', [['a: 1\n', 1]]],
    [
      'two, with their lines',
      'a: 1\n---\nb: 2\n',
      [
        ['a: 1\n', 1],
        ['---\nb: 2\n', 2],
      ],
    ],
    ['those with content after the marker', '--- {a: 1}\n', [['--- {a: 1}\n', 1]]],
    ['none where only comments are', '# a\n---\n\n---\n# b\n', []],
    ['none where only comments are, after an end', '...\n# a\n---\r\n  # b\r\n... # c\n', []],
    ['one that a comment ends before, as on an old Mac', '# a\rb: 1\r', [['# a\rb: 1\r', 1]]],
    [
      'one below a banner',
      `${'#'.repeat(200)}\n# %${' #'.repeat(100)}\na: 1\n`,
      [[`${'#'.repeat(200)}\n# %${' #'.repeat(100)}\na: 1\n`, 1]],
    ],
    ['none in front of a marker after directives', '%YAML 1.2\n---\na: 1\n', [['---\na: 1\n', 2]]],
    ['no marker within a line', 'a: x---\nb: "---"\n', [['a: x---\nb: "---"\n', 1]]],
    [
      'lines that end as in Windows',
      'a: 1\r\n---\r\nb: 2\r\n',
      [
        ['a: 1\r\n', 1],
        ['---\r\nb: 2\r\n', 2],
      ],
    ],
  ])('are %s', (_, text, expected) => {
    expect(splitDocuments(text).map((each) => [each.text, each.line])).toEqual(expected)
  })
})

describe('traps of YAML', () => {
  it.each([
    ['duplicate keys', `${SERVICE}kind: Service\n`, ['f.yaml:5:1 Map keys must be unique']],
    // As many as would take a minute if each were compared with all before it.
    [
      'a map of too many keys',
      `# a comment\nkind: Service\nmetadata:\n${Array.from({ length: 40_000 }, (_, i) => `  k${i}: v\n`).join('')}`,
      ['f.yaml:4:3 a map has more than 10000 keys: split it'],
    ],
    [
      'too many keys in all',
      `items:\n${Array.from({ length: 51 }, () => `- {${Array.from({ length: 9_900 }, (_, i) => `k${i}`).join(',')}}\n`).join('')}`,
      ['f.yaml:52:3 the document has more than 500000 keys: split it'],
    ],
    ['tabs', 'a:\n\tb: 1', ['f.yaml:2:1 Tabs are not allowed as indentation']],
    [
      'an alias without its anchor',
      'a: *b',
      ['f.yaml:1:4 Unresolved alias (the anchor must be set before the alias)'],
    ],
    ['a list that holds itself', 'a: &a [*a]', ['f.yaml:1:8 is nested more than 100 levels deep']],
    [
      'a key that reaches for the prototype',
      `${CONFIG_MAP}data: { __proto__: { a: b } }`,
      ['f.yaml:4:9 "__proto__" cannot be a key'],
    ],
    [
      'half of a surrogate pair',
      `${CONFIG_MAP}data: { a: "\\ud800" }`,
      ['f.yaml:4:9 has half of a surrogate pair (\\ud800 to \\udfff), which is no character'],
    ],
    [
      'half of a surrogate pair in a key',
      `${CONFIG_MAP}data: { "\\udfff": a }`,
      ['f.yaml:4:9 has half of a surrogate pair (\\ud800 to \\udfff), which is no character'],
    ],
    ['an unknown tag', `${CONFIG_MAP}data: { a: !!js/function x }`, ['f.yaml:4:12 Unresolved tag']],
    ['bytes that are no UTF-8', Buffer.from([0x61, 0xff, 0xfe]), ['f.yaml is not UTF-8 text']],
    [
      'JSON with a key twice',
      '{"apiVersion":"v1","apiVersion":"v1"}',
      ['f.yaml:1:20 Map keys must be unique'],
    ],
  ])('%s', (_, text, expected) => {
    expect(problemsOf(text)).toEqual(expected)
  })

  it.each([
    'a: |s3cret\n',
    'a: >2s3cret\n  b\n',
    'a: ]s3cret\n',
    'a: }s3cret s3cret\n',
    'a: *s3cret\n',
    'b: &b 1\na: [*b, *s3cret, *b]\n',
    'a: !s3cret x\n',
    'a: !<s3cret> x\n',
    'a: !x!s3cret x\n',
    'a: b\n]s3cret\n',
    'a: "\\Us3cret12"\n',
    'a: "\\us3cret"\n',
    'a: "\\xs3cret"\n',
    'a: "b" s3cret\n',
    '%s3cret x\n---\na: b\n',
    '%YAML s3cret\n---\na: b\n',
  ])('no message quotes what may be a secret: %j', (text) => {
    const problems = problemsOf(text)
    expect(problems.length).toBeGreaterThan(0)
    expect(problems.join()).not.toMatch(/s3/)
  })

  it('a bomb of aliases', () => {
    const levels = 'bcdefghij'.split('').map((name, index) => {
      const inner = `*${'abcdefghij'[index]}`
      return `${name}: &${name} [${Array(9).fill(inner).join(', ')}]`
    })
    expect(problemsOf(`a: &a [x]\n${levels.join('\n')}`)).toEqual([
      'f.yaml:1:1 Excessive alias count indicates a resource exhaustion attack',
    ])
  })

  it.each(['[', '{a: ', '- '])('ten thousand times %j', (open) => {
    expect(decode(open.repeat(10_000)).problems.length).toBeGreaterThan(0)
  })

  it('a file that is too large', () => {
    expect(problemsOf(Buffer.alloc(33 * 1024 * 1024, ' '))).toEqual([
      'f.yaml is larger than 33554432 bytes',
    ])
  })

  it('a file of too many documents', () => {
    expect(problemsOf('---\na\n'.repeat(20_001))).toEqual(['f.yaml has more than 20000 documents'])
  })

  it.each([
    ['a byte order mark', `\uFEFF${SERVICE}`],
    [
      'JSON with tabs',
      JSON.stringify(
        { apiVersion: 'v1', kind: 'Service', metadata: { name: 'x' }, spec: {} },
        null,
        '\t',
      ),
    ],
    [
      'anchors and merge keys',
      'apiVersion: v1\nkind: Service\nx: &x { name: x }\nmetadata: { <<: *x }\nspec: {}',
    ],
    ['a marker at the end', `${SERVICE}...\n`],
  ])('reads %s', (_, text) => {
    expect(problemsOf(text)).toEqual([])
    expect(decode(text).resources).toHaveLength(1)
  })

  it('points to the value that an alias refers to', () => {
    const text = `apiVersion: policy.gatehouse.dev/v1alpha1
kind: ProxyBackend
metadata: { name: x, annotations: &a { host: a, port: '80' } }
spec:
  static: *a`
    expect(problemsOf(text)).toEqual([
      'f.yaml:3:55 spec.static.port: "80" is not an integer (leave the quotes out)',
    ])
  })
})

describe('no document whatever', () => {
  const heads = KINDS.map(({ group, versions, kind }) => ({
    apiVersion: group === '' ? 'v1' : `${group}/${versions[0]}`,
    kind,
  }))
  const words = fc.constantFrom(
    'spec',
    'metadata',
    'name',
    'rules',
    'traffic',
    'targetRefs',
    'listeners',
    'data',
    'filters',
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'type',
    'static',
    'jwks',
    'items',
    '',
  )
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.jsonValue(),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.array(fc.tuple(words, tie('value')), { maxLength: 4 }).map((pairs) => {
        const map = {}
        for (const [key, inner] of pairs)
          Object.defineProperty(map, key, { value: inner, enumerable: true, configurable: true })
        return map
      }),
    ),
  }))

  const before = JSON.stringify(Object.getOwnPropertyNames(Object.prototype))
  const isClean = () =>
    JSON.stringify(Object.getOwnPropertyNames(Object.prototype)) === before &&
    Object.keys({}).length === 0

  const isWhole = (bytes: Uint8Array | string) => {
    const { problems, resources } = decode(bytes)
    const positioned = problems.every(({ source, message }) =>
      /^f\.yaml(:\d+:\d+| is not UTF-8 text$)/.test(`${source} ${message}`),
    )
    const plain = resources.every(
      ({ resource }) => resource.metadata.name !== '' && JSON.stringify(resource) !== undefined,
    )
    return positioned && plain && isClean()
  }

  it('of any bytes or text throws, or pollutes a prototype', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), isWhole))
    fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 200 }), isWhole))
    const syntax = fc.constantFrom(
      '-',
      ':',
      ' ',
      '\n',
      '{',
      '}',
      '[',
      '&a',
      '*a',
      '!',
      '|',
      '---\n',
      '? ',
      '<<: ',
      '"',
      'k',
      '\t',
      '#',
      '%',
    )
    fc.assert(
      fc.property(fc.array(syntax, { maxLength: 40 }), (parts) => isWhole(parts.join(''))),
      { numRuns: runs(1000) },
    )
  })

  it('of any shape, for any kind, throws or pollutes a prototype', () => {
    fc.assert(
      fc.property(fc.constantFrom(...heads), value, value, value, (head, metadata, spec, rest) =>
        isWhole(
          stringify({
            ...(typeof rest === 'object' ? rest : {}),
            ...head,
            metadata: fc.stringify(metadata).length % 2 ? metadata : { name: 'x' },
            spec,
          }),
        ),
      ),
      { numRuns: runs(1000) },
    )
  })
})
