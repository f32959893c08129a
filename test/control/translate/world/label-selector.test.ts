// Which namespaces a label selector selects; unknown operators never select one.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { LabelSelector } from '../../../../src/control/schema/kinds/gateway.js'
import {
  NAME_LABEL,
  selectorProblem,
  selects,
} from '../../../../src/control/translate/world/label-selector.js'

type Expression = LabelSelector['matchExpressions'][number]

const ofLabels = (matchLabels: LabelSelector['matchLabels']): LabelSelector => ({
  matchLabels,
  matchExpressions: [],
})
const ofExpressions = (...matchExpressions: Expression[]): LabelSelector => ({
  matchLabels: {},
  matchExpressions,
})
const stage = (operator: string, ...values: string[]): Expression => ({
  key: 'stage',
  operator,
  values,
})

describe('a selector', () => {
  test.each<[string, LabelSelector, Record<string, string>, boolean]>([
    ['of one label', ofLabels({ stage: 'live' }), { stage: 'live', team: 'a' }, true],
    ['of another value', ofLabels({ stage: 'live' }), { stage: 'test' }, false],
    [
      'of two labels, one missing',
      ofLabels({ stage: 'live', team: 'a' }),
      { stage: 'live' },
      false,
    ],
    ['In', ofExpressions(stage('In', 'test', 'live')), { stage: 'live' }, true],
    ['In, without the label', ofExpressions(stage('In', 'live')), {}, false],
    ['NotIn', ofExpressions(stage('NotIn', 'live')), { stage: 'live' }, false],
    ['NotIn, without the label', ofExpressions(stage('NotIn', 'live')), {}, true],
    ['Exists', ofExpressions(stage('Exists')), { stage: '' }, true],
    ['Exists, without the label', ofExpressions(stage('Exists')), {}, false],
    ['DoesNotExist', ofExpressions(stage('DoesNotExist')), { stage: '' }, false],
    ['DoesNotExist, without the label', ofExpressions(stage('DoesNotExist')), {}, true],
    [
      'of two requirements',
      ofExpressions(stage('Exists'), stage('NotIn', 'a')),
      { stage: 'a' },
      false,
    ],
    ['of nothing', ofLabels({}), {}, true],
    [
      'of a label that every object has',
      ofExpressions({ ...stage('Exists'), key: 'constructor' }),
      {},
      false,
    ],
    ['of the name', ofLabels({ [NAME_LABEL]: 'shop' }), {}, true],
    ['of another name', ofLabels({ [NAME_LABEL]: 'b' }), { [NAME_LABEL]: 'b' }, false],
  ])('%s', (_, selector, labels, selected) => {
    expect(selectorProblem(selector)).toBeUndefined()
    expect(selects(selector, 'shop', labels)).toBe(selected ? 'yes' : 'no')
  })

  test('says yes or no of labels that nobody has read only where they do not matter', () => {
    const key = fc.constantFrom('stage', 'team', NAME_LABEL)
    const value = fc.constantFrom('shop', 'live')
    const labels = fc.dictionary(fc.constantFrom('stage', 'team'), value)
    const expression = fc.oneof(
      fc.record({
        key,
        operator: fc.constantFrom('In', 'NotIn'),
        values: fc.array(value, { minLength: 1 }),
      }),
      fc.record({
        key,
        operator: fc.constantFrom('Exists', 'DoesNotExist'),
        values: fc.constant<string[]>([]),
      }),
    )
    const selector = fc.record({
      matchLabels: fc.dictionary(key, value, { maxKeys: 2 }),
      matchExpressions: fc.array(expression, { maxLength: 3 }),
    })
    fc.assert(
      fc.property(selector, labels, (some, known) => {
        const answer = selects(some, 'shop', undefined)
        if (answer !== 'unknown') expect(selects(some, 'shop', known)).toBe(answer)
      }),
    )
  })
})

describe('a selector that cannot be read', () => {
  const keyed = (key: string): LabelSelector => ofExpressions({ ...stage('DoesNotExist'), key })
  test.each<[LabelSelector | undefined, string]>([
    [undefined, 'is missing'],
    [ofExpressions(stage('in', 'a')), 'matchExpressions[0].operator: "in" is not one of'],
    [ofExpressions(stage('constructor')), 'is not one of In, NotIn, Exists, DoesNotExist'],
    [ofExpressions(stage('Exists'), stage('In')), 'matchExpressions[1].values: In needs at least'],
    [ofExpressions(stage('NotIn')), 'matchExpressions[0].values: NotIn needs at least one'],
    [ofExpressions(stage('Exists', 'a')), 'matchExpressions[0].values: Exists takes none'],
    [keyed('a b'), 'matchExpressions[0]: "a b" is not the key of a label'],
    [keyed('/a'), '"/a" is not the key of a label'],
    [keyed('Example.com/a'), '"Example.com/a" is not the key of a label'],
    [keyed('a'.repeat(64)), 'is not the key of a label'],
    [ofExpressions(stage('NotIn', 'a', '-')), '"-" is not the value of a label'],
    [ofLabels({ team: 'a b' }), 'matchLabels: "a b" is not the value of a label'],
  ])('%j: %s', (selector, sentence) => {
    expect(selectorProblem(selector)).toContain(sentence)
  })

  test.each(['a', 'example.com/A_b.c-d', 'a'.repeat(63), `${'a.'.repeat(126)}a/b`])(
    'not because of the key %s',
    (key) => expect(selectorProblem(keyed(key))).toBeUndefined(),
  )
})
