// Literal text → a regular expression (RE2) that matches just it, and → a substitution that gives just it.

export const escapeRegex = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')

/** A backslash begins a group reference in RE2 substitutions. */
export const escapeSubstitution = (text: string): string => text.replaceAll('\\', '\\\\')
