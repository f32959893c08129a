// Fields of an HTTPRoute that we do not implement: which are ignored, and which make their rule refuse (decision 27).

/** Not retried and not pinned to a session is as safe; anything else of a rule may not be. */
const HARMLESS = /^spec\.rules\[\d+\]\.(retry|sessionPersistence)$/
/** Said, and refused, by the type of the filter already. */
const IN_FILTER = /\.filters\[\d+\]\./

export const isIgnored = (field: string): boolean =>
  !field.startsWith('spec.rules[') || HARMLESS.test(field)

/** fields: Resource.unsupported. */
export const ruleProblems = (fields: readonly string[], rule: number): readonly string[] =>
  fields
    .filter((field) => field.startsWith(`spec.rules[${rule}].`))
    .filter((field) => !isIgnored(field) && !IN_FILTER.test(field))
    .map((field) => `${field} is not implemented`)
