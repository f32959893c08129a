// Decides which unimplemented fields of an HTTPRoute are ignored and which make their rule refuse (decision 27).

import { type FieldPath, formatPath } from '../../schema/kinds/field-path.js'

/** Whether a field is one of a rule, or inside one. */
const isOfRule = ([, part, rule]: FieldPath): boolean => part === 'rules' && rule !== undefined

/** The field of a rule that is safe to ignore. Any other may not be. */
const isHarmless = ({ length, [3]: member }: FieldPath): boolean =>
  length === 4 && member === 'sessionPersistence'

/** Whether a field is inside a filter; the type of the filter already makes the rule refuse. */
const isInFilter = (field: FieldPath): boolean =>
  field.some(
    (part, at) => part === 'filters' && typeof field[at + 1] === 'number' && field.length > at + 2,
  )

/** Whether a field may be ignored: the route works without it, and is no more open. */
export const isIgnored = (field: FieldPath): boolean => !isOfRule(field) || isHarmless(field)

/** fields: Resource.unsupported. */
export const ruleProblems = (fields: readonly FieldPath[], rule: number): readonly string[] =>
  fields
    .filter((field) => isOfRule(field) && field[2] === rule && field.length > 3)
    .filter((field) => !isIgnored(field) && !isInFilter(field))
    .map((field) => `${formatPath(field)} is not implemented`)
