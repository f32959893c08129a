// What a person must mend before a script can go on, and how scripts speak to that person.

/** Shown as one sentence, without a stack. */
export class SetupError extends Error {}

export const say = (text) => process.stderr.write(`setup: ${text}\n`)
