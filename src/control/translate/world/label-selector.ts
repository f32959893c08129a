// Evaluates label selectors (Kubernetes, meta/v1 LabelSelector) for namespaces, and validates them.

import type { LabelSelector } from '../../schema/kinds/gateway.js'

/** Label that every namespace has; its value is the namespace's name. */
export const NAME_LABEL = 'kubernetes.io/metadata.name'

type Requirement = LabelSelector['matchExpressions'][number]

/** unknown: the answer depends on labels that were not read. */
export type Selected = 'yes' | 'no' | 'unknown'

/**
 * Whether the selector selects the namespace. An empty selector selects every namespace.
 * selector: must have no selectorProblem(). labels: undefined if they were not read; the name label is always known.
 */
export function selects(
  selector: LabelSelector,
  namespace: string,
  labels: Readonly<Record<string, string>> | undefined,
): Selected {
  const answers = requirementsOf(selector).map((requirement): Selected => {
    const { key } = requirement
    if (key === NAME_LABEL) return isMet(requirement, namespace)
    return labels === undefined
      ? 'unknown'
      : isMet(requirement, Object.hasOwn(labels, key) ? labels[key] : undefined)
  })
  return (
    answers.find((answer) => answer === 'no') ?? (answers.includes('unknown') ? 'unknown' : 'yes')
  )
}

const requirementsOf = ({
  matchLabels,
  matchExpressions,
}: LabelSelector): readonly Requirement[] => [
  ...Object.entries(matchLabels).map(([key, value]) => ({ key, operator: 'In', values: [value] })),
  ...matchExpressions,
]

/** value: undefined if the namespace has no such label. */
function isMet({ operator, values }: Requirement, value: string | undefined): 'yes' | 'no' {
  const isAmong = value !== undefined && values.includes(value)
  const met = new Map([
    ['In', isAmong],
    ['NotIn', !isAmong],
    ['Exists', value !== undefined],
    ['DoesNotExist', value === undefined],
  ])
  return met.get(operator) === true ? 'yes' : 'no'
}

const WITH_VALUES = ['In', 'NotIn']
const WITHOUT_VALUES = ['Exists', 'DoesNotExist']

/** Returns why the selector is invalid, e.g. "matchExpressions[0].operator ..."; undefined: it is valid. */
export function selectorProblem(selector: LabelSelector | undefined): string | undefined {
  if (selector === undefined) return 'is missing'
  const pairs = Object.entries(selector.matchLabels)
  return (
    pairs.map(([key, value]) => textProblem('matchLabels', key, [value])).find(isProblem) ??
    selector.matchExpressions
      .map((each, index) => requirementProblem(`matchExpressions[${index}]`, each))
      .find(isProblem)
  )
}

const isProblem = (problem: string | undefined): boolean => problem !== undefined

function requirementProblem(
  path: string,
  { key, operator, values }: Requirement,
): string | undefined {
  const operators = [...WITH_VALUES, ...WITHOUT_VALUES]
  if (!operators.includes(operator))
    return `${path}.operator: "${operator}" is not one of ${operators.join(', ')}`
  if (WITH_VALUES.includes(operator) && values.length === 0)
    return `${path}.values: ${operator} needs at least one`
  if (WITHOUT_VALUES.includes(operator) && values.length > 0)
    return `${path}.values: ${operator} takes none`
  return textProblem(path, key, values)
}

const NAME = '[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?'
const DOMAIN_LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?'
const KEY = new RegExp(`^(?=.{1,317}$)(${DOMAIN_LABEL}(\\.${DOMAIN_LABEL})*/)?${NAME}$`)
const VALUE = new RegExp(`^(${NAME})?$`)

/** Checks label keys and values. No namespace can have an invalid label, so NotIn or DoesNotExist would select all. */
function textProblem(path: string, key: string, values: readonly string[]): string | undefined {
  if (!KEY.test(key)) return `${path}: "${key}" is not the key of a label`
  const bad = values.find((value) => !VALUE.test(value))
  return bad === undefined ? undefined : `${path}: "${bad}" is not the value of a label`
}
