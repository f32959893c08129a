// Escapes literal text for regular expressions (RE2) and for their substitutions.

/** Escapes the metacharacters of regular expressions. */
export const escapeRegex = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')

/** A backslash begins a group reference in RE2 substitutions. */
export const escapeSubstitution = (text: string): string => text.replaceAll('\\', '\\\\')
