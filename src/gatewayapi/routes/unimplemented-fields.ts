// Decides which unimplemented fields of an HTTPRoute are ignored and which make their rule refuse (decision 27).

/** The field that is safe to ignore: session persistence. Any other field of a rule may not be. */
const HARMLESS = /^spec\.rules\[\d+\]\.sessionPersistence$/
/** Fields of filters; the type of the filter already makes the rule refuse. */
const IN_FILTER = /\.filters\[\d+\]\./

/** Whether a field may be ignored: the route works without it, and is no more open. */
export const isIgnored = (field: string): boolean =>
  !field.startsWith('spec.rules[') || HARMLESS.test(field)

/** fields: Resource.unsupported. */
export const ruleProblems = (fields: readonly string[], rule: number): readonly string[] =>
  fields
    .filter((field) => field.startsWith(`spec.rules[${rule}].`))
    .filter((field) => !isIgnored(field) && !IN_FILTER.test(field))
    .map((field) => `${field} is not implemented`)
