// Checks that the tour finds what it expects.

import { GatehouseError } from '../../kit/errors.js'

/** Ends the tour; the message says what was expected and what came instead. */
export class UnexpectedAnswer extends GatehouseError {
  readonly code = 'unexpected_answer'

  override readonly name = 'UnexpectedAnswer'
}

/** Checks the status of an answer. @throws with what was asked for and the answer. */
export function expectStatus(
  what: string,
  answer: { readonly status: number; readonly body: unknown },
  expected: number,
): void {
  if (answer.status === expected) return
  const body = answer.body === undefined ? 'no JSON' : JSON.stringify(answer.body)
  throw new UnexpectedAnswer(
    `expected ${String(expected)} from ${what}, got ${String(answer.status)} with ${body}`,
  )
}

/** Returns a text member of a JSON document. */
export function memberText(what: string, document: unknown, member: string): string {
  const value = (document as Record<string, unknown> | undefined)?.[member]
  if (typeof value === 'string') return value
  throw new UnexpectedAnswer(`expected a text "${member}" in ${what}, got ${JSON.stringify(value)}`)
}

/** Returns a list member of a JSON document, as texts. */
export function textsOf(what: string, document: unknown, member: string): readonly string[] {
  const value = (document as Record<string, unknown> | undefined)?.[member]
  if (Array.isArray(value)) return value.map(String)
  throw new UnexpectedAnswer(`expected a list "${member}" in ${what}, got ${JSON.stringify(value)}`)
}

/** Checks that an address is masked as the sample webhook does it. */
export function expectMasked(what: string, text: string): void {
  if (text.includes('@') || !text.includes('[email]'))
    throw new UnexpectedAnswer(`expected [email] and no address in ${what}, got "${text}"`)
}
