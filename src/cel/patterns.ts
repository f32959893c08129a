// Implements matches() with RE2: linear in the subject, which an attacker controls, and in the pattern's bounded size.

import { RE2JS } from '@bufbuild/re2'
import { charge } from './budget.js'
import { classSteps, namesProperty } from './class-steps.js'
import { estimatedSize } from './pattern-size.js'
import { CelLimitError } from './values.js'

const MAX_REMEMBERED = 500

/** Maximum size of a pattern, in instructions (estimated). */
export const MAX_PATTERN_SIZE = 2000
/** Limits of a pattern that is computed at run time: characters, and instructions. */
const MAX_COMPUTED_LENGTH = 1024
const MAX_COMPUTED_SIZE = 500
/** Steps to compile one instruction. */
const STEPS_PER_COMPILED = 40
/** Maximum steps to compile the classes of a pattern, about 20 ms. */
const MAX_CLASS_STEPS = 200_000

/** Steps for each instruction that a state is made of, or left by. */
const STEPS_PER_INSTRUCTION = 0.5

/** Maximum number of states that a pattern's automaton keeps, each a kilobyte or more; subjects cause them. */
const MAX_STATES = 1000

const compiled = new Map<string, RE2JS>()

/** @throws when the pattern is not RE2 syntax, or too large. */
export function compilePattern(pattern: string): RE2JS {
  const known = compiled.get(pattern)
  if (known !== undefined) return known
  if (estimatedSize(pattern) > MAX_PATTERN_SIZE || classSteps(pattern) > MAX_CLASS_STEPS)
    throw new CelLimitError('pattern too large')
  const fresh = RE2JS.compile(pattern)
  meterPattern(fresh)
  if (compiled.size >= MAX_REMEMBERED) forgetOldest()
  compiled.set(pattern, fresh)
  return fresh
}

/** Charges for the automaton's states, which are made as subjects need them, by their look-ups of instructions. */
function meterPattern(pattern: RE2JS): void {
  const { prog, dfa } = pattern.re2()
  const instruction = prog.getInst.bind(prog)
  prog.getInst = (at) => {
    charge(STEPS_PER_INSTRUCTION)
    return instruction(at)
  }
  dfa.stateLimit = MAX_STATES
}

/** Number of instructions of the compiled program. @throws as compilePattern. */
export const patternSize = (pattern: string): number => compilePattern(pattern).re2().prog.numInst()

function forgetOldest(): void {
  for (const oldest of compiled.keys()) {
    compiled.delete(oldest)
    return
  }
}

export function matchesPattern(subject: string, pattern: string): boolean {
  const known = compilePattern(pattern)
  charge(1 + subject.length / 2)
  return known.test(subject)
}

/** Whether the pattern matches all of the subject, as Envoy matches paths. @throws as compilePattern. */
export const matchesWhole = (subject: string, pattern: string): boolean =>
  matchesPattern(subject, `\\A(?:${pattern})\\z`)

/** The pattern may be an attacker's too. @throws as compilePattern, and CelLimitError. */
export function matchesComputedPattern(subject: string, pattern: string): boolean {
  if (pattern.length > MAX_COMPUTED_LENGTH) throw new CelLimitError('pattern too long')
  const size = estimatedSize(pattern)
  if (size > MAX_COMPUTED_SIZE) throw new CelLimitError('pattern too large')
  if (namesProperty(pattern)) throw new CelLimitError('pattern names a class of Unicode')
  charge(size * STEPS_PER_COMPILED + classSteps(pattern))
  return matchesPattern(subject, pattern)
}
