// The library's own functions cannot be replaced, so calls of four of them are renamed in the source, at the place
// and with the length of the original: positions stay those of the user's text, and messages are renamed back.

import type { ASTNode } from '@marcbachmann/cel-js'
import { ExpressionError } from './expression-error.js'
import { walk } from './walk.js'

/** Ours → the user's. */
const USER_NAMES: ReadonlyMap<string, string> = new Map([
  ['_as', 'has'],
  ['_atches', 'matches'],
  ['_owerAscii', 'lowerAscii'],
  ['_pperAscii', 'upperAscii'],
])
const OUR_NAMES: ReadonlyMap<string, string> = new Map(
  [...USER_NAMES].map(([ours, users]) => [users, ours]),
)

/** The name of a call as its author wrote it. */
export const userName = (name: string): string => USER_NAMES.get(name) ?? name

/** A message of the library, with the names that its reader knows. */
export const restoreNames = (message: string): string =>
  message
    .replace(/\b_(as|atches|owerAscii|pperAscii)\b/g, (name) => userName(name))
    .replace(/\bBase64Namespace\b/g, 'base64')

/** @throws ExpressionError for a call of a name that is only ours. */
export function renameCalls(source: string, ast: ASTNode): string {
  const characters = source.split('')
  walk(ast, (node) => {
    if (node.op !== 'call' && node.op !== 'rcall') return
    const name = node.args[0]
    if (USER_NAMES.has(name))
      throw new ExpressionError(`there is no function ${name}`, node.start, node.end)
    const ours = OUR_NAMES.get(name)
    if (ours === undefined) return
    const at = node.op === 'call' ? node.start : methodNameStart(source, node.args[1].end)
    for (let i = 0; i < ours.length; i++) characters[at + i] = ours.charAt(i)
  })
  return characters.join('')
}

/** Between a receiver and the name of its method stand only closing parentheses, a dot, white space and comments. */
function methodNameStart(source: string, receiverEnd: number): number {
  const between = /(?:[\s).]|\/\/[^\n]*)*/y
  between.lastIndex = receiverEnd
  between.exec(source)
  return between.lastIndex
}
