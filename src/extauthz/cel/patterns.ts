// Implements matches() with RE2: linear in the subject, which an attacker controls, and in the pattern's bounded size.

import { RE2JS } from '@bufbuild/re2'
import { charge } from './budget.js'
import { classSteps, namesProperty } from './costs/class-steps.js'
import { HeldValues } from './held-values.js'
import { estimatedSize } from './pattern-size.js'
import { CelLimitError } from './values.js'

/** Maximum number of remembered patterns that were computed at run time. */
const MAX_REMEMBERED = 500

/** Maximum size of a pattern, in instructions (estimated). */
export const MAX_PATTERN_SIZE = 2000
/** Limits of a pattern that is computed at run time: characters, and instructions. */
const MAX_COMPUTED_LENGTH = 1024
const MAX_COMPUTED_SIZE = 500
/** Steps to compile one instruction. */
const STEPS_PER_COMPILED = 40
/** Maximum steps to compile the classes of a pattern, or of all patterns of an expression: about 10 ms. */
export const MAX_CLASS_STEPS = 100_000
/** Maximum size of all patterns of an expression, in instructions (estimated): about 5 ms to compile. */
export const MAX_PATTERNS_SIZE = 10_000

/** Steps for each instruction that a state is made of, or left by. */
const STEPS_PER_INSTRUCTION = 0.5

/** Maximum number of states that a pattern's automaton keeps, each a kilobyte or more; subjects cause them. */
const MAX_STATES = 1000

const compiled = new Map<string, RE2JS>()

/** Patterns that are in use. Those of other users cannot displace them, so no request has to compile them again. */
const held = new HeldValues<RE2JS>()

/** Compiles a pattern that stays compiled for as long as the result is referenced. @throws as compilePattern. */
export function holdPattern(pattern: string): RE2JS {
  const known = held.get(pattern)
  if (known !== undefined) return known
  const fresh = compiled.get(pattern) ?? compile(pattern)
  held.add(pattern, fresh)
  return fresh
}

/** @throws when the pattern is not RE2 syntax, or too large. */
function compilePattern(pattern: string): RE2JS {
  const known = held.get(pattern) ?? compiled.get(pattern)
  if (known !== undefined) return known
  const fresh = compile(pattern)
  if (compiled.size >= MAX_REMEMBERED) forgetOldest()
  compiled.set(pattern, fresh)
  return fresh
}

function compile(pattern: string): RE2JS {
  if (estimatedSize(pattern) > MAX_PATTERN_SIZE || classSteps(pattern) > MAX_CLASS_STEPS)
    throw new CelLimitError('pattern too large')
  const fresh = RE2JS.compile(pattern)
  meterPattern(fresh)
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

/** Whether any part of the subject matches the pattern. */
export const matchesPattern = (subject: string, pattern: string): boolean =>
  matchesCompiled(subject, compilePattern(pattern))

/** Charges for the match. */
export function matchesCompiled(subject: string, pattern: RE2JS): boolean {
  charge(1 + subject.length / 2)
  return pattern.test(subject)
}

/** The pattern that matches all of a subject, as Envoy matches paths. */
export const wholePattern = (pattern: string): string => `\\A(?:${pattern})\\z`

/** Whether the pattern matches all of the subject. @throws as compilePattern. */
export const matchesWhole = (subject: string, pattern: string): boolean =>
  matchesPattern(subject, wholePattern(pattern))

/** The pattern may be an attacker's too. @throws as compilePattern, and CelLimitError. */
export function matchesComputedPattern(subject: string, pattern: string): boolean {
  if (pattern.length > MAX_COMPUTED_LENGTH) throw new CelLimitError('pattern too long')
  const size = estimatedSize(pattern)
  if (size > MAX_COMPUTED_SIZE) throw new CelLimitError('pattern too large')
  if (namesProperty(pattern)) throw new CelLimitError('pattern names a class of Unicode')
  charge(size * STEPS_PER_COMPILED + classSteps(pattern))
  return matchesPattern(subject, pattern)
}
