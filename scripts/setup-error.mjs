// The error for problems that the user must fix before a script can continue, and the scripts' progress messages.

/** A problem that the user must fix, shown as one sentence without a stack trace. */
export class SetupError extends Error {}

export const say = (text) => process.stderr.write(`setup: ${text}\n`)
