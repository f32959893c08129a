// Renames calls of four library functions in the source, since the library's own cannot be replaced. The new names have
// the same length, so positions stay those of the user's text; in messages the names are restored.

import type { ASTNode } from '@marcbachmann/cel-js'
import { ExpressionError } from './expression-error.js'
import { walk } from './walk.js'

/** Internal name → user's name. */
const USER_NAMES: ReadonlyMap<string, string> = new Map([
  ['_as', 'has'],
  ['_atches', 'matches'],
  ['_ATCHES', 'matches'],
  ['_owerAscii', 'lowerAscii'],
  ['_pperAscii', 'upperAscii'],
])

/** A written-out pattern of matches() may be long: it is the author's own, and was checked at compilation. */
function ourName(node: ASTNode, name: string): string | undefined {
  if (name === 'matches') return writtenPattern(node) === undefined ? '_atches' : '_ATCHES'
  return [...USER_NAMES].find(([, users]) => users === name)?.[0]
}

/** Returns the pattern of a matches() call if it is written out. */
export function writtenPattern(node: ASTNode): WrittenPattern | undefined {
  if ((node.op !== 'rcall' && node.op !== 'call') || node.args[0] !== 'matches') return undefined
  const pattern = node.op === 'rcall' ? node.args[2][0] : node.args[1][1]
  if (pattern?.op !== 'value' || typeof pattern.args !== 'string') return undefined
  return { text: pattern.args, start: pattern.start, end: pattern.end }
}

/** A pattern that stands in the expression. */
export interface WrittenPattern {
  readonly text: string
  /** Offsets in the expression. */
  readonly start: number
  readonly end: number
}

/** Returns the name of a function as the author wrote it. */
export const userName = (name: string): string => USER_NAMES.get(name) ?? name

/** Restores the users' names in a message of the library. */
export const restoreNames = (message: string): string =>
  message
    .replace(/\b_(as|atches|ATCHES|owerAscii|pperAscii)\b/g, (name) => userName(name))
    .replace(/\bBase64Namespace\b/g, 'base64')

/** @throws ExpressionError for a call of an internal name. */
export function renameCalls(source: string, ast: ASTNode): string {
  const characters = source.split('')
  walk(ast, (node) => {
    if (node.op !== 'call' && node.op !== 'rcall') return
    const name = node.args[0]
    if (USER_NAMES.has(name))
      throw new ExpressionError(`there is no function ${name}`, node.start, node.end)
    const renamed = ourName(node, name)
    if (renamed === undefined) return
    const at = node.op === 'call' ? node.start : methodNameStart(source, node.args[1].end)
    for (let i = 0; i < renamed.length; i++) characters[at + i] = renamed.charAt(i)
  })
  return characters.join('')
}

/** Skips what can be between a receiver and its method's name: closing parentheses, a dot, white space and comments. */
function methodNameStart(source: string, receiverEnd: number): number {
  const between = /(?:[\s).]|\/\/[^\n]*)*/y
  between.lastIndex = receiverEnd
  between.exec(source)
  return between.lastIndex
}
